/* sema_cat: reads a concatenation, whose operands nvFuser pads to the whole extent first.
 *
 *     T2 = pad( T0[3], {0, 5} )
 *     T3 = pad( T1[5], {3, 0} )
 *     T4 = cat( T2[8], T3[8], 0 )          cat(T0, T1, axis=0)
 *
 * Operands of other extents stay as they are. */
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

/* Returns an attribute of a pad, 0 by default. */
static expr_id width(struct module *m, op_id op, const char *key)
{
	const struct attr *a = attrs_find(m, m->op.at[op].attrs, key);
	return !a                     ? expr_const(m, 0)
	       : a->kind == ATTR_INT  ? expr_const(m, a->u.i)
	       : a->kind == ATTR_EXPR ? expr_canon(m, a->u.expr)
	                              : 0;
}

/* Returns the tensor that an operand pads along an axis, behind `before` elements, or NULL. */
static const struct nv_tensor *padded(struct nv_reader *r, ast_id operand, int64_t axis, expr_id before)
{
	struct module *m = r->s->m;
	const struct nv_tensor *t =
	    nv_is(r, operand, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, operand)->name) : NULL;
	op_id op = t && t->value ? m->value.at[t->value].def : 0;
	if (!op || m->op.at[op].kind != OP_PAD)
		return NULL;
	const struct attr *a = attrs_find(m, m->op.at[op].attrs, "axis");
	if ((a ? a->u.i : 0) != axis || width(m, op, "before") != before)
		return NULL;
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (r->tensor.at[i].value == op_read(m, op, 0))
			return &r->tensor.at[i];
	return NULL;
}

/* Replaces each operand by the tensor that it pads, if these follow each other and fill the axis. */
static void drop_pads(struct nv_reader *r, ast_id call, int64_t axis)
{
	enum { MOST = 64 };
	struct module *m = r->s->m;
	struct ast *a = r->s->a;
	const struct nv_tensor *from[MOST];
	unsigned n = 0;
	expr_id at = expr_const(m, 0), whole = 0;
	ast_each (a, operand, call) {
		from[n] = n < MOST - 1 ? padded(r, operand, axis, at) : NULL;
		if (!from[n] || axis < 0 || axis >= value_domain(m, from[n]->value)->rank)
			return;
		expr_id sum = expr_add(m, at, value_domain(m, from[n]->value)->axis[axis].extent);
		at = sum ? expr_canon(m, sum) : 0;
		if (!at)
			return;
		whole =
		    value_domain(m, nv_find_tensor(r, ast_at(a, operand)->name)->value)->axis[axis].extent;
		n++;
	}
	if (n < 2 || at != whole)
		return;
	n = 0;
	ast_each (a, operand, call) {
		ast_id next = ast_at(a, operand)->next;
		a->nodes.at[operand] = *ast_at(a, from[n++]->node);
		a->nodes.at[operand].next = next;
	}
}

void nv_cat(struct nv_reader *r, ast_id call)
{
	struct ast *a = r->s->a;
	for (ast_id *link = &a->nodes.at[call].first; *link; link = &a->nodes.at[*link].next)
		if (nv_is(r, *link, AST_INT) && !ast_at(a, *link)->next) {
			ast_id axis = *link;
			*link = 0;
			drop_pads(r, call, ast_at(a, axis)->value.i);
			nv_node_key(r, call, "axis", axis);
			return;
		}
}
