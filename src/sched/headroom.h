/* headroom: tracks the memory of a partial schedule whose rest follows in the original order.
 *
 * The rest in the original order is always a way to complete the schedule. Each position of the original
 * order that is still to come has a number of live bytes; a segment tree stores the difference between
 * neighbouring positions. Issuing a node early adds its results to all positions before its own. It
 * removes the storages that it was the last to use from the positions after the new last user. A
 * schedule in which headroom_fits is always true stays within the limit, and can always be completed.
 *
 * Takes O(log n) for each storage that a node makes or reads. The tree is brought up to date only when it is asked
 * for: an upper bound of the bytes to come is mostly enough. */
#ifndef HIRC_SCHED_HEADROOM_H
#define HIRC_SCHED_HEADROOM_H
#include "base/vec.h"
#include "sched/problem.h"

struct headroom_step { /* state for headroom_undo */
	uint32_t node;
	uint32_t change_n, moved_n; /* length of `change` and `moved` before the step */
	int64_t now, peak, to_come;
};

enum { HEADROOM_LEAF = 8 }; /* positions of a leaf: a smaller tree, about as quick */

struct headroom_change {
	uint32_t position;
	int64_t bytes; /* added to the difference at this position */
};

struct headroom_moved {
	uint32_t storage, last; /* last: the value before the step */
};

struct headroom_span { /* the positions below a node of the tree */
	int64_t sum;   /* sum of their differences */
	int64_t most;  /* the most live bytes at one of them, relative to the position before the first */
};

struct headroom {
	const struct sched_problem *p;
	int64_t *difference; /* by position: the bytes that are live, relative to the position before */
	uint32_t leaves;     /* number of leaves, a power of two; a leaf is HEADROOM_LEAF positions */
	struct headroom_span *span;
	uint32_t *last; /* by storage: its last user that is not issued, as an index of users.item */
	bool *issued;
	int64_t now;     /* bytes live now, before the first position to come */
	int64_t peak;    /* of the issued nodes */
	int64_t to_come; /* at least the most live bytes at a position to come */
	uint32_t first;  /* the first node that is not issued */
	VEC(struct headroom_step) step;
	VEC(struct headroom_change) change;
	VEC(uint32_t)
	dirty; /* leaves that need an update; in one, tree nodes of a level whose parents need it */
	VEC(struct headroom_moved) moved;
};

void headroom_open(struct headroom *h, const struct sched_problem *p, struct arena *a);
/* Opens h as a copy of `from`, of which nothing is issued. */
void headroom_copy(struct headroom *h, const struct headroom *from, struct arena *a);
void headroom_close(struct headroom *h);
/* Issues a node. Everything that it needs must have been issued. */
void headroom_issue(struct headroom *h, uint32_t node);
/* Takes back the node that was issued last. */
void headroom_undo(struct headroom *h);
/* Forgets the steps so far, which then cannot be taken back. */
void headroom_keep(struct headroom *h);

/* Returns the bytes that are live if the node is issued next. */
static inline int64_t headroom_now_with(const struct headroom *h, uint32_t node)
{
	return h->now + sched_made(h->p, node);
}

/* Returns true if neither the issued nodes nor those to come need more bytes. */
bool headroom_fits(struct headroom *h, int64_t limit);

#endif
