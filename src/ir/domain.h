/* domain: builds the logical, loop and allocation domains of a tensor.
 *
 *     struct domain_builder b;
 *     domain_begin(&b);
 *     domain_add_axis(&b, AXIS_ITER, t);            logical axis 0
 *     domain_split(m, &b, 0, s, false);             loop: [s, ceilDiv(t, s)]
 *     domain_parallelize(&b, 0, PLACE_STREAM, 0);
 *     domain_allocate_default(m, &b, false);
 *     domain_id d = domain_finish(m, &b);
 *
 * Positions are positions in the current loop domain. A function that can fail returns NULL on success,
 * or the reason as a complete sentence for a diagnostic. */
#ifndef HIRC_IR_DOMAIN_H
#define HIRC_IR_DOMAIN_H
#include "ir/ir.h"

struct domain_builder {
	uint8_t axis_n, xform_n, logical_n, rank, loop_n, alloc_n;
	struct axis axis[IR_MAX_AXES];
	struct xform xform[IR_MAX_AXES];
	uint8_t loop[IR_MAX_AXES], alloc[IR_MAX_AXES], contiguous[IR_MAX_AXES];
};

void domain_begin(struct domain_builder *b);
/* Starts from an existing domain. */
void domain_edit(struct domain_builder *b, const struct domain *d);
/* Appends a logical axis, also to the loop domain. Visible axes come first. Call it before any
 * transform. Returns the axis number, or -1 past a limit. */
int domain_add_axis(struct domain_builder *b, enum axis_kind kind, expr_id extent);
const char *domain_split(struct module *m, struct domain_builder *b, unsigned pos, expr_id factor,
                         bool inner);
const char *domain_merge(struct module *m, struct domain_builder *b,
                         unsigned pos); /* merges the axes at pos and pos + 1 */
const char *domain_reorder(struct domain_builder *b, const uint8_t *perm,
                           unsigned n); /* new[k] = old[perm[k]] */
/* Rotates blocks: out index = (in + own mesh index) mod extent, see layout.h. The axis must have the
 * size of the mesh axis. */
const char *domain_swizzle1d(struct module *m, struct domain_builder *b, unsigned pos,
                             const struct mesh *mesh, unsigned mesh_axis);
const char *domain_parallelize(struct module *m, struct domain_builder *b, unsigned pos,
                               enum axis_place place, const struct mesh *mesh, unsigned mesh_axis);
/* Moves stream and host-serial axes, then mesh axes in mesh order, to the front, and reduction axes that
 * are not parallel to the end. Other axes keep their order. Every sugar ends with this step. */
void domain_parallel_to_front(struct domain_builder *b);

/* Sets the allocation domain to the loop domain, contiguous. unstreamed: undoes each stream split whose
 * inner half is a loop axis; the logical axis takes the place of the inner half. */
void domain_allocate_default(struct domain_builder *b, bool unstreamed);
/* Permutes the default allocation: alloc[k] = default[perm[k]]. */
const char *domain_allocate(struct domain_builder *b, bool unstreamed, const uint8_t *perm, unsigned n);
/* Returns true if an axis of the loop domain lies over devices. */
bool domain_is_spread(const struct domain *d);
/* Finds the default that an allocation permutes, and the permutation. Returns false if it permutes
 * neither default. */
bool domain_allocation_order(const struct domain *d, bool *unstreamed, uint8_t *perm);

/* Returns the transform that consumes an axis; NULL for loop axes. */
const struct xform *domain_consumer(const struct domain *d, unsigned axis);

domain_id domain_finish(struct module *m, struct domain_builder *b);
type_id type_make(struct module *m, enum dtype dtype, enum memory memory, mesh_id mesh, domain_id domain);
/* Returns the type with another dtype. */
type_id type_with_dtype(struct module *m, type_id t, enum dtype dtype);
type_id type_with_domain(struct module *m, type_id t, domain_id d);

/* ---- the sugar of the concise surface: `n@dp@tp`, one list of placements for each visible axis */

enum sugar_kind { SUGAR_MESH, SUGAR_STREAM, SUGAR_SERIAL, SUGAR_SWIZZLE, SUGAR_BLOCK };
struct sugar_place {       /* hashed and compared by its bytes: no padding */
	uint8_t kind;      /* enum sugar_kind */
	uint8_t mesh_axis; /* MESH, SWIZZLE; BLOCK if by_axis */
	uint8_t by_axis;   /* BLOCK: the factor is the size of mesh_axis */
	uint8_t unused;
	expr_id factor; /* STREAM, SERIAL, BLOCK; a constant */
};
enum { SUGAR_MAX_PLACES = 8 };
struct sugar_axis {
	expr_id extent;
	uint8_t kind; /* enum axis_kind */
	uint8_t reduce, rf;
	uint8_t place_n;
	struct sugar_place place[SUGAR_MAX_PLACES];
};
struct sugar {
	unsigned rank;   /* number of visible axes */
	unsigned axis_n; /* order: visible, partial, reduce */
	struct sugar_axis axis[IR_MAX_LOGICAL];
};
/* Applies the placements from left to right as transforms, then moves parallel axes to the front, then
 * makes the default allocation. Returns NULL, or the reason with *offending set to the faulty axis. */
const char *sugar_expand(struct module *m, const struct sugar *s, mesh_id mesh, bool unstreamed,
                         domain_id *out, unsigned *offending);
/* Finds the sugar that expands to a domain's transforms and loop order; allocation is ignored. Returns
 * false if there is none. */
bool sugar_from_domain(struct module *m, domain_id d, mesh_id mesh, struct sugar *out);
/* Finds the domain that has the transforms and loop order of placements, and the same memory on each
 * rank. Returns false if there is none, if the domain is that one, or if it has loops. */
bool sugar_in_order(struct module *m, domain_id d, mesh_id mesh, domain_id *out);
/* Finds placements that cut a tensor into the same slices, in the same order, as a domain with inner
 * splits or merges. Returns false if there are none. */
bool sugar_equivalent(struct module *m, domain_id d, mesh_id mesh, struct sugar *out);
/* Finds the sugar, or only the extents if the domain has no sugar. */
void sugar_extents(const struct module *m, domain_id d, struct sugar *out);
/* Removes the hidden axes of a kind (AXIS_PARTIAL, AXIS_REDUCE). */
void sugar_drop(struct sugar *s, enum axis_kind kind);

#endif
