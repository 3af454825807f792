/* sema_unit_extents: gives the scalars in the extents of a HostUnit their meaning.
 *
 *     PostOnStream (HostUnit0, Inputs:{T7_g_float[iS9{i3}, iS10{i5}], }, …)
 *     HostUnit0: Inputs={T0_g_float[iS0{i0}, iS1{i1}], } -> …       i0 is i3 in the unit, and i1 is i5
 *
 * nvFuser numbers the scalars of each fusion anew. The unit's lists and those of the PostOnStream tell which ones are the
 * same. The types of the unit's other tensors are read with its statements then. */
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

struct extent_pair { /* a scalar of the unit, and an extent of the container */
	name_id name;
	ast_id as;
};

typedef VEC(struct extent_pair) extent_pairs;

/* Adds the scalars of an extent of the unit, as far as the container's extent has its form. */
static void pair_extents(const struct ast *a, ast_id formal, ast_id actual, extent_pairs *pairs)
{
	const struct ast_node *x = ast_at(a, formal), *y = ast_at(a, actual);
	if (x->kind == AST_NAME) {
		for (uint32_t i = 0; i < pairs->n; i++)
			if (pairs->at[i].name == x->name)
				return;
		vec_push(pairs, (struct extent_pair){x->name, actual});
		return;
	}
	ast_id i = x->first, k = y->first;
	if (x->kind != y->kind || x->name != y->name)
		return;
	for (; i && k; i = ast_at(a, i)->next, k = ast_at(a, k)->next)
		pair_extents(a, i, k, pairs);
}

static bool is_reduction(const struct ast *a, ast_id id)
{
	return id && *ast_text(a, id) == 'r';
}

static ast_id first_axis(struct nv_reader *r, const struct nv_tensor *t)
{
	return t ? ast_at(r->s->a, ast_child(r->s->a, shape_tensor(r->s->a, t->node), 0))->first : 0;
}

/* Adds the scalars of a tensor's axes. The unit may not have the reductions of the posted tensor. */
static void pair_axes(struct nv_reader *r, ast_id i, ast_id k, extent_pairs *pairs)
{
	const struct ast *a = r->s->a;
	while (i && k) {
		if (is_reduction(a, k) && !is_reduction(a, i)) {
			k = ast_at(a, k)->next;
			continue;
		}
		for (ast_id x = ast_at(a, i)->first, y = ast_at(a, k)->first; x && y;
		     x = ast_at(a, x)->next, y = ast_at(a, y)->next)
			pair_extents(a, x, y, pairs);
		i = ast_at(a, i)->next;
		k = ast_at(a, k)->next;
	}
}

/* Lists the scalars that the unit's extents have where the posted tensors have others. */
static void list_pairs(struct nv_reader *r, ast_id call, const struct nv_unit *u, extent_pairs *pairs)
{
	static const char *const key[] = {"inputs", "outputs"};
	struct ast *a = r->s->a;
	for (unsigned side = 0; side < 2; side++) {
		ast_id list = nv_key(r, call, key[side]),
		       formal = ast_at(a, ast_child(a, u->node, side + 1))->first;
		for (ast_id actual = list ? ast_at(a, list)->first : 0; actual && formal;
		     actual = ast_at(a, actual)->next, formal = ast_at(a, formal)->next) {
			if (!nv_is(r, actual, AST_TENSOR) || !nv_is(r, formal, AST_TENSOR))
				continue;
			ast_id to = first_axis(r, nv_find_tensor(r, ast_at(a, actual)->name));
			r->in_unit = (uint32_t)(u - r->unit.at) + 1;
			ast_id from = first_axis(r, nv_find_tensor(r, ast_at(a, formal)->name));
			r->in_unit = 0;
			pair_axes(r, from, to, pairs);
		}
	}
}

static bool is_same(const struct ast *a, const struct extent_pair *p)
{
	return ast_at(a, p->as)->kind == AST_NAME && ast_at(a, p->as)->name == p->name;
}

void nv_find_other_extents(struct nv_reader *r)
{
	for (uint32_t i = 0; i < r->post.n && !r->has_facts; i++) {
		extent_pairs pairs = {0};
		struct nv_unit *u = nv_posted_unit(r, r->post.at[i]);
		if (u)
			list_pairs(r, r->post.at[i], u, &pairs);
		for (uint32_t k = 0; k < pairs.n; k++)
			u->other_extents |= !is_same(r->s->a, &pairs.at[k]);
		vec_free(&pairs);
	}
	for (uint32_t i = 0; i < r->unit.n; i++) {
		const struct nv_unit *u = &r->unit.at[i];
		for (uint32_t k = u->first; k < u->first + u->n; k++)
			r->tensor.at[k].later = u->other_extents && !r->tensor.at[k].formal;
	}
}

static bool is_scalar_input(const struct ast *a, const struct nv_unit *u, name_id name)
{
	ast_each (a, x, ast_child(a, u->node, 1))
		if (ast_at(a, x)->kind == AST_NAME && ast_at(a, x)->name == name)
			return true;
	return false;
}

/* Types that are kept for tensors alike have the scalars of one unit. */
static void forget_types(struct nv_reader *r)
{
	memset(r->alike, 0, sizeof r->alike);
	memset(r->repeat, 0, sizeof r->repeat);
}

void nv_list_extents(struct nv_reader *r, ast_id call, const struct nv_unit *u, struct nv_extents *out)
{
	extent_pairs pairs = {0};
	*out = (struct nv_extents){0};
	if (u->other_extents)
		list_pairs(r, call, u, &pairs);
	for (uint32_t i = 0; i < pairs.n; i++) {
		expr_id as =
		    is_scalar_input(r->s->a, u, pairs.at[i].name) ? 0 : sema_extent(r->s, pairs.at[i].as);
		if (as)
			vec_push(&out->of, (struct nv_extent){pairs.at[i].name, as});
	}
	vec_free(&pairs);
}

void nv_define_extents(struct nv_reader *r, const struct nv_unit *u, struct nv_extents *list)
{
	for (uint32_t i = 0; i < list->of.n; i++)
		sema_define_scalar(r->s, list->of.at[i].name, SCOPE_LET, list->of.at[i].as, DIAG_NOWHERE);
	vec_free(&list->of);
	if (!u->other_extents)
		return;
	forget_types(r);
	for (uint32_t k = u->first; k < u->first + u->n; k++)
		if (r->tensor.at[k].later)
			nv_type(r, &r->tensor.at[k]);
	forget_types(r);
}
