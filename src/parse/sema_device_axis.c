/* sema_device_axis: Communications of tensors that have an axis over the devices without a split.
 *
 *     T0_g_float[ideviceIdx.x0{2}, iS1{4}] (DeviceMesh{0 1})     f32[2@x, 4]: a device has one index of axis 0
 *
 * nvFuser takes the block of a device for its term of a sum, and for the buffer of a transfer. Here these are values
 * of their own. The printer leaves their statements out (ir/print_terms.c). */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "parse/nvfuser.h"

/* Appends a select or a reduction along one axis. Returns its result. */
static value_id append_along(struct nv_reader *r, uint32_t at, enum op_kind kind, value_id from, int axis,
                             type_id type)
{
	struct module *m = r->s->m;
	value_id v = ir_value_new(m, type, 0, at);
	scalar_id zero = ir_scalar_expr(m, expr_const(m, 0));
	struct ir_use use[] = {{ROLE_DEF, v}, {ROLE_READ, from}, {ROLE_SCALAR, zero}};
	op_id op = ir_op_new(m, kind, at, use, kind == OP_SELECT ? 3 : 2);
	struct attr a = {.key = names_intern_z(m->names, "axis"), .kind = ATTR_INT, .u.i = axis};
	nv_append(r, op);
	attrs_id attrs = ir_attrs_with(m, 0, &a);
	nv_op(r, op)->attrs = attrs;
	if (kind != OP_SELECT)
		type = infer_reduce_axes(m, op, type);
	m->value.at[v].type = type;
	return v;
}

/* Returns the op= that a line `attr Communication N {op=…}` states. */
static enum reduce_op stated_reduction(struct nv_reader *r, const struct nv_statement *x)
{
	enum reduce_op op = REDUCE_SUM;
	ast_id value = x->attrs ? nv_key(r, x->attrs, "op") : 0;
	if (nv_is(r, value, AST_NAME))
		reduce_op_parse(ast_text(r->s->a, value), &op);
	return op;
}

value_id nv_reduced_operand(struct nv_reader *r, const struct nv_statement *x, ast_id comm, team_id team,
                            value_id from, type_id result)
{
	struct module *m = r->s->m;
	type_id operand = m->value.at[from].type;
	int axis = infer_reduced_device_axis(m, operand, team);
	if (axis < 0 || value_domain(m, from)->rank != ir_domain(m, m->type.at[result].domain)->rank + 1)
		return from;
	enum reduce_op op = stated_reduction(r, x);
	type_id type = infer_device_terms(m, operand, axis, op);
	return type ? append_along(r, ast_at(r->s->a, comm)->at, reduce_operation(op), from, axis, type)
	            : from;
}

value_id nv_root_block(struct nv_reader *r, ast_id comm, value_id from, value_id result)
{
	struct module *m = r->s->m;
	type_id whole = m->value.at[result].type, operand = m->value.at[from].type;
	int axis = infer_device_axis(m, whole, -1);
	if (axis < 0 || infer_device_axis(m, operand, -1) != axis ||
	    value_domain(m, from)->rank != value_domain(m, result)->rank)
		return result;
	type_id type = infer_select(m, whole, (unsigned)axis);
	return type ? append_along(r, ast_at(r->s->a, comm)->at, OP_SELECT, result, axis, type) : result;
}

value_id nv_sent_block(struct nv_reader *r, ast_id comm, value_id from, type_id result)
{
	struct module *m = r->s->m;
	type_id operand = m->value.at[from].type;
	int axis = infer_device_axis(m, operand, -1);
	if (axis < 0 || value_domain(m, from)->rank != ir_domain(m, m->type.at[result].domain)->rank + 1)
		return from;
	type_id type = infer_select(m, operand, (unsigned)axis);
	return type ? append_along(r, ast_at(r->s->a, comm)->at, OP_SELECT, from, axis, type) : from;
}

value_id nv_device_block(struct nv_reader *r, uint32_t at, value_id buffer)
{
	struct module *m = r->s->m;
	int axis;
	type_id type;
	while ((axis = infer_device_axis(m, m->value.at[buffer].type, -1)) >= 0 &&
	       (type = infer_select(m, m->value.at[buffer].type, (unsigned)axis)))
		buffer = append_along(r, at, OP_SELECT, buffer, axis, type);
	return buffer;
}
