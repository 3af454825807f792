/* sema_alike: types of tensors that differ in their numbers alone.
 *
 *     T8_g_float[iS20{( ceilDiv(i0, 2) )}, iS21{16}] (DeviceMesh{0 1})      read
 *     T9_g_float[iS22{( ceilDiv(i0, 2) )}, iS23{16}] (DeviceMesh{0 1})      the same type, numbers 2 higher
 *
 * The parser gives such axes the same children (again.c). Tensors are left out whose type depends on other
 * lines: on a TransformPrinter block, the size= of an ALLOCATE, a HirAliasSelect or `attr`. */
#include "base/hash.h"
#include "parse/nvfuser.h"
#include <string.h>

static bool stands_alone(const struct nv_tensor *t)
{
	return !t->block && !t->size && !t->named && !t->attrs && t->reduce == REDUCE_SUM;
}

static bool is_io(const struct nv_tensor *t)
{
	return t->input || t->output;
}

static ast_id first_axis(const struct ast *a, ast_id tensor)
{
	return ast_at(a, ast_at(a, tensor)->first)->first;
}

static struct nv_alike *slot_of(struct nv_reader *r, const struct nv_tensor *t)
{
	const struct ast *a = r->s->a;
	uint64_t h = is_io(t);
	for (ast_id id = first_axis(a, t->node); id; id = ast_at(a, id)->next)
		h = hash_number(h, ast_at(a, id)->first);
	return &r->alike[h % NV_ALIKE];
}

/* Returns true if two axes differ in their numbers at most, and these by the distance. */
static bool same_axis(const struct ast *a, ast_id x, ast_id y, int64_t distance)
{
	const struct ast_node *m = ast_at(a, x), *n = ast_at(a, y);
	return m->first == n->first && m->name == n->name && n->value.i - m->value.i == distance;
}

static bool same_axes(const struct ast *a, ast_id x, ast_id y)
{
	ast_id i = first_axis(a, x), k = first_axis(a, y);
	int64_t distance = i && k ? ast_at(a, k)->value.i - ast_at(a, i)->value.i : 0;
	for (; i && k && same_axis(a, i, k, distance); i = ast_at(a, i)->next)
		k = ast_at(a, k)->next;
	return !i && !k;
}

/* Returns true if devices, memory and dtype are the same. */
static bool same_rest(const struct ast *a, ast_id x, ast_id y)
{
	const struct ast_node *m = ast_at(a, ast_child(a, x, 1)), *n = ast_at(a, ast_child(a, y, 1));
	return m->kind == n->kind && m->first == n->first &&
	       ast_at(a, ast_child(a, x, 2))->name == ast_at(a, ast_child(a, y, 2))->name &&
	       ast_at(a, ast_child(a, x, 3))->name == ast_at(a, ast_child(a, y, 3))->name;
}

bool nv_alike_find(struct nv_reader *r, struct nv_tensor *t)
{
	const struct ast *a = r->s->a;
	if (!stands_alone(t))
		return false;
	const struct nv_alike *x = slot_of(r, t);
	if (!x->node || x->io != is_io(t) || x->mesh != t->mesh || !same_axes(a, x->node, t->node) ||
	    !same_rest(a, x->node, t->node))
		return false;
	ast_id from = first_axis(a, x->node), to = first_axis(a, t->node);
	int64_t distance = from ? ast_at(a, to)->value.i - ast_at(a, from)->value.i : 0;
	uint32_t n = ir_domain(r->s->m, r->s->m->type.at[x->type].domain)->axis_n;
	t->type = x->type;
	for (uint32_t i = 0; i < n; i++) {
		int32_t number = r->number.at[x->number_at + i];
		vec_push(&r->number, number < 0 ? number : (int32_t)(number + distance));
	}
	return true;
}

void nv_alike_keep(struct nv_reader *r, const struct nv_tensor *t)
{
	/* a print without a dtype is a warning of each tensor */
	if (stands_alone(t) && ast_at(r->s->a, ast_child(r->s->a, t->node, 3))->kind == AST_NAME)
		*slot_of(r, t) = (struct nv_alike){.node = t->node,
		                                   .number_at = t->number_at,
		                                   .type = t->type,
		                                   .mesh = t->mesh,
		                                   .io = is_io(t)};
}
