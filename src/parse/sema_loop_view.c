/* sema_loop_view: outputs that a loop defines as views.
 *
 *     FOR i5 from 0 to 3:                                       T1 = select(T0, axis=0, index=2)
 *       T1… = HirAliasSelect( T0…, axis = iS0{3}, index = i5 )
 *
 * After the loop nvFuser has the view of the last iteration. It is defined again there: nothing in a loop is visible
 * after it. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

static bool is_loop_view(struct nv_reader *r, const struct nv_tensor *t, ast_id loop)
{
	struct ast *a = r->s->a;
	ast_id stmt = t->output && !t->value ? nv_find_definition(r, loop, t->name, false) : 0;
	ast_id expr = stmt && nv_is(r, stmt, AST_DEF) ? ast_child(a, stmt, 1) : 0;
	return expr && nv_is(r, expr, AST_CALL) &&
	       (nv_is_select(r, expr) || !strcmp(ast_text(a, expr), "ShardByStream"));
}

void nv_loop_views_begin(struct nv_reader *r, ast_id loop)
{
	for (uint32_t i = 0; i < r->tensor.n && r->s->region == r->s->m->body; i++)
		r->tensor.at[i].loop_view = is_loop_view(r, &r->tensor.at[i], loop);
}

/* Returns an expression in the last iteration of the loops around a region, up to the region that is being filled; 0: there
 * is a condition, too. */
static expr_id in_last_iteration(struct nv_reader *r, region_id g, expr_id e)
{
	struct module *m = r->s->m;
	while (e && g != r->s->region) {
		op_id loop = m->region.at[g].owner;
		if (!loop || m->op.at[loop].kind != OP_FOR)
			return 0;
		expr_id last = expr_add(m, op_scalar_expr(m, loop, 1), expr_const(m, -1));
		e = last ? expr_replace_index(m, e, m->region.at[g].index, last) : 0;
		g = m->op.at[loop].parent;
	}
	return e;
}

/* Returns the value of a view after the loops in which it is defined; 0: it has none. t: the tensor that gets the view,
 * NULL for a view inside it. */
static value_id view_after(struct nv_reader *r, value_id v, struct nv_tensor *t)
{
	struct module *m = r->s->m;
	op_id def = m->value.at[v].def;
	if (!def || m->op.at[def].parent == r->s->region)
		return v;
	enum op_kind kind = (enum op_kind)m->op.at[def].kind;
	if (kind != OP_SELECT && kind != OP_SHARD_BY_STREAM)
		return 0;
	value_id from = view_after(r, op_read(m, def, 0), NULL);
	expr_id e = in_last_iteration(r, m->op.at[def].parent, op_scalar_expr(m, def, 0));
	if (!from || !e)
		return 0;
	uint32_t at = m->op.at[def].at;
	attrs_id attrs = m->op.at[def].attrs;
	value_id x = t ? nv_define(r, t, at) : ir_value_new(m, m->value.at[v].type, 0, at);
	struct ir_use use[] = {{ROLE_DEF, x}, {ROLE_READ, from}, {ROLE_SCALAR, ir_scalar_expr(m, e)}};
	op_id op = ir_op_new(m, kind, at, use, 3);
	nv_append(r, op);
	nv_op(r, op)->attrs = attrs;
	return x;
}

void nv_loop_views_end(struct nv_reader *r, ast_id loop)
{
	for (uint32_t i = 0; i < r->tensor.n && r->s->region == r->s->m->body; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		value_id v = t->value;
		if (!t->loop_view)
			continue;
		t->loop_view = false;
		t->value = 0;
		if (!v || view_after(r, v, t))
			continue;
		uint32_t at = ast_at(r->s->a, nv_find_definition(r, loop, t->name, false))->at;
		diag_error(r->s->d, E_OUTPUT_UNDEFINED, at,
		           "output %s is a view of a tensor that is not defined after the loop",
		           names_text(r->s->m->names, t->name));
		diag_note(
		    r->s->d, DIAG_NOWHERE,
		    "an ALLOCATE of the output before the loop, and a Set in the loop, copy its elements");
		nv_define(r, t, at);
	}
}
