/* ring_reduce: see ring_reduce.h. */
#include "pass/ring_reduce.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "pass/place.h"
#include <string.h>

/* Returns the type with a new first axis, which is whole on every rank; 0: not possible. */
static type_id with_axis(struct module *m, type_id t, int64_t extent)
{
	const struct type old = m->type.at[t];
	struct sugar s;
	const char *reason;
	if (!sugar_from_domain(m, old.domain, old.mesh, &s))
		return 0;
	sugar_drop(&s, AXIS_REDUCE);
	if (s.axis_n == IR_MAX_LOGICAL)
		return 0;
	memmove(&s.axis[1], &s.axis[0], sizeof *s.axis * s.axis_n);
	s.axis[0] = (struct sugar_axis){.extent = expr_const(m, extent), .kind = AXIS_ITER};
	s.rank++, s.axis_n++;
	return place_type(m, t, old.mesh, &s, false, &reason);
}

static attrs_id axis_0(struct module *m)
{
	return ir_attrs_with(m, 0, &(struct attr){.key = names_intern_z(m->names, "axis"), .kind = ATTR_INT});
}

bool ring_reduce(struct module *m, struct pass_context *cx, op_id loop, op_id op, const struct reshard *r)
{
	uint32_t at = m->op.at[op].at;
	value_id from = op_read(m, op, 0), result = op_result(m, op, 0);
	uint32_t d = m->mesh.at[r->mesh].size[r->axis[0]];
	type_id type = with_axis(m, m->value.at[result].type, d);
	if (!type)
		return false;
	value_id all = ir_value_new(m, type, 0, at);
	op_id allocate = ir_op_new(m, OP_ALLOCATE, at, (struct ir_use[]){{ROLE_DEF, all}}, 1);
	ir_insert_before(m, loop, allocate);
	vec_push(&cx->allocated, all);

	expr_id size = expr_const(m, d), own = expr_axis_index(m, r->mesh, r->axis[0]),
	        i = expr_index(m, m->region.at[m->op.at[loop].region].index);
	expr_id to = expr_op(m, EXPR_MOD, expr_add(m, own, i), size),
	        sender = expr_op(m, EXPR_MOD, expr_add(m, size, expr_op(m, EXPR_SUB, own, i)), size);
	value_id place = ir_value_new(m, infer_select(m, type, 0), 0, at);
	op_id select = ir_op_new(
	    m, OP_SELECT, at,
	    (struct ir_use[]){{ROLE_DEF, place}, {ROLE_READ, all}, {ROLE_SCALAR, ir_scalar_expr(m, sender)}},
	    3);
	m->op.at[select].attrs = axis_0(m);
	ir_insert_before(m, op, select);
	op_id permute = ir_op_new(m, OP_COLLECTIVE_PERMUTE, at,
	                          (struct ir_use[]){{ROLE_READ, from},
	                                            {ROLE_SCALAR, ir_scalar_expr(m, to)},
	                                            {ROLE_SCALAR, ir_scalar_expr(m, sender)},
	                                            {ROLE_WRITE, place}},
	                          4);
	m->op.at[permute].team = ir_team_of_mesh(m, r->mesh, r->axis, 1);
	ir_insert_before(m, op, permute);

	bool fresh = m->op.at[op].def_n;
	struct ir_use define[] = {{ROLE_DEF, result}, {ROLE_READ, all}},
	              write[] = {{ROLE_READ, all}, {ROLE_WRITE, result}};
	ir_op_set_operands(m, op, fresh ? define : write, 2);
	m->op.at[op].kind = reduce_operation(r->reduce);
	m->op.at[op].attrs = axis_0(m);
	if (m->op.at[loop].next)
		ir_move_before(m, m->op.at[loop].next, op);
	else
		ir_move_to_end(m, m->op.at[loop].parent, op);
	if (fresh) {
		type = infer_reduce_axes(m, op, m->value.at[result].type);
		m->value.at[result].type = type;
	}
	return true;
}
