/* decompose_overlap: copies operands that a statement overwrites while it still reads them.
 *
 *     V <- permute(V, (1, 0))
 *  →
 *     T = set(V)
 *     V <- permute(T, (1, 0))
 *
 * By definition, a statement reads all of its operands before it writes. Kernels, and loops over blocks,
 * do not keep to that. Only a pointwise operation is safe: before it writes an element, it has read that
 * element and needs it no more. Collectives have their own rules. Two views of one buffer are assumed
 * not to overlap. */
#include "ir/bound.h"
#include "pass/decompose.h"
#include "pass/rewrite.h"

/* Returns true if `inner` is `outer` or a view of it. */
static bool is_view_of(const struct module *m, value_id inner, value_id outer)
{
	while (inner != outer) {
		op_id def = m->value.at[inner].def;
		if (!def || !(op_traits(m, def) & TRAIT_VIEW))
			return false;
		inner = op_read(m, def, 0);
	}
	return true;
}

static bool is_overwritten(const struct module *m, op_id op, value_id v)
{
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_WRITE); k++) {
		value_id w = op_write(m, op, k);
		if (w == v && op_traits(m, op) & TRAIT_POINTWISE)
			continue;
		if (is_view_of(m, v, w) || is_view_of(m, w, v))
			return true;
	}
	return false;
}

/* Returns the type of a copy beside a statement. If v is made in a loop that cuts its type, the copy is
 * one block of it; copies of other values have no loops. */
type_id decompose_type_beside(struct module *m, op_id op, value_id v)
{
	bool block = bound_beside(m, m->value.at[v].type, op) && !bound_of(m, v);
	type_id unlooped = block ? place_unlooped(m, m->value.at[v].type) : 0;
	struct type t = m->type.at[unlooped ? unlooped : m->value.at[v].type];
	return type_make(m, t.dtype, MEMORY_GLOBAL, t.mesh, t.domain);
}

void decompose_overlap(struct module *m, op_id op)
{
	const unsigned other =
	    TRAIT_RESHARD | TRAIT_COLLECTIVE | TRAIT_P2P | TRAIT_MEMORY | TRAIT_VIEW | TRAIT_OPAQUE;
	if (op_traits(m, op) & other || m->op.at[op].flags & OP_ASYNC)
		return;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		if (!is_overwritten(m, op, v))
			continue;
		rewrite_reads(m, op, v, rewrite_set_before(m, op, v, decompose_type_beside(m, op, v)));
	}
}
