/* window: a schedule in which nodes of a stretch can be moved to its front or end, and the effect of that.
 *
 * Memory is checked in the stretch only, by the nodes that move. The times follow from these and from comms and
 * waits alone, since the host's work between them is the same. As soon as host and lanes are where they were before, the rest
 * of the times is the same, too. */
#ifndef HIRC_SCHED_WINDOW_H
#define HIRC_SCHED_WINDOW_H
#include "sched/problem.h"

enum { WINDOW_BLOCK = 64 };

struct window_comm {
	int64_t over, drafted; /* time when its lane is free again; drafted: in the draft */
	uint32_t waits;        /* number of its waits */
	uint32_t shifted;      /* the last round in which `over` was different */
	int64_t rest;          /* least ns from its begin to the end of the schedule */
	int64_t behind;        /* least ns from its end, by its waits; 0 unless `rest` is being found */
};

struct window {
	const struct sched_problem *p;
	int64_t limit;           /* bytes */
	uint32_t *order, *place; /* the schedule: by place, and by node */
	int64_t runtime;         /* end of the last node of the host and all lanes */
	uint32_t event_n;
	uint32_t *event;        /* places of comms and waits, ascending */
	uint32_t *event_before; /* by place: events before it; at [n] all events */
	int64_t *stall;         /* by event: ns for which it holds the host or its comm is slowed */
	int64_t *stalls;        /* sums over WINDOW_BLOCK events each */
	int64_t stalled;        /* sum over all events */
	/* The draft: */
	uint32_t *moved, moved_n; /* the places of the nodes that move, ascending */
	bool first;               /* they go first, else last */
	int64_t raised;           /* change of the live bytes, summed over places; set by window_runtime */
	/* Internal state: */
	int64_t *host;            /* by place: host time before it */
	int64_t *live;            /* by place: live bytes before it */
	int64_t *high;            /* the most live bytes at WINDOW_BLOCK places each */
	int64_t *made;            /* by node: bytes of its results */
	uint32_t *list[2];        /* room for places that move, and for the others */
	uint32_t *draft;          /* the nodes of the stretch in their new order */
	int64_t *change;          /* by place: more bytes that are live from it on; 0 between drafts */
	uint64_t *changed;        /* bits of the places with changes */
	int64_t *now, *lane;      /* by event: time when the host reaches it; times of all lanes before it */
	int64_t *rest;            /* by event: least ns from the time when the host reaches it to the end */
	struct window_comm *comm; /* by transfer */
	uint32_t shifting;        /* the present round, see struct window_comm */
	uint32_t *last;           /* by storage: place of its last user */
	uint32_t *marked, *met;   /* by node, by storage: the last round that marked it */
	uint32_t marking, meeting;
	/* The times if comms and work slow each other; else NULL. */
	struct window_contended *contended;
};

/* order: a schedule of p, which window_accept changes. Moves need one within the limit. */
void window_open(struct window *w, const struct sched_problem *p, int64_t limit, uint32_t *order);
void window_close(struct window *w);
/* Reads the problem and the order again, after the caller has changed them. The problem has no more numbers and
 * storages than before. */
void window_read(struct window *w);
/* Reads the order again, after the caller has changed it. */
void window_reset(struct window *w);

/* Returns true if the order is within the limit. */
bool window_fits(const struct window *w);

/* Drafts the places `to` … place of node, with the node and the nodes there that it needs moved first.
 * Returns false if nothing changes. */
bool window_pull(struct window *w, uint32_t node, uint32_t to);
/* Drafts the places from node's to `to`, with the node and the nodes there that need it moved last.
 * Returns false if nothing changes. */
bool window_push(struct window *w, uint32_t node, uint32_t to);
/* Returns the runtime with places a … b - 1 as drafted; INT64_MAX if memory does not admit them or the runtime
 * is above `most`. */
int64_t window_runtime(struct window *w, uint32_t a, uint32_t b, int64_t most);
/* Returns the nodes of places a … b - 1 as drafted. */
const uint32_t *window_draft(struct window *w, uint32_t a, uint32_t b);
/* Sets the stall of an event of the present order. */
void window_set_stall(struct window *w, uint32_t e, int64_t stall);
void window_accept(struct window *w, uint32_t a, uint32_t b);

#endif
