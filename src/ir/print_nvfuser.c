/* print_nvfuser: prints a program as %HostIrContainer, in nvFuser's newer statement forms.
 *
 *     T3_g_float[iS4{8}] (DeviceMesh{0 1})
 *        = Set( T0_g_float[ideviceIdx.x0{2}, iS1{4}] (DeviceMesh{0 1}), cache_op=Streaming )
 *
 * Facts that this form cannot express follow in sections after the container (print_sections.c). */
#include "ir/print_nvfuser.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print.h"
#include "ir/print_experts.h"
#include "ir/print_terms.h"
#include "ir/printed.h"
#include "ir/spelling.h"
#include "ir/team_root.h"
#include "ir/unit.h"
#include <string.h>

/* ---- parts */

void nvfuser_scalar(struct nvfuser *p, scalar_id s)
{
	const struct scalar *x = &p->m->scalar.at[s];
	if (x->expr)
		expr_print_nvfuser(p->m, x->expr, p->out);
	else
		nvfuser_float(p, "double", x->literal);
}

static bool key_is(const struct nvfuser *p, const struct attr *a, const char *key)
{
	return !strcmp(names_text(p->m->names, a->key), key);
}

void nvfuser_other_attrs(struct nvfuser *p, op_id op, const char *const *but)
{
	const struct attrs *l = &p->m->attrs.at[p->m->op.at[op].attrs];
	for (uint32_t i = 0; i < l->n; i++) {
		const char *const *b = but;
		while (*b && !key_is(p, &l->at[i], *b))
			b++;
		if (*b)
			continue;
		buf_puts(p->out, ", ");
		nvfuser_attr(p, &l->at[i]);
	}
}

static void put_handle(struct nvfuser *p, handle_id h)
{
	buf_printf(p->out, "Stream 0x%x", (unsigned)p->m->handle.at[h].number);
}

/* Prints the stream of a statement: a handle or an index. */
static void put_stream(struct nvfuser *p, op_id op)
{
	handle_id h = op_operand_id(p->m, op, ROLE_HANDLE, 0);
	if (h) {
		put_handle(p, h);
		return;
	}
	buf_puts(p->out, "Stream ");
	size_t at = p->out->n;
	expr_id e = op_scalar_expr(p->m, op, 0);
	expr_print_nvfuser(p->m, e, p->out);
	unsigned kind = p->m->expr.at[e].kind;
	if (p->out->at[at] == '-' || kind == EXPR_AXIS_INDEX ||
	    kind == EXPR_DEVICE) { /* needs parentheses: no name, number or other expression in parentheses */
		p->out->n = at;
		buf_puts(p->out, "( ");
		expr_print_nvfuser(p->m, e, p->out);
		buf_puts(p->out, " )");
	}
}

static void put_team(struct nvfuser *p, op_id op)
{
	const struct team *t = ir_team(p->m, p->m->op.at[op].team);
	buf_puts(p->out, "team=");
	for (uint32_t s = 0; s < t->slice_n; s++) {
		buf_putc(p->out, '(');
		for (uint32_t i = t->start[s]; i < t->start[s + 1]; i++)
			buf_printf(p->out, i > t->start[s] ? " %u" : "%u", t->device[i]);
		buf_putc(p->out, ')');
	}
}

/* Prints `root=0, ` and other scalars. */
static void put_scalars(struct nvfuser *p, op_id op)
{
	const struct op_info *info = &op_info[p->m->op.at[op].kind];
	for (unsigned k = 0; k < OP_MAX_SCALARS && info->scalar[k]; k++) {
		uint32_t s = op_operand_id(p->m, op, ROLE_SCALAR, k);
		if (!s)
			return;
		expr_id e = p->m->scalar.at[s].expr;
		buf_printf(p->out, "%s=", info->scalar[k]);
		if (e && !strcmp(info->scalar[k], "root"))
			expr_print_nvfuser(p->m, team_root_device(p->m, p->m->op.at[op].team, e), p->out);
		else
			nvfuser_scalar(p, s);
		buf_puts(p->out, ", ");
	}
}

static void put_backend(struct nvfuser *p, op_id op, const char *after)
{
	const struct attr *a = op_attr(p->m, op, "backend");
	buf_puts(p->out, "backend=");
	if (a && a->kind == ATTR_NAME)
		nvfuser_name(p, a->u.name);
	else
		buf_puts(p->out, "NCCL");
	buf_puts(p->out, after);
}

static void put_transfer(struct nvfuser *p, op_id op)
{
	bool send = p->m->op.at[op].kind == OP_SEND;
	buf_printf(p->out, "P2PCommunication %d (type=%s, buffer=", (int)p->m->op.at[op].number,
	           send ? "send" : "recv");
	nvfuser_tensor(p, print_term_operand(p->m, &p->order, op_transfer_buffer(p->m, op)));
	buf_puts(p->out, ", ");
	put_scalars(p, op);
	put_backend(p, op, ")");
}

static void put_communication(struct nvfuser *p, op_id op)
{
	const struct op *o = &p->m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	bool permute = o->kind == OP_COLLECTIVE_PERMUTE;
	buf_printf(p->out, "%s %d (", permute ? "CollectivePermute" : "Communication", (int)o->number);
	if (!permute)
		buf_printf(p->out, "type=%s, ", info->nvfuser);
	if (o->team) {
		put_team(p, op);
		buf_puts(p->out, ", ");
	}
	put_scalars(p, op);
	buf_puts(p->out, "input=");
	nvfuser_tensor(p, print_term_operand(p->m, &p->order, op_read(p->m, op, 0)));
	buf_puts(p->out, ", output=");
	nvfuser_tensor(p, print_term_operand(p->m, &p->order, op_result(p->m, op, 0)));
	buf_puts(p->out, ", ");
	put_backend(p, op, ")");
}

/* Prints a dispatch or combine with the tensors that nvFuser shows. */
static void put_experts(struct nvfuser *p, op_id op)
{
	static const char *const dispatch[] = {"in", "topk_idx", "topk_weights"}, *const combine[] = {
	                                                                              "in", "topk_weights",
	                                                                              "src_idx"};
	const struct op *o = &p->m->op.at[op];
	bool is_dispatch = o->kind == OP_DISPATCH;
	buf_printf(p->out, "%s %d (", op_info[o->kind].nvfuser, (int)o->number);
	if (is_dispatch) {
		buf_puts(p->out, "num_experts=");
		nvfuser_attr_value(p, op_attr(p->m, op, "num_experts"));
		buf_puts(p->out, ", ");
	}
	put_backend(p, op, ", ");
	for (unsigned k = 0; k < 3; k++) {
		buf_printf(p->out, "%s=", is_dispatch ? dispatch[k] : combine[k]);
		nvfuser_tensor(p, op_read(p->m, op, k));
		buf_puts(p->out, ", ");
	}
	buf_puts(p->out, "out=");
	nvfuser_tensor(p, op_result(p->m, op, 0));
	buf_putc(p->out, ')');
}

/* ---- statements */

void nvfuser_results(struct nvfuser *p, op_id op)
{
	const struct op *o = &p->m->op.at[op];
	enum role role = o->def_n ? ROLE_DEF : ROLE_WRITE;
	unsigned n = op_role_count(p->m, op, role);
	for (unsigned k = 0; k < n; k++) {
		buf_puts(p->out, k ? ", " : "");
		nvfuser_tensor(p, op_operand_id(p->m, op, role, k));
	}
}

void nvfuser_next_line(struct nvfuser *p, unsigned level)
{
	buf_putc(p->out, '\n');
	buf_pad(p->out, ' ', (level + 1) * NVFUSER_STEP);
	buf_putc(p->out, ' ');
}

static void put_operand(struct nvfuser *p, const struct operand *x)
{
	switch ((enum role)x->role) {
	case ROLE_READ:
	case ROLE_FREE:
		nvfuser_tensor(p, x->id);
		break;
	case ROLE_SCALAR:
		nvfuser_scalar(p, x->id);
		break;
	case ROLE_HANDLE:
		put_handle(p, x->id);
		break;
	case ROLE_STATEMENT:
		buf_printf(p->out, "Communication %d", (int)p->m->op.at[x->id].number);
		break;
	default:
		break;
	}
}

static void put_contraction(struct nvfuser *p, op_id op, unsigned level)
{
	bool linear = p->m->op.at[op].kind == OP_LINEAR;
	buf_printf(p->out, "= %s(", op_info[p->m->op.at[op].kind].nvfuser);
	nvfuser_tensor(p, print_term_operand(p->m, &p->order, op_read(p->m, op, 0)));
	buf_puts(p->out, ",\n");
	buf_pad(p->out, ' ', (level + 1) * NVFUSER_STEP + 10);
	nvfuser_tensor(p, print_term_operand(p->m, &p->order, op_read(p->m, op, 1)));
	if (op_role_count(p->m, op, ROLE_READ) == 3) {
		buf_pad(p->out, ' ', (level + 1) * NVFUSER_STEP);
		buf_puts(p->out, ",\n          ");
		nvfuser_tensor(p, op_read(p->m, op, 2));
	}
	if (linear) /* nvFuser indents before the parenthesis */
		buf_pad(p->out, ' ', (level + 1) * NVFUSER_STEP);
	buf_putc(p->out, ')');
}

/* Prints SegmenterSet( T0 ), or Set( T0, cache_op=Streaming ). */
static void put_set(struct nvfuser *p, op_id op)
{
	static const char *const but[] = {"segment", NULL};
	const bool segment = op_attr_is_true(p->m, op, "segment");
	buf_puts(p->out, segment ? "SegmenterSet( " : "Set( ");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	if (!segment)
		buf_puts(p->out, ", cache_op=Streaming");
	nvfuser_other_attrs(p, op, but);
	buf_puts(p->out, " )");
}

static void put_call(struct nvfuser *p, op_id op)
{
	const struct op *o = &p->m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	bool collective = info->traits & TRAIT_COLLECTIVE, external = o->kind == OP_EXTERN;
	if (o->kind == OP_SET) {
		put_set(p, op);
		return;
	}
	const struct attr *callee = external ? op_attr(p->m, op, "callee") : NULL;
	unsigned n = 0, scalars = 0;
	if (external) {
		buf_puts(p->out, "extern ");
		spelling_put_string(p->out, callee ? names_text(p->m->names, callee->u.name) : "");
		buf_putc(p->out, '(');
	} else {
		buf_puts(p->out, collective ? info->hir : info->nvfuser);
		buf_puts(p->out, collective ? "( " : "(");
	}
	for (unsigned i = 0; i < o->operand_n; i++) {
		const struct operand *x = &p->m->operand.at[o->operand + i];
		if (x->role == ROLE_DEF || x->role == ROLE_WRITE)
			continue;
		buf_puts(p->out, n++ ? ", " : "");
		if (collective && x->role == ROLE_SCALAR)
			buf_printf(p->out, "%s=", info->scalar[scalars++]);
		put_operand(p, x);
	}
	if (collective && o->team && !attrs_find(p->m, o->attrs, "group")) {
		buf_puts(p->out, n++ ? ", " : "");
		put_team(p, op);
	}
	const struct attrs *l = &p->m->attrs.at[o->attrs];
	if (external) {
		buf_puts(p->out, ")");
		const char *before = " {";
		for (uint32_t i = 0; i < l->n; i++) {
			if (key_is(p, &l->at[i], "callee"))
				continue;
			buf_puts(p->out, before);
			nvfuser_attr(p, &l->at[i]);
			before = ", ";
		}
		if (*before == ',')
			buf_putc(p->out, '}');
		return;
	}
	for (uint32_t i = 0; i < l->n; i++) {
		buf_puts(p->out, n++ ? ", " : "");
		nvfuser_attr(p, &l->at[i]);
	}
	buf_puts(p->out, collective ? " )" : ")");
}

static void put_compute(struct nvfuser *p, op_id op, unsigned level)
{
	const struct op *o = &p->m->op.at[op];
	if (op_role_count(p->m, op, ROLE_DEF) + op_role_count(p->m, op, ROLE_WRITE)) {
		op_id product = print_term_product(p->m, &p->order, op);
		if (nvfuser_topk(p, op))
			return;
		nvfuser_results(p, op);
		if (product) {
			nvfuser_next_line(p, level);
			put_contraction(p, product, level);
			return;
		}
		if (nvfuser_is_on_one_line(p, op))
			buf_putc(p->out, ' ');
		else
			nvfuser_next_line(p, level);
		bool tensors = op_role_count(p->m, op, ROLE_READ) >= 2;
		if ((o->kind == OP_LINEAR || o->kind == OP_MATMUL) && !o->attrs && tensors) {
			put_contraction(p, op, level);
			return;
		}
		buf_puts(p->out, "= ");
		if (nvfuser_pointwise(p, op, level) || nvfuser_spelling(p, op, level))
			return;
	}
	put_call(p, op);
}

/* Prints the statements that a statement names, as whole transfers or as `Communication N`. */
static void put_named(struct nvfuser *p, op_id op, bool whole)
{
	unsigned n = op_role_count(p->m, op, ROLE_STATEMENT);
	for (unsigned k = 0; k < n; k++) {
		op_id named = op_operand_id(p->m, op, ROLE_STATEMENT, k);
		buf_puts(p->out, k ? ", " : "");
		if (whole && op_traits(p->m, named) & TRAIT_P2P)
			put_transfer(p, named);
		else
			buf_printf(p->out, "Communication %d", (int)p->m->op.at[named].number);
	}
}

static void put_line(struct nvfuser *p, op_id op, unsigned level)
{
	const struct op *o = &p->m->op.at[op];
	switch (o->kind) {
	case OP_ALLOCATE:
		nvfuser_allocate(p, op);
		return;
	case OP_DEALLOCATE:
		nvfuser_deallocate(p, op, level);
		return;
	case OP_SELECT:
		nvfuser_select(p, op, level);
		return;
	case OP_SHARD_BY_STREAM:
		nvfuser_shard_by_stream(p, op);
		return;
	case OP_SYMMETRIC_VIEW:
		nvfuser_symmetric_view(p, op);
		return;
	case OP_GET_CURRENT_STREAM:
		put_handle(p, op_operand_id(p->m, op, ROLE_HANDLE, 0));
		buf_puts(p->out, " = GetCurrentStream()");
		return;
	case OP_SET_CURRENT_STREAM:
	case OP_SYNCHRONIZE:
		buf_printf(p->out, "%s(", op_info[o->kind].nvfuser);
		put_stream(p, op);
		buf_putc(p->out, ')');
		return;
	case OP_WAIT:
		buf_puts(p->out, "Wait(");
		put_named(p, op, false);
		buf_putc(p->out, ')');
		return;
	case OP_SHARE_MEM_HANDLES: /* nvFuser never prints the closing parenthesis */
		buf_puts(p->out, "ShareMemHandles(");
		put_named(p, op, true);
		buf_putc(p->out, ',');
		return;
	case OP_POST:
		if (op_role_count(p->m, op, ROLE_STATEMENT) == 1 &&
		    !(p->order.flags[op] & PRINT_NAMES_LATER)) {
			put_named(p, op, true);
			return;
		}
		buf_puts(p->out, "post(");
		put_named(p, op, false);
		buf_putc(p->out, ')');
		return;
	case OP_SEND:
	case OP_RECV:
		put_transfer(p, op);
		return;
	case OP_START_COALESCING:
		buf_puts(p->out, "StartCoalescing");
		return;
	case OP_END_COALESCING:
		buf_printf(p->out, "EndCoalescing %d", (int)o->number);
		return;
	default:
		break;
	}
	if (op_traits(p->m, op) & TRAIT_COLLECTIVE && o->flags & OP_ASYNC)
		put_communication(p, op);
	else if (print_experts_is_short(p->m, &p->order, op))
		put_experts(p, op);
	else
		put_compute(p, op, level);
}

/* ---- the program */

static void put_op(struct nvfuser *p, op_id op, unsigned level)
{
	const struct op *o = &p->m->op.at[op];
	if (print_order_elides(p->m, &p->order, op))
		return;
	buf_pad(p->out, ' ', level * NVFUSER_STEP);
	if (o->kind == OP_FOR) {
		buf_puts(p->out, "FOR ");
		expr_print_nvfuser(p->m, expr_index(p->m, p->m->region.at[o->region].index), p->out);
		value_id v;
		unsigned axis;
		if (print_order_loop_axis(p->m, op, &v, &axis)) {
			buf_puts(p->out, " in ");
			nvfuser_axis(p, v, axis);
		} else {
			buf_puts(p->out, " from ");
			expr_print_nvfuser(p->m, op_scalar_expr(p->m, op, 0), p->out);
			buf_puts(p->out, " to ");
			expr_print_nvfuser(p->m, op_scalar_expr(p->m, op, 1), p->out);
		}
		buf_puts(p->out, ":\n");
		nvfuser_region(p, o->region, level + 1);
		return;
	}
	if (o->kind == OP_IF) {
		buf_puts(p->out, "IF Manual ");
		expr_print_nvfuser(p->m, op_scalar_expr(p->m, op, 0), p->out);
		buf_puts(p->out, ":\n");
		nvfuser_region(p, o->region, level + 1);
		region_id otherwise = p->m->region.at[o->region].sibling;
		if (otherwise) {
			buf_pad(p->out, ' ', level * NVFUSER_STEP);
			buf_puts(p->out, "ELSE:\n");
			nvfuser_region(p, otherwise, level + 1);
		}
		return;
	}
	if (op_is_unit(p->m, op))
		nvfuser_unit(p, op, level);
	else
		put_line(p, op, level);
	buf_putc(p->out, '\n');
}

void nvfuser_region(struct nvfuser *p, region_id r, unsigned level)
{
	for (op_id op = p->m->region.at[r].first; op; op = p->m->op.at[op].next) {
		put_op(p, op, level);
		buf_drain(p->out);
	}
}

void ir_print_nvfuser(struct module *m, struct buf *out)
{
	struct ir_numbers *before = ir_numbers_save(m);
	struct nvfuser p = {.m = m, .out = out};
	print_order_make(m, &p.order);
	ir_number_in_order(m, &p.order);
	buf_puts(out, "%HostIrContainer { (");
	for (uint32_t i = 0, k = 0; i <= m->input.n; i++) {
		for (; k < m->input_param.n && m->input_param.at[k].before == i; k++) {
			buf_puts(out, i + k ? ", " : "");
			expr_print_param_nvfuser(m, m->input_param.at[k].param, out);
		}
		if (i == m->input.n)
			break;
		buf_puts(out, i + k ? ", " : "");
		nvfuser_tensor(&p, m->input.at[i].value);
	}
	buf_puts(out, ") -> (");
	for (uint32_t i = 0; i < m->output.n; i++) {
		buf_puts(out, i ? ", " : "");
		nvfuser_tensor(&p, m->output.at[i]);
	}
	buf_puts(out, ") :\n");
	nvfuser_region(&p, m->body, 1);
	for (uint32_t i = 0; i < p.order.unit.n; i++)
		nvfuser_unit_text(&p, p.order.unit.at[i]);
	buf_puts(out, "} // %HostIrContainer\n");
	nvfuser_sections(&p);
	nvfuser_forms_free(&p.forms);
	print_order_free(&p.order);
	ir_numbers_restore(m, before);
}
