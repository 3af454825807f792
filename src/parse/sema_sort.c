/* sema_sort: reads argsort as nvFuser prints it: the indices of a topk of the whole axis.
 *
 *     T1… = argsort( T0…, dim = 1, descending = True, stable = True )      T2, T1… = topk(T0…, k=6, axis=1)
 *
 * In ascending order the operand is ~T0 of integers, not T0 of bools, and -T0 of floats with NaN as the smallest. Equal
 * elements keep their order, so that a sort that need not be stable is stable, too. */
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include "parse/sema_call.h"
#include <math.h>
#include <string.h>

static ast_id add_unary(struct nv_reader *r, const char *sign, ast_id operand)
{
	ast_id id = nv_node(r, AST_UNARY, operand, sign);
	nv_node_append(r, id, nv_node_copy(r, operand));
	return id;
}

/* Makes where(isnan(T0…), -inf, -T0…). */
static ast_id add_negative(struct nv_reader *r, ast_id operand)
{
	ast_id where = nv_node(r, AST_CALL, operand, "where"),
	       is_nan = nv_node(r, AST_CALL, operand, "isnan"), least = nv_node(r, AST_FLOAT, operand, NULL);
	r->s->a->nodes.at[least].value.f = -INFINITY;
	nv_node_append(r, is_nan, nv_node_copy(r, operand));
	nv_node_append(r, where, is_nan);
	nv_node_append(r, where, least);
	nv_node_append(r, where, add_unary(r, "-", operand));
	return where;
}

/* Returns the tensor whose largest elements come first; 0 after reporting. */
static value_id sorted_operand(struct nv_reader *r, ast_id operand, bool descending)
{
	struct ir_use use;
	value_id from = nv_operand(r, operand);
	if (!from || descending)
		return from;
	enum dtype t = (enum dtype)value_type(r->s->m, from)->dtype;
	ast_id reversed = dtype_is_float(t) ? add_negative(r, operand)
	                                    : add_unary(r, t == DTYPE_BOOL ? "not" : "~", operand);
	return sema_operand(r->s, reversed, &use) && use.role == ROLE_READ ? use.id : 0;
}

/* Appends topk(from, k=…, axis=…) of a whole axis. Returns false after reporting. */
static bool append_topk(struct nv_reader *r, value_id from, int64_t axis, struct nv_tensor *t, value_id bound,
                        uint32_t at)
{
	struct module *m = r->s->m;
	expr_id k = value_domain(m, from)->axis[axis].extent;
	struct attr list[] = {{.key = names_intern_z(m->names, "k"), .kind = ATTR_EXPR, .u.expr = k},
	                      {.key = names_intern_z(m->names, "axis"), .kind = ATTR_INT, .u.i = axis}};
	if (expr_is_const(m, k, &list[0].u.i))
		list[0].kind = ATTR_INT;
	struct infer_draft draft = {.kind = OP_TOPK,
	                            .operand_n = 1,
	                            .operand = &from,
	                            .attrs = ir_attrs(m, list, 2),
	                            .result_n = 2,
	                            .at = at};
	type_id first = infer_type(m, r->s->d, &draft);
	draft.result = 1;
	draft.stated = t->type;
	if (!first || !infer_check(m, r->s->d, &draft))
		return false;
	value_id values = ir_value_new(m, first, 0, at),
	         indices = bound ? ir_value_new(m, t->type, 0, at) : nv_define(r, t, at);
	m->value.at[values].flags |= VALUE_OPEN;
	struct ir_use use[] = {{ROLE_DEF, values}, {ROLE_DEF, indices}, {ROLE_READ, from}};
	op_id op = ir_op_new(m, OP_TOPK, at, use, 3);
	nv_append(r, op);
	nv_op(r, op)->attrs = draft.attrs;
	if (bound)
		nv_append(r, ir_op_new(m, OP_SET, at,
		                       (struct ir_use[]){{ROLE_READ, indices}, {ROLE_WRITE, bound}}, 2));
	return true;
}

bool nv_argsort(struct nv_reader *r, ast_id targets, ast_id call)
{
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound, from = 0;
	int64_t axis;
	if (!targets || !nv_is(r, call, AST_CALL) || strcmp(ast_text(s->a, call), "argsort") != 0 ||
	    !nv_key(r, call, "dim"))
		return false;
	if (!nv_result(r, ast_at(s->a, targets)->first, &t, &bound))
		return true;
	ast_id operand = ast_at(s->a, call)->first, descending = nv_key(r, call, "descending");
	bool reads = sema_const(s, nv_key(r, call, "dim"), &axis) &&
	             (from = sorted_operand(r, operand, descending && nv_is_name(r, descending, "True")));
	unsigned rank = from ? value_domain(s->m, from)->rank : 0;
	if (reads && (axis < 0 || axis >= rank))
		reads =
		    nv_refuse(r, E_AXIS_ATTRIBUTE, nv_key(r, call, "dim"), "dim= is an axis of the operand");
	if ((!reads || !append_topk(r, from, axis, t, bound, ast_at(s->a, call)->at)) && !t->value)
		nv_define(r, t, ast_at(s->a, call)->at); /* so that uses of it are not errors, too */
	return true;
}
