/* sema_ranges: reads pad and slice, which nvFuser prints with the ranges of all axes.
 *
 *     pad( T0…, {0, 0, 1, 2} )                    pad(T0…, axis=1, before=1, after=2)
 *     pad( T0…, {0, 0, -1, 2} )                   pad(slice(T0…, axis=1, start=1, stop=6), axis=1, before=0, after=2)
 *     slice( T0…, { {0, 4, 1} {2, 6, 1} } )       slice(T0…, axis=1, start=2, stop=6) */
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

/* Makes OP(…, axis=k, before=x, after=y) of a call, around what it is already. */
static void wrap_call(struct nv_reader *r, ast_id call, bool nest, int64_t axis, const char *key, ast_id x,
                      const char *other, ast_id y)
{
	struct ast *a = r->s->a;
	if (nest) {
		ast_id inner = nv_node(r, AST_CALL, call, NULL);
		a->nodes.at[inner].name = ast_at(a, call)->name;
		a->nodes.at[inner].first = ast_at(a, call)->first;
		a->nodes.at[inner].height = ast_at(a, call)->height;
		a->nodes.at[call].first = 0;
		nv_node_append(r, call, inner);
	}
	nv_node_key(r, call, "axis", nv_node_int(r, call, axis));
	nv_node_key(r, call, key, x);
	nv_node_key(r, call, other, y);
}

/* Gives fmin and fmax of whole numbers the names that they have here. */
static void rename_limits(struct nv_reader *r, ast_id id)
{
	const char *name = nv_is(r, id, AST_CALL) ? ast_text(r->s->a, id) : "";
	if (!strcmp(name, "fmin") || !strcmp(name, "fmax"))
		nv_rename_call(r, id, name + 1);
	ast_each (r->s->a, child, id)
		rename_limits(r, child);
}

/* Takes the width out of a negative number. Returns false if it is none. */
static bool take_negative(struct nv_reader *r, ast_id width, int64_t *cut)
{
	struct ast *a = r->s->a;
	ast_id number = nv_is(r, width, AST_UNARY) ? ast_at(a, width)->first : 0;
	*cut = nv_is(r, number, AST_INT)  ? ast_at(a, number)->value.i
	       : nv_is(r, width, AST_INT) ? -ast_at(a, width)->value.i
	                                  : 0;
	if (*cut <= 0)
		return false;
	struct ast_node *n = &a->nodes.at[width];
	n->kind = AST_INT;
	n->value.i = n->first = 0;
	return true;
}

/* Makes a slice of what negative widths cut off. Returns false after reporting. *any: some do. */
static bool read_cuts(struct nv_reader *r, ast_id call, ast_id widths, bool *any)
{
	struct sema *s = r->s;
	int64_t axis = 0, begin, end = 0;
	value_id from = 0;
	for (ast_id before = ast_at(s->a, widths)->first; before; axis++) {
		ast_id after = ast_at(s->a, before)->next;
		bool cuts = take_negative(r, before, &begin) | (after && take_negative(r, after, &end));
		before = after ? ast_at(s->a, after)->next : 0;
		if (!cuts)
			continue;
		if (!from && !(from = nv_operand(r, ast_at(s->a, call)->first)))
			return false;
		if (axis >= value_domain(s->m, from)->rank)
			return nv_refuse(r, E_ATTRIBUTE_VALUE, widths,
			                 "pad has widths for more axes than its operand has");
		expr_id stop = expr_add(s->m, value_domain(s->m, from)->axis[axis].extent,
		                        expr_const(s->m, end > 0 ? -end : 0));
		wrap_call(r, call, *any, axis, "start", nv_node_int(r, call, begin > 0 ? begin : 0), "stop",
		          nv_node_expr(r, call, stop));
		*any = true;
	}
	return true;
}

bool nv_pad(struct nv_reader *r, ast_id call, ast_id widths)
{
	bool any = false;
	int64_t axis = 0;
	rename_limits(r, widths);
	nv_keep_first(r, call);
	nv_rename_call(r, call, "slice");
	if (!read_cuts(r, call, widths, &any))
		return false;
	for (ast_id before = ast_at(r->s->a, widths)->first; before; axis++) {
		ast_id after = ast_at(r->s->a, before)->next;
		if (!after)
			return nv_refuse(r, E_ATTRIBUTE_VALUE, widths, "pad takes two widths for each axis");
		ast_id next = ast_at(r->s->a, after)->next;
		if (!nv_is_int(r, before, 0) || !nv_is_int(r, after, 0)) {
			wrap_call(r, call, any, axis, "before", before, "after", after);
			nv_rename_call(r, call, "pad");
			any = true;
		}
		before = next;
	}
	if (!any)
		nv_rename_call(r, call, "set");
	return true;
}

bool nv_slice(struct nv_reader *r, ast_id call, ast_id ranges)
{
	struct sema *s = r->s;
	bool any = false;
	int64_t axis = 0;
	ast_id operand = ast_at(s->a, call)->first;
	value_id from = nv_operand(r, operand);
	if (!from)
		return false;
	rename_limits(r, ranges);
	nv_keep_first(r, call);
	for (ast_id range = ast_at(s->a, ranges)->first; range; range = ast_at(s->a, range)->next, axis++) {
		ast_id start = ast_child(s->a, range, 0), stop = ast_child(s->a, range, 1),
		       step = ast_child(s->a, range, 2);
		if (!nv_is(r, range, AST_TUPLE) || !step || axis >= value_domain(s->m, from)->rank)
			return nv_refuse(r, E_ATTRIBUTE_VALUE, range,
			                 "slice takes {start, stop, 1} for each axis");
		if (!nv_is_int(r, step, 1))
			return nv_refuse(r, E_ATTRIBUTE_VALUE, step, "a slice has the step 1");
		expr_id end = sema_expr(s, stop);
		if (!end)
			return false;
		end = expr_canon(s->m, end);
		if (nv_is_int(r, start, 0) && end == value_domain(s->m, from)->axis[axis].extent)
			continue;
		wrap_call(r, call, any, axis, "start", start, "stop", stop);
		any = true;
	}
	if (!any)
		nv_rename_call(r, call, "set");
	return true;
}
