/* headroom: the memory of a schedule in the making, if the rest follows in the original order.
 *
 * That rest is always a way to the end. Each position of the original order that is to come has the bytes
 * that live there, in a segment tree. To issue a node early puts what it makes on all positions before its
 * own, and takes what it was the last to use from the positions behind the user that is now the last. A
 * schedule that never lets headroom_peak over a limit keeps to the limit and can always be ended.
 *
 * O(log n) for each storage that a node makes or reads. */
#ifndef HIRC_SCHED_HEADROOM_H
#define HIRC_SCHED_HEADROOM_H
#include "base/vec.h"
#include "sched/problem.h"

struct headroom_step { /* what headroom_undo needs */
	uint32_t node;
	uint32_t moved_n; /* entries of `moved` before it */
	int64_t now, peak;
};

struct headroom_moved {
	uint32_t storage, last; /* last: before the step */
};

struct headroom {
	const struct sched_problem *p;
	uint32_t leaves; /* a power of two */
	int64_t *most;   /* of the positions below a node of the tree, what stands above it left out */
	int64_t *all;    /* added to all of them, in `most` already */
	uint32_t *last;  /* of a storage: its last user to come, as an index of users.item */
	bool *issued;
	int64_t now;  /* bytes live now */
	int64_t peak; /* of what was issued */
	VEC(struct headroom_step) step;
	VEC(struct headroom_moved) moved;
};

void headroom_open(struct headroom *h, const struct sched_problem *p);
void headroom_close(struct headroom *h);
/* All that the node needs has been issued. */
void headroom_issue(struct headroom *h, uint32_t node);
/* Takes back the node that was issued last. */
void headroom_undo(struct headroom *h);

/* The most bytes of what was issued and of what is to come. */
static inline int64_t headroom_peak(const struct headroom *h)
{
	return h->most[1] > h->peak ? h->most[1] : h->peak;
}

#endif
