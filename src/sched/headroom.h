/* headroom: the memory of a schedule in the making, if the rest follows in the original order.
 *
 * That rest is always a way to the end. Each position of the original order that is to come has the bytes
 * that live there; a segment tree holds by how much that differs from the position before. To issue a node
 * early puts the storages that it makes on all positions before its own, and takes those that it was the last
 * to use from the positions behind the new last user. A schedule that never lets headroom_peak over a limit
 * keeps to the limit and can always be ended.
 *
 * O(log n) for each storage that a node makes or reads. */
#ifndef HIRC_SCHED_HEADROOM_H
#define HIRC_SCHED_HEADROOM_H
#include "base/vec.h"
#include "sched/problem.h"

struct headroom_step { /* state for headroom_undo */
	uint32_t node;
	uint32_t change_n, moved_n; /* entries of `change` and `moved` before it */
	int64_t now, peak;
};

struct headroom_change {
	uint32_t position;
	int64_t bytes; /* that were added to the difference there */
};

struct headroom_moved {
	uint32_t storage, last; /* last: before the step */
};

struct headroom_span { /* positions below a node of the tree */
	int64_t sum;   /* of their differences */
	int64_t most;  /* at a position to come, above the live bytes before the first */
};

struct headroom {
	const struct sched_problem *p;
	uint32_t leaves; /* a power of two */
	struct headroom_span *span;
	int64_t *made;  /* by node: bytes of its results */
	uint32_t *last; /* of a storage: its last user to come, as an index of users.item */
	bool *issued;
	int64_t now;  /* bytes live now, and so before the first position */
	int64_t peak; /* of the issued nodes */
	VEC(struct headroom_step) step;
	VEC(struct headroom_change) change;
	VEC(uint32_t) dirty; /* nodes of one level of the tree whose parents are to be looked at */
	VEC(struct headroom_moved) moved;
};

void headroom_open(struct headroom *h, const struct sched_problem *p);
void headroom_close(struct headroom *h);
/* All that the node needs has been issued. */
void headroom_issue(struct headroom *h, uint32_t node);
/* Takes back the node that was issued last. */
void headroom_undo(struct headroom *h);

/* Bytes live when the node is issued next. */
static inline int64_t headroom_now_with(const struct headroom *h, uint32_t node)
{
	return h->now + h->made[node];
}

/* The most bytes of the issued nodes and of those to come. */
static inline int64_t headroom_peak(const struct headroom *h)
{
	int64_t to_come = h->now + h->span[1].most;
	return to_come > h->peak ? to_come : h->peak;
}

#endif
