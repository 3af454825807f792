/* plan_pairs: finds the ranks with which a rank exchanges messages.
 *
 * A dry run follows loops and branches as the executor does, and submits nothing. */
#ifndef HIRC_PLAN_PLAN_PAIRS_H
#define HIRC_PLAN_PLAN_PAIRS_H
#include "base/vec.h"
#include "plan/plan.h"

struct plan_pair {
	int sender, receiver; /* ranks */
	uint32_t channel;
};
typedef VEC(struct plan_pair) plan_pairs;

/* Lists each pair once, in the order of the rank's messages. Peers that are no ranks are left out. */
void plan_pairs_find(const struct plan *p, plan_pairs *out);

#endif
