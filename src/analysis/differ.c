/* differ: see differ.h. */
#include "analysis/differ.h"
#include "analysis/differ_pairs.h"
#include "ir/expr.h"
#include "ir/print.h"
#include <inttypes.h>
#include <stdlib.h>

struct walk {
	struct differ d;
	struct difference *out;
};

/* ---- messages */

__attribute__((format(printf, 4, 5))) static bool differ(struct walk *w, uint32_t at_a, uint32_t at_b,
                                                         const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&w->out->what, format, args);
	va_end(args);
	w->out->at[0] = at_a;
	w->out->at[1] = at_b;
	return false;
}

static void put_value(struct walk *w, unsigned side, value_id v)
{
	struct buf *out = &w->out->here[side];
	buf_putc(out, '\'');
	ir_print_value_name(w->d.m[side], v, out);
	buf_putc(out, '\'');
}

static void put_statement(struct walk *w, unsigned side, op_id op)
{
	if (op)
		ir_print_statement(w->d.m[side], op, &w->out->here[side]);
	else
		buf_puts(&w->out->here[side], "no more statements");
}

/* Sets the difference to the two statements, printed as text. */
static bool differ_at(struct walk *w, op_id a, op_id b, const char *what)
{
	put_statement(w, 0, a);
	put_statement(w, 1, b);
	return differ(w, a ? ir_op(w->d.m[0], a)->at : DIAG_NOWHERE,
	              b ? ir_op(w->d.m[1], b)->at : DIAG_NOWHERE, "%s", what);
}

/* ---- tensors */

/* Appends the name that the value's pair has in the other program, if the names differ. */
static void put_other(struct walk *w, value_id a)
{
	struct buf name = {0}, other = {0};
	if (!w->d.value.of[0][a])
		return;
	ir_print_value_name(w->d.m[0], a, &name);
	ir_print_value_name(w->d.m[1], w->d.value.of[0][a], &other);
	if (strcmp(name.at, other.at) != 0)
		buf_printf(&w->out->here[0], ", which is '%s' in the other", other.at);
	buf_free(&name);
	buf_free(&other);
}

/* Makes two values a pair, and compares their types. at_a, at_b: the places for a message, of the
 * statements or of the tensors. */
static bool meet_value(struct walk *w, value_id a, value_id b, uint32_t at_a, uint32_t at_b, const char *what)
{
	struct module *m = w->d.m[0], *n = w->d.m[1];
	if (!pairs_meet(&w->d.value, a, b)) {
		put_value(w, 0, a);
		put_other(w, a);
		put_value(w, 1, b);
		return differ(w, at_a, at_b, "%s", what);
	}
	const char *type = other_type(&w->d, ir_value(m, a)->type, ir_value(n, b)->type);
	uint32_t flags = VALUE_OPEN | VALUE_INOUT;
	if (!type && (ir_value(m, a)->flags & flags) != (ir_value(n, b)->flags & flags))
		type = (ir_value(m, a)->flags ^ ir_value(n, b)->flags) & VALUE_OPEN
		           ? "the choice of a layout"
		           : "the use as an input that is written";
	if (!type)
		return true;
	mesh_id mesh_a = value_type(m, a)->mesh, mesh_b = value_type(n, b)->mesh;
	if (mesh_a && mesh_b &&
	    !same_mesh(&w->d, mesh_a, mesh_b)) { /* the message points at the declarations of the meshes */
		at_a = ir_mesh(m, mesh_a)->at;
		at_b = ir_mesh(n, mesh_b)->at;
	}
	for (unsigned side = 0; side < 2; side++) {
		put_value(w, side, side ? b : a);
		buf_puts(&w->out->here[side], ": ");
		ir_print_type(w->d.m[side], ir_value(w->d.m[side], side ? b : a)->type, &w->out->here[side]);
	}
	return differ(w, at_a, at_b, "%s of %s", type, what);
}

/* ---- statements */

static bool same_scalar(struct walk *w, scalar_id a, scalar_id b)
{
	const struct scalar *s = &w->d.m[0]->scalar.at[a], *t = &w->d.m[1]->scalar.at[b];
	if (s->expr || t->expr)
		return s->expr && t->expr && same_expr(&w->d, s->expr, t->expr);
	return !memcmp(&s->literal, &t->literal, sizeof s->literal);
}

static bool is_result(enum role role)
{
	return role == ROLE_DEF || role == ROLE_WRITE;
}

static bool same_operand(struct walk *w, op_id a, op_id b, uint32_t k, uint32_t number)
{
	const struct operand *x = ir_operand(w->d.m[0], a, k), *y = ir_operand(w->d.m[1], b, k);
	const struct op *p = ir_op(w->d.m[0], a), *q = ir_op(w->d.m[1], b);
	struct buf what = {0};
	bool same = true;
	buf_printf(&what, "%s %" PRIu32, is_result((enum role)x->role) ? "result" : "operand", number);
	if (x->role != y->role) {
		same = differ_at(w, a, b, what.at);
	} else {
		switch ((enum role)x->role) {
		case ROLE_DEF:
		case ROLE_READ:
		case ROLE_WRITE:
		case ROLE_FREE:
			same = meet_value(w, x->id, y->id, p->at, q->at, what.at);
			break;
		case ROLE_SCALAR:
			same = same_scalar(w, x->id, y->id) || differ_at(w, a, b, what.at);
			break;
		case ROLE_STATEMENT:
			same = pairs_meet(&w->d.op, x->id, y->id) || differ_at(w, a, b, what.at);
			break;
		case ROLE_HANDLE:
			same = pairs_meet(&w->d.handle, x->id, y->id) || differ_at(w, a, b, what.at);
			break;
		}
	}
	buf_free(&what);
	return same;
}

/* Compares only the results, or only the other operands; each kind is counted from 1. */
static bool same_operands(struct walk *w, op_id a, op_id b, bool results)
{
	const struct op *p = ir_op(w->d.m[0], a);
	uint32_t number[2] = {0, 0}; /* of operands, of results */
	for (uint32_t k = 0; k < p->operand_n; k++) {
		bool result = is_result((enum role)ir_operand(w->d.m[0], a, k)->role);
		number[result]++;
		if (result == results && !same_operand(w, a, b, k, number[result]))
			return false;
	}
	return true;
}

static bool same_region(struct walk *w, region_id a, region_id b, op_id owner_a, op_id owner_b);

static bool same_statement(struct walk *w, op_id a, op_id b)
{
	const struct op *p = ir_op(w->d.m[0], a), *q = ir_op(w->d.m[1], b);
	if (p->kind != q->kind)
		return differ_at(w, a, b, "the operation");
	if (!pairs_meet(&w->d.op, a, b))
		return differ_at(w, a, b, "which statement others name");
	if (p->def_n != q->def_n)
		return differ_at(w, a, b, "the number of results");
	if (p->operand_n != q->operand_n)
		return differ_at(w, a, b, "the number of operands");
	if (!same_operands(w, a, b, false))
		return false;
	const char *key = other_attribute(&w->d, p->attrs, q->attrs);
	if (key) {
		struct buf what = {0};
		buf_printf(&what, "the attribute %s", key);
		differ_at(w, a, b, what.at);
		buf_free(&what);
		return false;
	}
	if (!same_team(&w->d, p->team, q->team))
		return differ_at(w, a, b, "the team");
	if (!same_operands(w, a, b, true))
		return false;
	if (p->flags != q->flags)
		return differ_at(w, a, b,
		                 (p->flags ^ q->flags) & OP_ASYNC         ? "the kind of communication"
		                 : (p->flags ^ q->flags) & OP_STREAM_LOOP ? "the kind of loop"
		                                                          : "the group that it is in");
	if (!p->region || !q->region)
		return p->region == q->region || differ_at(w, a, b, "the body");
	region_id then_a = p->region, then_b = q->region;
	region_id else_a = w->d.m[0]->region.at[then_a].sibling,
	          else_b = w->d.m[1]->region.at[then_b].sibling;
	if (!pairs_meet(&w->d.index, w->d.m[0]->region.at[then_a].index, w->d.m[1]->region.at[then_b].index))
		return differ_at(w, a, b, "the index");
	if (!same_region(w, then_a, then_b, a, b))
		return false;
	if (!else_a != !else_b)
		return differ_at(w, a, b, "the else");
	return !else_a || same_region(w, else_a, else_b, a, b);
}

static bool same_region(struct walk *w, region_id a, region_id b, op_id owner_a, op_id owner_b)
{
	op_id x = w->d.m[0]->region.at[a].first, y = w->d.m[1]->region.at[b].first;
	for (; x && y; x = ir_op(w->d.m[0], x)->next, y = ir_op(w->d.m[1], y)->next)
		if (!same_statement(w, x, y))
			return false;
	if (!x && !y)
		return true;
	differ_at(w, x, y, owner_a ? "the end of the body" : "the end of the program");
	if (!x && owner_a)
		w->out->at[0] = ir_op(w->d.m[0], owner_a)->at;
	if (!y && owner_b)
		w->out->at[1] = ir_op(w->d.m[1], owner_b)->at;
	return false;
}

/* ---- the program */

static void put_param(struct buf *out, const struct param *p)
{
	if (p->has_value)
		buf_printf(out, "%" PRId64, p->value);
	else
		buf_puts(out, "no value");
}

static bool same_params(struct walk *w)
{
	for (uint32_t i = 1; i < w->d.m[0]->param.n; i++) {
		uint32_t j = w->d.param.of[0][i];
		const struct param *p = &w->d.m[0]->param.at[i], *q = &w->d.m[1]->param.at[j];
		if (!j || (p->has_value == q->has_value && (!p->has_value || p->value == q->value)))
			continue;
		put_param(&w->out->here[0], p);
		put_param(&w->out->here[1], q);
		return differ(w, p->at, q->at, "the param '%s'", names_text(w->d.m[0]->names, p->name));
	}
	return true;
}

static bool compare_counts(struct walk *w, uint32_t a, uint32_t b, const char *what)
{
	if (a == b)
		return true;
	buf_printf(&w->out->here[0], "%" PRIu32, a);
	buf_printf(&w->out->here[1], "%" PRIu32, b);
	return differ(w, DIAG_NOWHERE, DIAG_NOWHERE, "the number of %s", what);
}

static bool same_input(struct walk *w, uint32_t k)
{
	const struct input *x = &w->d.m[0]->input.at[k], *y = &w->d.m[1]->input.at[k];
	uint32_t at_a = ir_value(w->d.m[0], x->value)->at, at_b = ir_value(w->d.m[1], y->value)->at;
	struct buf what = {0};
	buf_printf(&what, "input %" PRIu32, k + 1);
	bool same = meet_value(w, x->value, y->value, at_a, at_b, what.at);
	buf_free(&what);
	if (!same)
		return false;
	const char *key = other_attribute(&w->d, x->attrs, y->attrs);
	const char *s = names_text(w->d.m[0]->names, x->init), *t = names_text(w->d.m[1]->names, y->init);
	if (!key && !strcmp(s, t) && !other_attribute(&w->d, x->init_args, y->init_args))
		return true;
	put_value(w, 0, x->value);
	put_value(w, 1, y->value);
	return key ? differ(w, at_a, at_b, "the attribute %s of input %" PRIu32, key, k + 1)
	           : differ(w, at_a, at_b, "the data of input %" PRIu32, k + 1);
}

static bool same_output(struct walk *w, uint32_t k)
{
	value_id a = w->d.m[0]->output.at[k], b = w->d.m[1]->output.at[k];
	struct buf what = {0};
	buf_printf(&what, "output %" PRIu32, k + 1);
	bool same = meet_value(w, a, b, ir_value(w->d.m[0], a)->at, ir_value(w->d.m[1], b)->at, what.at);
	buf_free(&what);
	return same;
}

static bool same_program(struct walk *w)
{
	const struct module *a = w->d.m[0], *b = w->d.m[1];
	if (!same_params(w) || !compare_counts(w, a->input.n, b->input.n, "inputs"))
		return false;
	for (uint32_t k = 0; k < a->input.n; k++)
		if (!same_input(w, k))
			return false;
	if (!same_region(w, a->body, b->body, 0, 0) ||
	    !compare_counts(w, a->output.n, b->output.n, "outputs"))
		return false;
	for (uint32_t k = 0; k < a->output.n; k++)
		if (!same_output(w, k))
			return false;
	return true;
}

bool modules_same(struct module *a, struct module *b, struct difference *out)
{
	struct walk *w = mem_zalloc(sizeof *w);
	*out = (struct difference){.at = {DIAG_NOWHERE, DIAG_NOWHERE}};
	w->d.m[0] = a;
	w->d.m[1] = b;
	w->out = out;
	pairs_init(&w->d);
	bool same = same_program(w);
	pairs_free(&w->d);
	free(w);
	return same;
}

void difference_free(struct difference *d)
{
	buf_free(&d->what);
	buf_free(&d->here[0]);
	buf_free(&d->here[1]);
}
