/* sema_alike: types of tensors that differ only in their numbers.
 *
 *     T8_g_float[iS20{( ceilDiv(i0, 2) )}, iS21{16}] (DeviceMesh{0 1})      read
 *     T9_g_float[iS22{( ceilDiv(i0, 2) )}, iS23{16}] (DeviceMesh{0 1})      the same type, numbers 2 higher
 *
 * The parser gives these axes the same children (again.c), and these statements the same shape. A tensor is
 * left out if its type depends on other lines: a TransformPrinter block, the size= of an ALLOCATE, devices, a
 * HirAliasSelect or `attr`. */
#include "base/hash.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

static bool stands_alone(const struct nv_tensor *t)
{
	return !t->block && !t->size && !t->devices && !t->named && !t->attrs && t->reduce == REDUCE_SUM;
}

static ast_id first_axis(const struct ast *a, ast_id tensor)
{
	return ast_at(a, ast_at(a, tensor)->first)->first;
}

static struct nv_alike *slot_of(struct nv_reader *r, const struct nv_tensor *t)
{
	const struct ast *a = r->s->a;
	uint64_t h = nv_is_whole(t);
	for (ast_id id = first_axis(a, t->node); id; id = ast_at(a, id)->next)
		h = hash_number(h, ast_at(a, id)->first);
	return &r->alike[h % NV_ALIKE];
}

/* Returns true if two axes differ only in their numbers, by the given distance. */
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

/* Gives the tensor a type, and axis_n axis numbers: those at number_at plus the distance. */
static void take_type(struct nv_reader *r, struct nv_tensor *t, type_id type, uint32_t number_at,
                      int64_t distance)
{
	uint32_t n = ir_domain(r->s->m, r->s->m->type.at[type].domain)->axis_n;
	t->type = type;
	for (uint32_t i = 0; i < n; i++) {
		int32_t number = r->number.at[number_at + i];
		vec_push(&r->number, number < 0 ? number : (int32_t)(number + distance));
	}
}

bool nv_alike_find(struct nv_reader *r, struct nv_tensor *t)
{
	const struct ast *a = r->s->a;
	if (!stands_alone(t))
		return false;
	const struct nv_alike *x = slot_of(r, t);
	if (!x->node || x->io != nv_is_whole(t) || x->mesh != t->mesh || !same_axes(a, x->node, t->node) ||
	    !same_rest(a, x->node, t->node))
		return false;
	ast_id from = first_axis(a, x->node), to = first_axis(a, t->node);
	int64_t distance = from ? ast_at(a, to)->value.i - ast_at(a, from)->value.i : 0;
	take_type(r, t, x->type, x->number_at, distance);
	return true;
}

/* Returns true if tensors with the same print have the type of this one. */
static bool is_model(struct nv_reader *r, const struct nv_tensor *t)
{
	/* a print without a dtype gives a warning for each tensor */
	return stands_alone(t) && ast_at(r->s->a, ast_child(r->s->a, t->node, 3))->kind == AST_NAME;
}

void nv_alike_keep(struct nv_reader *r, const struct nv_tensor *t)
{
	if (is_model(r, t))
		*slot_of(r, t) = (struct nv_alike){.node = t->node,
		                                   .number_at = t->number_at,
		                                   .type = t->type,
		                                   .mesh = t->mesh,
		                                   .io = nv_is_whole(t)};
}

static struct nv_repeat *repeat_slot(struct nv_reader *r, int64_t statement)
{
	return &r->repeat[(statement >> 32) % NV_ALIKE];
}

bool nv_alike_find_repeat(struct nv_reader *r, struct nv_tensor *t, int64_t statement)
{
	const struct nv_repeat *x = repeat_slot(r, statement);
	int64_t distance;
	if (!x->statement || !stands_alone(t) || x->io != nv_is_whole(t) || x->mesh != t->mesh ||
	    !shape_same_axes(r->s->a, x->statement, statement, &distance))
		return false;
	take_type(r, t, x->type, x->number_at, distance);
	return true;
}

void nv_alike_keep_repeat(struct nv_reader *r, const struct nv_tensor *t, int64_t statement)
{
	if (is_model(r, t))
		*repeat_slot(r, statement) = (struct nv_repeat){.statement = statement,
		                                                .number_at = t->number_at,
		                                                .type = t->type,
		                                                .mesh = t->mesh,
		                                                .io = nv_is_whole(t)};
}
