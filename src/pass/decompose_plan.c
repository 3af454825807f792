/* decompose_plan: chooses the layout in which an operation computes.
 *
 *     1. Operands that are pending sums remain so if the operation is linear in them.
 *     2. A summed dim that has the same placements in all operands remains spread: the result is
 *        left pending. This makes a row-parallel linear one reduction.
 *     3. Dims of the result are spread as in the result, or, for operations of one operand and
 *        pointwise ones whose operands agree, as in the operands (a cut comes before, a gather
 *        after). Mesh axes that are already used are left out.
 *     4. A summed dim that is spread in some operands only remains spread if the others
 *        can be cut without communication.
 *     5. Everything else is whole.
 *
 * Loop placements are those of the result, so that communication is in the result's loop. */
#include "ir/bound.h"
#include "pass/decompose.h"
#include <string.h>

struct chooser {
	struct module *m;
	const struct op_layout *l;
	struct decompose_plan *p;
	unsigned used;   /* mesh axes already used */
	bool has_blocks; /* an operand has all blocks of a loop of which a value made here would have one */
};

/* Returns the mesh axes over which an operand is spread or pending. */
static unsigned operand_axes(const struct op_layout *l, unsigned k)
{
	return place_used(&l->o[k]) | place_partial(&l->o[k]);
}

static void keep_partials(struct chooser *c)
{
	const struct op_layout *l = c->l;
	unsigned kind = c->m->op.at[l->op].kind;
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		unsigned partial = place_partial(&l->o[k]);
		bool keep = partial && infer_keeps_partial(c->m, l->op, k);
		bool alike = kind == OP_ADD || kind == OP_SUB,
		     rounds = alike || kind == OP_MUL || kind == OP_DIV;
		if (rounds &&
		    !place_partial(&l->r)) /* each part is rounded, so the program must ask for it */
			keep = false;
		for (unsigned q = 0; q < l->x.operand_n && keep; q++) {
			if (q == k)
				continue;
			if (alike)
				keep = place_partial(&l->o[q]) == partial &&
				       place_partial_op(&l->o[q]) == place_partial_op(&l->o[k]);
			if (place_used(&l->o[q]) & partial || (!alike && place_partial(&l->o[q]) & partial))
				keep = false;
		}
		if (!keep)
			continue;
		c->p->kept[k] = partial;
		c->p->partial |= partial;
		c->p->reduce = place_partial_op(&l->o[k]);
		c->used |= partial;
	}
}

/* Finds the operator that is pending after a spread dim is reduced. Returns false if another one is
 * pending already. */
static bool pending_op(const struct chooser *c, enum reduce_op *out)
{
	*out = reduce_op_of((enum op_kind)c->m->op.at[c->l->op].kind);
	return !c->p->partial || c->p->reduce == *out;
}

/* Returns true if a footprint has only mesh axes, and none of them is used. */
static bool is_free(const struct chooser *c, const struct sugar_axis *a)
{
	unsigned n = place_footprint(a);
	for (unsigned i = 0; i < n; i++)
		if (a->place[i].kind != SUGAR_MESH || c->used >> a->place[i].mesh_axis & 1)
			return false;
	return n != 0;
}

static void spread_reduced(struct chooser *c, unsigned dim, const struct sugar_axis *a)
{
	struct sugar_axis spread = *a;
	enum reduce_op op;
	spread.place_n = (uint8_t)place_footprint(a);
	if (!pending_op(c, &op))
		return;
	place_copy(&c->p->dim[dim], &spread);
	c->p->reduce = op;
	c->p->partial |= place_mesh_axes(&spread);
	c->used |= place_mesh_axes(&spread);
}

/* Step 2: the dim has the same placements in all operands. */
static void reduced_alike(struct chooser *c, unsigned dim)
{
	const struct sugar_axis *first = NULL;
	for (unsigned k = 0; k < c->l->x.operand_n; k++) {
		int a = op_layout_axis(c->l, k, dim);
		if (a < 0)
			continue;
		if (value_type(c->m, c->l->operand[k])->mesh != c->p->mesh ||
		    !is_free(c, &c->l->o[k].axis[a]))
			return;
		if (first && !place_same_footprint(first, &c->l->o[k].axis[a]))
			return;
		first = first ? first : &c->l->o[k].axis[a];
	}
	if (first)
		spread_reduced(c, dim, first);
}

/* Step 4: the dim is spread in one operand, and the others are whole and can be cut. */
static void reduced_cut(struct chooser *c, unsigned dim)
{
	const struct sugar_axis *first = NULL;
	for (unsigned k = 0; k < c->l->x.operand_n && !first; k++) {
		int a = op_layout_axis(c->l, k, dim);
		if (a >= 0 && is_free(c, &c->l->o[k].axis[a]))
			first = &c->l->o[k].axis[a];
	}
	if (!first || c->p->dim[dim].place_n)
		return;
	for (unsigned k = 0; k < c->l->x.operand_n; k++) {
		int a = op_layout_axis(c->l, k, dim);
		if (value_type(c->m, c->l->operand[k])->mesh != c->p->mesh)
			return;
		if (a < 0 || place_same_footprint(first, &c->l->o[k].axis[a]))
			continue;
		if (place_footprint(&c->l->o[k].axis[a]) || operand_axes(c->l, k) & place_mesh_axes(first))
			return;
	}
	spread_reduced(c, dim, first);
}

/* Returns true if all operands have the same layout on the dims that they share, and no operand has a
 * sum that must end first. */
static bool operands_agree(const struct chooser *c)
{
	const struct op_layout *l = c->l;
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		if (place_partial(&l->o[k]) != c->p->kept[k] ||
		    value_type(c->m, l->operand[k])->mesh != value_type(c->m, l->operand[0])->mesh)
			return false;
		for (unsigned a = 0; a < l->o[k].rank; a++)
			for (unsigned q = 0; q < k; q++) {
				int b = l->x.operand[k][a] == INFER_NONE
				            ? -1
				            : op_layout_axis(l, q, l->x.operand[k][a]);
				if (b >= 0 && !op_layout_same(c->m, l, (int)k, a, (int)q, (unsigned)b))
					return false;
			}
	}
	return l->x.operand_n &&
	       (l->x.operand_n == 1 || op_info[c->m->op.at[l->op].kind].traits & TRAIT_POINTWISE);
}

static const struct sugar_axis *operand_axis_of_dim(const struct op_layout *l, unsigned dim)
{
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		int a = op_layout_axis(l, k, dim);
		if (a >= 0)
			return &l->o[k].axis[a];
	}
	return NULL;
}

/* Takes the placements of `from` up to the first mesh axis that is already used. */
static void take_placements(struct chooser *c, unsigned dim, const struct sugar_axis *from)
{
	struct sugar_axis *to = &c->p->dim[dim];
	unsigned n = 0;
	place_copy(to, from);
	while (n < from->place_n &&
	       !(from->place[n].kind == SUGAR_MESH && c->used >> from->place[n].mesh_axis & 1))
		n++;
	to->place_n = (uint8_t)n;
	c->used |= place_mesh_axes(to);
}

/* Step 3 for one dim. follow: takes the placements of the operands. */
static void parallel(struct chooser *c, unsigned dim, bool follow, unsigned operand_used)
{
	int r = op_layout_result_axis(c->l, dim);
	const struct sugar_axis *result = r >= 0 ? &c->l->r.axis[r] : NULL,
	                        *operand = follow ? operand_axis_of_dim(c->l, dim) : NULL;
	bool elsewhere = c->p->mesh != value_type(c->m, c->l->result)->mesh;
	if (!result || (elsewhere && !operand)) /* the result is on another mesh */
		return;
	if (!operand || place_same_footprint(operand, result)) {
		take_placements(c, dim, result);
	} else if (place_footprint(operand)) {
		struct sugar_axis spread = *operand;
		spread.place_n = (uint8_t)place_footprint(operand);
		while (c->has_blocks && place_has_loop(&spread))
			spread.place_n--;
		take_placements(c, dim, &spread);
	} else if (!(place_mesh_axes(result) & (operand_used | c->used))) {
		take_placements(c, dim, result); /* the operand is cut before */
	}
}

/* Keeps the loop of a single dim: one whose loop is above a mesh axis, or any. The others lose theirs. */
static void one_loop(struct decompose_plan *p, unsigned dims)
{
	unsigned keep = dims;
	for (unsigned d = 0; d < dims; d++) {
		struct sugar_axis above = p->dim[d];
		above.place_n = (uint8_t)place_footprint(&above);
		if (place_has_loop(&above))
			keep = d;
	}
	for (unsigned d = 0; d < dims && keep < dims; d++)
		if (d != keep)
			p->dim[d].place_n = (uint8_t)place_footprint(&p->dim[d]);
}

static bool has_blocks(const struct module *m, const struct op_layout *l)
{
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		value_id v = l->operand[k];
		if (bound_beside(m, m->value.at[v].type, l->op) & ~bound_of(m, v))
			return true;
	}
	return false;
}

const char *decompose_choose(struct module *m, const struct op_layout *l, struct decompose_plan *p)
{
	struct chooser c = {.m = m, .l = l, .p = p, .has_blocks = has_blocks(m, l)};
	memset(p, 0, sizeof *p);
	p->mesh = value_type(m, l->result)->mesh;
	keep_partials(&c);
	bool follow = operands_agree(&c);
	if (follow && value_type(m, l->operand[0])->mesh)
		p->mesh = value_type(m, l->operand[0])->mesh;
	for (unsigned d = 0; d < l->x.dim_n; d++)
		if (l->x.kind[d] == DIM_REDUCED)
			reduced_alike(&c, d);
	unsigned operand_used = 0;
	for (unsigned k = 0; k < l->x.operand_n; k++)
		operand_used |= operand_axes(l, k);
	if (p->mesh != value_type(m, l->result)->mesh)
		operand_used = ~0u; /* on another mesh: ignore the layout of the result */
	for (unsigned d = 0; d < l->x.dim_n; d++)
		if (l->x.kind[d] == DIM_PARALLEL)
			parallel(&c, d, follow, operand_used);
	for (unsigned d = 0; d < l->x.dim_n; d++)
		if (l->x.kind[d] == DIM_REDUCED)
			reduced_cut(&c, d);
	one_loop(p, l->x.dim_n);
	if (place_partial(&l->r) & ~p->partial)
		return "the result is stated partial, but no sum is left pending";
	if (place_partial(&l->r) && place_partial_op(&l->r) != p->reduce)
		return "the result is stated partial with another reduction than the one that is pending";
	return NULL;
}
