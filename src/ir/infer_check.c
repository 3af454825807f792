/* infer_check: checks types that the program states against those that operations give.
 *
 *     Y: f32[8, 4] = set(X)                   X: f32[32]: wrong, another shape
 *     Y <- allgather(X, axis=x) as c          Y: f32[8, 4], X: f32[32@x]: wrong, likewise
 *
 * The result of a collective has the shape of its operand; the layouts tell which elements it moves.
 * If no layout names the members, as for a group, the types may be those of the ranks' blocks:
 *
 *     Y: f32[16] = allgather(X, group=g)      X: f32[8], g of 2 */
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer_rule.h"
#include "ir/layout.h"
#include "ir/print.h"

struct shape {
	unsigned rank;
	expr_id extent[IR_MAX_LOGICAL];
};

static struct shape shape_of(const struct domain *d)
{
	struct shape s = {.rank = d->rank};
	for (unsigned i = 0; i < d->rank; i++)
		s.extent[i] = d->axis[i].extent;
	return s;
}

/* Returns true if two shapes are the same, as far as their extents are numbers. */
static bool same_shape(struct module *m, const struct shape *a, const struct shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (unsigned i = 0; i < a->rank; i++)
		if (rule_is_less(m, a->extent[i], b->extent[i]) ||
		    rule_is_less(m, b->extent[i], a->extent[i]))
			return false;
	return true;
}

/* Counts the elements of a shape. Returns false if the number is unknown or too large. */
static bool count_elements(const struct module *m, const struct shape *s, int64_t *out)
{
	int64_t n;
	*out = 1;
	for (unsigned i = 0; i < s->rank; i++)
		if (!rule_number(m, s->extent[i], &n) || __builtin_mul_overflow(*out, n, out))
			return false;
	return true;
}

/* Returns the number of members of the group that a collective names; 0 if it names none. */
static int64_t group_size(const struct module *m, const struct infer_draft *f)
{
	const struct attr *a = attrs_find(m, f->attrs, "group");
	for (group_id g = 1; a && a->kind == ATTR_NAME && g < m->group.n; g++)
		if (m->group.at[g].name == a->u.name)
			return m->group.at[g].size;
	return 0;
}

/* Returns true if shapes may be those of the ranks' blocks: n elements on one side, n for each member on
 * the other. */
static bool blocks_agree(struct module *m, enum op_kind kind, int64_t size, const struct shape *have,
                         const struct shape *want)
{
	int64_t to, from, all;
	bool gathers = kind == OP_ALLGATHER || kind == OP_GATHER,
	     scatters = kind == OP_REDUCE_SCATTER || kind == OP_SCATTER;
	if (!count_elements(m, have, &to) || !count_elements(m, want, &from) || to == from)
		return true;
	return (gathers && !__builtin_mul_overflow(from, size, &all) && to == all) ||
	       (scatters && !__builtin_mul_overflow(to, size, &all) && from == all);
}

/* Returns true if a type names members of a team: it is spread or pending over devices. */
static bool is_spread(const struct module *m, type_id t)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain];
	for (unsigned a = 0; a < d->logical_n; a++)
		if (layout_mesh_axes(m, t, a) || d->axis[a].kind == AXIS_PARTIAL)
			return true;
	return false;
}

/* Returns true if a collective may have a result whose shape differs from its operand's. */
static bool collective_agrees(struct module *m, const struct infer_draft *f, const struct shape *have,
                              const struct shape *want)
{
	int64_t size = group_size(m, f), to, from;
	if (!(op_info[f->kind].traits & TRAIT_COLLECTIVE))
		return false;
	if (f->kind == OP_COLLECTIVE_PERMUTE && attrs_find(m, f->attrs, "by_place"))
		return true;
	if (size)
		return blocks_agree(m, f->kind, size, have, want);
	return count_elements(m, have, &to) && count_elements(m, want, &from) && to != from && f->team &&
	       !is_spread(m, m->value.at[f->operand[0]].type) && !is_spread(m, f->stated) &&
	       blocks_agree(m, f->kind, m->team.at[f->team].device_n / m->team.at[f->team].slice_n, have,
	                    want);
}

/* Returns true if a result with the inferred dtype may be stated as `stated`. Sums of floats may have
 * any float dtype, and sums of integers the wide one. */
static bool may_have_dtype(enum op_kind kind, enum dtype inferred, enum dtype stated)
{
	enum op_kind sums[] = {OP_SUM, OP_PROD, OP_MEAN, OP_MATMUL, OP_LINEAR, OP_GROUPED_MATMUL};
	bool floats = dtype_is_float(inferred) && dtype_is_float(stated),
	     integers = dtype_is_integer(inferred) && stated == dtype_wide(inferred);
	for (unsigned k = 0; k < sizeof sums / sizeof *sums; k++)
		if (kind == sums[k] && (floats || (integers && op_info[kind].traits & TRAIT_REDUCTION)))
			return true;
	return stated == inferred;
}

bool infer_check(struct module *m, struct diag *d, const struct infer_draft *f)
{
	struct infer_result r = {0};
	if (!rule_result(m, d, f, &r))
		return false;
	const struct type t = m->type.at[f->stated]; /* a copy: tables grow below */
	const struct domain *s = &m->domain.at[t.domain];
	struct shape have = shape_of(s), want = {.rank = r.rank};
	for (unsigned i = 0; i < r.rank; i++)
		want.extent[i] = r.extent[i];
	if (may_have_dtype(f->kind, r.dtype, t.dtype) &&
	    (same_shape(m, &have, &want) || collective_agrees(m, f, &have, &want)))
		return true;
	struct buf stated = {0}, inferred = {0};
	ir_print_type(m, f->stated, &stated);
	type_id i = infer_type(m, d, f);
	if (i)
		ir_print_type(m, i, &inferred);
	diag_error(d, E_RESULT_TYPE_OTHER, f->at, "%s gives %s, not %s", op_info[f->kind].hir,
	           inferred.at ? inferred.at : "another type", stated.at);
	if (t.dtype != r.dtype)
		diag_note(d, DIAG_NOWHERE, "use cast to change the dtype");
	buf_free(&stated);
	buf_free(&inferred);
	return false;
}
