/* domain: building the logical, loop and allocation domains of a tensor.
 *
 *     struct domain_builder b;
 *     domain_begin(&b);
 *     domain_add_axis(&b, AXIS_ITER, t);            logical axis 0
 *     domain_split(m, &b, 0, s, false);             loop: [s, ceilDiv(t, s)]
 *     domain_parallelize(&b, 0, PLACE_STREAM, 0);
 *     domain_allocate_default(m, &b, false);
 *     domain_id d = domain_finish(m, &b);
 *
 * Positions are positions of the loop domain at that moment. Functions that can fail return NULL
 * or the reason, a complete sentence for a diagnostic. */
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
/* Appends a logical axis (also to the loop domain); visible axes first. Before any transform.
 * Returns its number or -1 past a limit. */
int domain_add_axis(struct domain_builder *b, enum axis_kind kind, expr_id extent);
const char *domain_split(struct module *m, struct domain_builder *b, unsigned pos, expr_id factor,
                         bool inner);
const char *domain_merge(struct module *m, struct domain_builder *b, unsigned pos); /* pos and pos + 1 */
const char *domain_reorder(struct domain_builder *b, const uint8_t *perm,
                           unsigned n); /* new[k] = old[perm[k]] */
/* The axis must have the size of the mesh axis. out index = (in + own index) mod extent, see layout.h */
const char *domain_swizzle1d(struct module *m, struct domain_builder *b, unsigned pos,
                             const struct mesh *mesh, unsigned mesh_axis);
const char *domain_parallelize(struct module *m, struct domain_builder *b, unsigned pos,
                               enum axis_place place, const struct mesh *mesh, unsigned mesh_axis);
/* Stream and host-serial axes, then mesh axes in mesh order, to the front, the rest in order;
 * reduction axes that are not parallel come last. The sugar ends with it. */
void domain_parallel_to_front(struct domain_builder *b);

/* The loop domain in its order, or, unstreamed, with each stream split whose inner half is a loop
 * axis undone (the logical axis stands where the inner half stood). All contiguous. */
void domain_allocate_default(struct domain_builder *b, bool unstreamed);
/* Permutes the default allocation: alloc[k] = default[perm[k]]. */
const char *domain_allocate(struct domain_builder *b, bool unstreamed, const uint8_t *perm, unsigned n);
/* Finds the default that an allocation is, and its permutation; false: it is neither default. */
bool domain_allocation_order(const struct domain *d, bool *unstreamed, uint8_t *perm);

/* The transform that an axis goes into; NULL for loop axes. */
const struct xform *domain_consumer(const struct domain *d, unsigned axis);

domain_id domain_finish(struct module *m, struct domain_builder *b);
type_id type_make(struct module *m, enum dtype dtype, enum memory memory, mesh_id mesh, domain_id domain);
type_id type_with_domain(struct module *m, type_id t, domain_id d);

/* ---- the sugar of the concise surface: `n@dp@tp`, one list of placements for each visible axis */

enum sugar_kind { SUGAR_MESH, SUGAR_STREAM, SUGAR_SERIAL, SUGAR_SWIZZLE, SUGAR_BLOCK };
struct sugar_place {       /* compared by its bytes: no padding */
	uint8_t kind;      /* enum sugar_kind */
	uint8_t mesh_axis; /* MESH, SWIZZLE; BLOCK by the size of a mesh axis */
	uint8_t by_axis;   /* BLOCK: the factor is the size of mesh_axis */
	uint8_t unused;
	expr_id factor; /* STREAM, SERIAL, BLOCK; constant */
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
	unsigned rank;   /* visible axes */
	unsigned axis_n; /* visible, partial, reduce, in that order */
	struct sugar_axis axis[IR_MAX_LOGICAL];
};
/* Expands into transforms, left to right, then parallel axes to the front, then the default
 * allocation. NULL, or the reason, with *offending the axis at fault. */
const char *sugar_expand(struct module *m, const struct sugar *s, mesh_id mesh, bool unstreamed,
                         domain_id *out, unsigned *offending);
/* The sugar that expands into this domain's transforms and loop order (allocation aside), or false. */
bool sugar_from_domain(struct module *m, domain_id d, mesh_id mesh, struct sugar *out);
/* Placements that cut a tensor into the same slices, in the same order, as the loop of a domain with inner
 * splits or merges; false where none do. */
bool sugar_equivalent(struct module *m, domain_id d, mesh_id mesh, struct sugar *out);
/* As far as it can be read off: for domains that are no sugar, extents only. */
void sugar_extents(const struct module *m, domain_id d, struct sugar *out);

#endif
