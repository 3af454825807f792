/* print_hir: prints statements in the concise surface.
 *
 * Functions for defaults, shared with the semantic step: sugar_expand (types), infer_shard and
 * infer_select (types of views), infer_reduce_axes (hidden axes), ir_team_axes (axis= for a team),
 * ir_number. */
#include "ir/print_hir.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/number.h"
#include "ir/print.h"
#include "ir/print_type.h"
#include "ir/spelling.h"
#include <string.h>

void hir_name(const struct module *m, name_id name, struct buf *out)
{
	spelling_put_name(out, names_text(m->names, name));
}

void ir_print_value_name(struct module *m, value_id v, struct buf *out)
{
	if (m->value.at[v].name)
		hir_name(m, m->value.at[v].name, out);
	else
		buf_printf(out, "T%d", (int)m->value.at[v].number);
}

static void print_handle(const struct module *m, handle_id h, struct buf *out)
{
	const struct handle *x = &m->handle.at[h];
	if (x->name)
		hir_name(m, x->name, out);
	else if (x->number <= 1)
		buf_puts(out, "main");
	else
		buf_printf(out, "main%d", (int)x->number);
}

static void print_statement_name(const struct module *m, op_id op, struct buf *out)
{
	if (m->op.at[op].name)
		hir_name(m, m->op.at[op].name, out);
	else
		buf_printf(out, "c%d", (int)m->op.at[op].number);
}

static bool is_tensor_name(const struct module *m, name_id name)
{
	for (uint32_t v = 1; v < m->value.n && name; v++)
		if (m->value.at[v].name == name)
			return true;
	return false;
}

/* Returns true if an expression contains a name that is also a tensor's. As an operand it would mean the
 * tensor. */
static bool is_ambiguous(const struct module *m, expr_id e)
{
	const struct expr *x = &m->expr.at[e];
	if (!m->names_meet || !(x->flags & (EXPR_HAS_PARAM | EXPR_HAS_INDEX)))
		return false;
	if (x->kind == EXPR_PARAM)
		return is_tensor_name(m, m->param.at[x->k].name);
	if (x->kind == EXPR_INDEX)
		return is_tensor_name(m, m->index.at[x->k].name);
	return (x->a && is_ambiguous(m, x->a)) || (x->b && is_ambiguous(m, x->b));
}

static void print_scalar(const struct module *m, scalar_id s, struct buf *out)
{
	const struct scalar *x = &m->scalar.at[s];
	if (x->expr && is_ambiguous(m, x->expr)) { /* never a tensor, and parsing folds it */
		buf_puts(out, "ceilDiv(");
		expr_print_hir(m, x->expr, out);
		buf_puts(out, ", 1)");
	} else if (x->expr)
		expr_print_hir(m, x->expr, out);
	else
		spelling_put_double(out, x->literal);
}

void hir_attr_value(const struct module *m, const struct attr *a, struct buf *out)
{
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
		buf_puti(out, a->u.i);
		break;
	case ATTR_FLOAT:
		spelling_put_double(out, a->u.f);
		break;
	case ATTR_NAME:
		spelling_put_attr_name(out, names_text(m->names, a->u.name));
		break;
	case ATTR_STRING:
		spelling_put_string(out, names_text(m->names, a->u.name));
		break;
	case ATTR_EXPR:
		expr_print_hir(m, a->u.expr, out);
		break;
	case ATTR_INTS:
		buf_putc(out, '(');
		for (uint32_t i = 0; i < a->n; i++) {
			buf_puts(out, i ? ", " : "");
			buf_puti(out, a->u.ints[i]);
		}
		buf_putc(out, ')');
		break;
	case ATTR_EXPRS:
		buf_putc(out, '[');
		for (uint32_t i = 0; i < a->n; i++) {
			buf_puts(out, i ? ", " : "");
			expr_print_hir(m, a->u.exprs[i], out);
		}
		buf_putc(out, ']');
		break;
	}
}

void hir_attrs(const struct module *m, attrs_id attrs, struct buf *out)
{
	const struct attrs *l = &m->attrs.at[attrs];
	if (!l->n)
		return;
	buf_puts(out, " {");
	for (uint32_t i = 0; i < l->n; i++) {
		buf_puts(out, i ? ", " : "");
		spelling_put_attr_name(out, names_text(m->names, l->at[i].key));
		buf_putc(out, '=');
		hir_attr_value(m, &l->at[i], out);
	}
	buf_putc(out, '}');
}

/* Prints axis=x or axis=(y, x). */
static void print_mesh_axes(struct module *m, mesh_id mesh, const uint8_t *axes, unsigned n, struct buf *out)
{
	buf_puts(out, n > 1 ? ", axis=(" : ", axis=");
	for (unsigned i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		hir_name(m, m->mesh.at[mesh].axis_name[axes[i]], out);
	}
	buf_puts(out, n > 1 ? ")" : "");
}

static void print_team(struct module *m, op_id op, struct buf *out)
{
	const struct team t = m->team.at[m->op.at[op].team]; /* a copy, since ir_team_axes adds teams */
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n;
	value_id v = op_read(m, op, 0);
	mesh_id mesh = v ? value_type(m, v)->mesh : 0;
	const struct attr *group = op_attr(m, op, "group");
	if (group)
		return; /* printed with the attributes */
	if (mesh && ir_team_axes(m, m->op.at[op].team, mesh, axes, &n)) {
		print_mesh_axes(m, mesh, axes, n, out);
		return;
	}
	buf_puts(out, ", team=");
	for (uint32_t s = 0; s < t.slice_n; s++) {
		buf_putc(out, '(');
		for (uint32_t i = t.start[s]; i < t.start[s + 1]; i++)
			buf_printf(out, i > t.start[s] ? " %u" : "%u", t.device[i]);
		buf_putc(out, ')');
	}
}

/* Returns the key of a scalar operand; NULL if it is printed without a key. */
static const char *scalar_key(enum op_kind kind, unsigned k)
{
	return k < OP_MAX_SCALARS && kind != OP_SHARD_BY_STREAM ? op_info[kind].scalar[k] : NULL;
}

/* Returns true for attributes whose value is a positional argument: permute(X, (1, 0)), reshape(X, [a,
 * b]). */
static bool is_positional(enum op_kind kind, const char *key)
{
	return (kind == OP_PERMUTE && !strcmp(key, "dims")) || (kind == OP_RESHAPE && !strcmp(key, "shape"));
}

/* Prints the mesh axes of a symmetric view, unless they are the default. */
static void print_symmetric_axis(struct module *m, op_id op, struct buf *out)
{
	type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_def(m, op, 0)].type;
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = infer_symmetric_axes(m, from, to, axes);
	if (n && m->type.at[to].memory == MEMORY_LOCAL && infer_symmetric(m, from, -1) != to)
		print_mesh_axes(m, m->type.at[from].mesh, axes, n, out);
}

/* Prints the shape of random numbers if their type is left out. Returns true if it is. */
static bool print_shape(struct module *m, op_id op, struct buf *out)
{
	const value_id v = op_def(m, op, 0);
	if (m->op.at[op].kind != OP_UNIFORM || !v || !(m->value.at[v].flags & VALUE_OPEN))
		return false;
	const struct domain *d = value_domain(m, v);
	for (unsigned i = 0; i < d->rank; i++) {
		buf_puts(out, i ? ", " : "[");
		expr_print_hir(m, d->axis[i].extent, out);
	}
	buf_puts(out, d->rank ? "]" : "[]");
	return true;
}

static void print_call(struct module *m, op_id op, struct buf *out)
{
	const struct op o = m->op.at[op];
	const struct op_info *info = &op_info[o.kind];
	const bool has_team = info->traits & TRAIT_COLLECTIVE && o.team;
	unsigned n = 0, scalars = 0;
	if (o.kind == OP_EXTERN) {
		const struct attr *callee = op_attr(m, op, "callee");
		buf_puts(out, "extern ");
		spelling_put_string(out, callee ? names_text(m->names, callee->u.name) : "");
	} else {
		buf_puts(out, info->hir);
	}
	buf_putc(out, '(');
	if (o.kind == OP_RECV) { /* the buffer is its result */
		ir_print_value_name(m, op_write(m, op, 0), out);
		n++;
	}
	n += print_shape(m, op, out);
	const struct attr *axis = o.kind == OP_SELECT ? op_attr(m, op, "axis") : NULL;
	for (unsigned i = 0; i < o.operand_n; i++) {
		const struct operand p = m->operand.at[o.operand + i];
		if (p.role == ROLE_DEF || p.role == ROLE_WRITE)
			continue;
		const char *key = p.role == ROLE_SCALAR ? scalar_key((enum op_kind)o.kind, scalars++) : NULL;
		if (axis && p.role == ROLE_SCALAR) {
			buf_printf(out, ", axis=%d", (int)axis->u.i);
			axis = NULL;
		}
		if (key && has_team && scalars == 1) /* axis=, then root= */
			print_team(m, op, out);
		buf_puts(out, n++ ? ", " : "");
		if (key)
			buf_printf(out, "%s=", key);
		switch ((enum role)p.role) {
		case ROLE_READ:
		case ROLE_FREE:
			ir_print_value_name(m, p.id, out);
			break;
		case ROLE_SCALAR:
			print_scalar(m, p.id, out);
			break;
		case ROLE_STATEMENT:
			print_statement_name(m, p.id, out);
			break;
		case ROLE_HANDLE:
			print_handle(m, p.id, out);
			break;
		default:
			break;
		}
	}
	if (has_team && !scalars)
		print_team(m, op, out);
	if (o.kind == OP_SYMMETRIC_VIEW)
		print_symmetric_axis(m, op, out);
	const struct attrs l = m->attrs.at[o.attrs];
	bool braced = o.kind == OP_EXTERN;
	for (uint32_t i = 0; i < l.n && !braced; i++) {
		const char *name = names_text(m->names, l.at[i].key);
		if (o.kind == OP_SELECT && !strcmp(name, "axis"))
			continue;
		buf_puts(out, n++ ? ", " : "");
		if (!is_positional((enum op_kind)o.kind, name)) {
			spelling_put_attr_name(out, name);
			buf_putc(out, '=');
		}
		hir_attr_value(m, &l.at[i], out);
	}
	buf_putc(out, ')');
	if (braced)
		hir_attrs(m, ir_attrs_without(m, o.attrs, names_intern_z(m->names, "callee")), out);
}

/* Returns true if parsing the statement without a type gives this type. */
static bool type_is_default(struct module *m, op_id op, value_id v)
{
	const struct value *x = &m->value.at[v];
	uint8_t axes[IR_MAX_MESH_AXES];
	switch (m->op.at[op].kind) {
	case OP_SHARD_BY_STREAM:
		return infer_shard(m, m->value.at[op_read(m, op, 0)].type) == x->type;
	case OP_SYMMETRIC_VIEW:
		return m->type.at[x->type].memory == MEMORY_LOCAL &&
		       infer_symmetric_axes(m, m->value.at[op_read(m, op, 0)].type, x->type, axes) > 0;
	case OP_SELECT:
		return infer_select(m, m->value.at[op_read(m, op, 0)].type,
		                    (unsigned)op_attr_int(m, op, "axis", 0)) == x->type;
	default:
		return (x->flags & VALUE_OPEN) != 0;
	}
}

/* Returns the type to print: without the hidden reduction axes that the statement implies. */
static type_id stated_type(struct module *m, op_id op, value_id v)
{
	const struct type t = *value_type(m, v);
	const struct domain d = m->domain.at[t.domain];
	struct sugar s;
	domain_id without;
	unsigned offending, n = 0;
	if (!op || m->op.at[op].kind == OP_ALLOCATE ||
	    d.axis[d.logical_n ? d.logical_n - 1 : 0].kind != AXIS_REDUCE ||
	    !sugar_from_domain(m, t.domain, t.mesh, &s))
		return m->value.at[v].type; /* reduction axes are the last logical ones */
	for (unsigned i = 0; i < d.logical_n; i++)
		if (d.axis[i].kind != AXIS_REDUCE)
			s.axis[n++] = s.axis[i];
	if (n == d.logical_n)
		return m->value.at[v].type;
	s.axis_n = n;
	for (unsigned u = 0; u < 2; u++) {
		if (sugar_expand(m, &s, t.mesh, u, &without, &offending))
			continue;
		type_id stated = type_with_domain(m, m->value.at[v].type, without);
		if (infer_reduce_axes(m, op, stated) == m->value.at[v].type)
			return stated;
	}
	return m->value.at[v].type;
}

void hir_stated_type(struct hir_printer *p, type_id t)
{
	while (p->type_text.n <= t)
		vec_push(&p->type_text, 0);
	if (!p->type_text.at[t]) {
		p->type_text.at[t] = (uint32_t)p->text.n + 1;
		print_type_stated(p->m, t, &p->text);
		buf_putc(&p->text, '\0');
	}
	buf_puts(p->out, p->text.at + p->type_text.at[t] - 1);
}

static bool is_io(const struct module *m, value_id v)
{
	return m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT);
}

void hir_schedule(struct hir_printer *p, value_id v, type_id stated, unsigned indent)
{
	struct buf text = {0};
	uint32_t key = 2 * stated + is_io(p->m, v);
	while (p->needs_schedule.n <= key)
		vec_push(&p->needs_schedule, 0);
	if (p->needs_schedule.at[key] != 1) {
		bool needed = print_type_schedule(p->m, stated, is_io(p->m, v), &text);
		p->needs_schedule.at[key] = needed ? 2 : 1;
		if (needed) {
			buf_pad(p->out, ' ', indent);
			buf_puts(p->out, "schedule ");
			ir_print_value_name(p->m, v, p->out);
			buf_puts(p->out, text.at);
			buf_putc(p->out, '\n');
		}
		buf_free(&text);
	}
}

void hir_ids(struct hir_printer *p, value_id v, unsigned indent)
{
	if (p->ids) {
		buf_pad(p->out, ' ', indent);
		buf_puts(p->out, "ids ");
		ir_print_value_name(p->m, v, p->out);
		buf_printf(p->out, " = T%d ", (int)p->m->value.at[v].number);
		ir_print_axis_numbers(p->m, v, p->out);
		buf_putc(p->out, '\n');
	}
}

void hir_memory(const struct module *m, op_id op, type_id t, struct buf *out)
{
	enum memory usual = op && op_traits(m, op) & TRAIT_VIEW ? MEMORY_LOCAL : MEMORY_GLOBAL;
	if (m->type.at[t].memory != usual) {
		static const char *const name[] = {" global", " local", " symmetric"};
		buf_puts(out, name[m->type.at[t].memory]);
	}
}

static void print_results(struct hir_printer *p, op_id op)
{
	struct module *m = p->m;
	unsigned defs = m->op.at[op].def_n;
	if (defs && p->outputs_inline && m->value.at[op_def(m, op, 0)].flags & VALUE_OUTPUT)
		buf_puts(p->out, "output ");
	for (unsigned k = 0; k < defs; k++) {
		value_id v = op_def(m, op, k);
		buf_puts(p->out, k ? ", " : "");
		ir_print_value_name(m, v, p->out);
		if (!type_is_default(m, op, v)) {
			type_id stated = stated_type(m, op, v);
			buf_puts(p->out, ": ");
			hir_stated_type(p, stated);
			hir_memory(m, op, stated, p->out);
		}
	}
	if (defs) {
		buf_puts(p->out, " = ");
		return;
	}
	unsigned writes = m->op.at[op].kind == OP_RECV ? 0 : op_role_count(m, op, ROLE_WRITE);
	for (unsigned k = 0; k < writes; k++) {
		buf_puts(p->out, k ? ", " : "");
		ir_print_value_name(m, op_write(m, op, k), p->out);
	}
	if (writes)
		buf_puts(p->out, " <- ");
}

static void print_for(struct hir_printer *p, op_id op)
{
	struct module *m = p->m;
	buf_puts(p->out, "for ");
	expr_print_hir(m, expr_index(m, m->region.at[m->op.at[op].region].index), p->out);
	buf_puts(p->out, " in ");
	expr_print_hir(m, op_scalar_expr(m, op, 0), p->out);
	buf_puts(p->out, "..");
	expr_print_hir(m, op_scalar_expr(m, op, 1), p->out);
	if (m->op.at[op].flags & OP_STREAM_LOOP)
		buf_puts(p->out, " parallel(stream)");
}

static void print_head(struct hir_printer *p, op_id op)
{
	struct module *m = p->m;
	switch (m->op.at[op].kind) {
	case OP_FOR:
		print_for(p, op);
		return;
	case OP_IF:
		buf_puts(p->out, "if ");
		expr_print_hir(m, op_scalar_expr(m, op, 0), p->out);
		return;
	case OP_UNIT:
	case OP_LAUNCH_KERNEL:
		buf_puts(p->out, op_info[m->op.at[op].kind].hir);
		return;
	case OP_GET_CURRENT_STREAM:
		print_handle(m, op_operand_id(m, op, ROLE_HANDLE, 0), p->out);
		buf_puts(p->out, " = get_current_stream()");
		return;
	default:
		break;
	}
	print_results(p, op);
	print_call(m, op, p->out);
	if (m->op.at[op].flags & OP_ASYNC) {
		buf_puts(p->out, " as ");
		print_statement_name(m, op, p->out);
	}
}

/* Prints `ids c = c7 []`: the number of a thing that has a name of its own and no axes. */
static void print_number(struct hir_printer *p, name_id name, char prefix, int32_t number, unsigned indent)
{
	if (!p->ids || ir_is_default_name(p->m, name, prefix, number))
		return;
	buf_pad(p->out, ' ', indent);
	buf_puts(p->out, "ids ");
	hir_name(p->m, name, p->out);
	buf_puts(p->out, " = ");
	ir_put_default_name(prefix, number, p->out);
	buf_puts(p->out, " []\n");
}

static void print_op(struct hir_printer *p, op_id op, unsigned indent)
{
	struct module *m = p->m;
	buf_pad(p->out, ' ', indent);
	print_head(p, op);
	region_id r = m->op.at[op].region;
	if (r) {
		buf_puts(p->out, " {\n");
		const struct index *x = &m->index.at[m->region.at[r].index];
		print_number(p, x->name, 'i', x->number, indent + 2);
		hir_region(p, r, indent + 2);
		for (r = m->region.at[r].sibling; r; r = m->region.at[r].sibling) {
			buf_pad(p->out, ' ', indent);
			buf_puts(p->out, "} else {\n");
			hir_region(p, r, indent + 2);
		}
		buf_pad(p->out, ' ', indent);
		buf_putc(p->out, '}');
	}
	buf_putc(p->out, '\n');
	if (m->op.at[op].kind == OP_GET_CURRENT_STREAM) {
		const struct handle *h = &m->handle.at[op_operand_id(m, op, ROLE_HANDLE, 0)];
		print_number(p, h->name, 'm', h->number, indent);
	}
	print_number(p, m->op.at[op].name, 'c', m->op.at[op].number, indent);
	for (unsigned k = 0; k < m->op.at[op].def_n; k++) {
		value_id v = op_def(m, op, k);
		if (!type_is_default(m, op, v))
			hir_schedule(p, v, stated_type(m, op, v), indent);
		hir_ids(p, v, indent);
	}
}

void hir_region(struct hir_printer *p, region_id r, unsigned indent)
{
	for (op_id op = p->m->region.at[r].first; op; op = p->m->op.at[op].next) {
		print_op(p, op, indent);
		buf_drain(p->out);
	}
}

void hir_printer_free(struct hir_printer *p)
{
	buf_free(&p->text);
	vec_free(&p->type_text);
	vec_free(&p->needs_schedule);
}

void ir_print_statement_numbered(struct module *m, op_id op, struct buf *out)
{
	struct hir_printer p = {.m = m, .out = out};
	print_head(&p, op);
	hir_printer_free(&p);
}

void ir_print_statement(struct module *m, op_id op, struct buf *out)
{
	struct ir_numbers *saved = ir_numbers_save(m);
	ir_number(m);
	ir_print_statement_numbered(m, op, out);
	ir_numbers_restore(m, saved);
}
