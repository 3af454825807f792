/* closure: finds the best closed set of things that have a gain or cost and demand other things.
 *
 * A set is closed if it contains everything that its members demand. The closed set with the largest sum
 * is found as a minimal cut (J.-C. Picard, Maximal closure of a graph, Management Science 22, 1976). */
#ifndef HIRC_SCHED_CLOSURE_H
#define HIRC_SCHED_CLOSURE_H
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

struct closure_demand {
	uint32_t from, to;
};

struct closure {
	uint32_t n;
	const int64_t *worth; /* by thing: its gain; negative: its cost */
	VEC(struct closure_demand) demand;
};

static inline void closure_demand(struct closure *c, uint32_t from, uint32_t to)
{
	vec_push(&c->demand, (struct closure_demand){from, to});
}

/* Returns the sum of the best closed set, at least 0. in: NULL, or receives the members. */
int64_t closure_most(const struct closure *c, bool *in);

#endif
