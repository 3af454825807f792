/* closure: of things that each bring or cost something and demand others, the set that brings most.
 *
 * A set that has all that its members demand is closed. The one of the largest sum is found as a minimal cut
 * (J.-C. Picard, Maximal closure of a graph, Management Science 22, 1976). */
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
	const int64_t *worth; /* by thing; negative: its cost */
	VEC(struct closure_demand) demand;
};

static inline void closure_demand(struct closure *c, uint32_t from, uint32_t to)
{
	vec_push(&c->demand, (struct closure_demand){from, to});
}

/* The sum of the best closed set, at least 0. in: NULL, or receives its members. */
int64_t closure_most(const struct closure *c, bool *in);

#endif
