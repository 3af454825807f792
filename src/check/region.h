/* region: the part of a buffer that a view shows, exactly or as a larger part.
 *
 * A region is the set of elements of a buffer that meet all of its conditions; without one it is the whole
 * buffer. A condition bounds a coordinate of the element: its index along a logical axis of the buffer, or
 * along an axis of the loop domain of a view's type:
 *
 *     c = shard_by_stream(X, 2)     X: f32[12@stream(4), 8]     stream axis of the type in [2, 3)
 *                                                               axis 0 of X in [6, 9)
 *     a = select(A, axis=1, index=i)                            axis 1 of A in [i, i + 1)
 *
 * Coordinates determine the element and its place in memory. So two regions are disjoint if they bound one
 * coordinate to disjoint ranges, whatever their other conditions are. A condition that cannot be expressed is
 * left out. Regions are interned: equal ones have equal ids. */
#ifndef HIRC_CHECK_REGION_H
#define HIRC_CHECK_REGION_H
#include "base/hash.h"
#include "ir/ir.h"

typedef uint32_t region_part_id; /* 0: the whole buffer */

struct condition {
	domain_id domain; /* 0: axis is a logical axis of the buffer */
	uint32_t axis;
	int64_t lo, hi; /* lo <= coordinate < hi */
};

struct region_part {
	uint32_t first, n; /* of the conditions */
};

struct parts {
	VEC(struct condition) condition;
	VEC(struct region_part) part;
	struct hash_table ids; /* of parts */
};

void parts_init(struct parts *p);
void parts_free(struct parts *p);
/* Returns the region of the elements of r that meet one more condition. */
region_part_id parts_narrow(struct parts *p, region_part_id r, struct condition c);
/* Finds the range of a coordinate. Returns false when no condition bounds it. */
bool parts_range(const struct parts *p, region_part_id r, domain_id domain, uint32_t axis, int64_t *lo,
                 int64_t *hi);
/* Returns true if two regions of one buffer surely have no element in common. */
bool parts_disjoint(const struct parts *p, region_part_id a, region_part_id b);
bool parts_is_empty(const struct parts *p, region_part_id r);
/* Sets *domain to the domain whose axes the conditions of a region bound, if it is 0 and one is bound. Returns
 * false if they bound axes of another domain; logical axes do not count. */
bool parts_find_domain(const struct parts *p, region_part_id r, domain_id *domain);
/* Returns true if each of two regions bounds a coordinate of a view's type that the other one leaves open: they may
 * be disjoint, although parts_disjoint cannot tell. */
bool parts_are_unlike(const struct parts *p, region_part_id a, region_part_id b);
/* Returns true if a surely holds all of b. */
bool parts_cover(const struct parts *p, region_part_id a, region_part_id b);

#endif
