/* window: a schedule of which a stretch can be put in another order, and the effect of that.
 *
 * Only the stretch is looked at for memory. Behind it, time follows from comms and waits alone, the host's
 * work between them being the same. */
#ifndef HIRC_SCHED_WINDOW_H
#define HIRC_SCHED_WINDOW_H
#include "sched/problem.h"

struct window {
	const struct sched_problem *p;
	int64_t limit;           /* bytes */
	uint32_t *order, *place; /* of the schedule: by place, by node */
	int64_t runtime;         /* until the host and all lanes are done */
	uint32_t event_n;
	uint32_t *event;        /* places, ascending */
	uint32_t *event_before; /* by place: events before it; at [n] all */
	int64_t *stall;         /* by event: ns that it holds the host */
	/* after the change */
	uint32_t *draft; /* the nodes of the stretch in their new order */
	/* its own */
	int64_t *host;                /* by place: host time before it */
	int64_t *live;                /* by place: bytes before it */
	int64_t *now, *lane;          /* by event: the host comes to it; all lanes before it */
	int64_t *over, *over_drafted; /* by comm: when its lane is free again */
	uint32_t *last;               /* by storage: place of its last user */
	uint32_t *marked, *met;       /* by node, by storage: the last round that marked it */
	uint32_t marking, meeting;
};

/* order: a schedule of p within the limit; it is changed by window_accept. */
void window_open(struct window *w, const struct sched_problem *p, int64_t limit, uint32_t *order);
void window_close(struct window *w);
/* Looks at the whole order again, after it was set from outside. */
void window_reset(struct window *w);

/* Drafts places `to` … place of node, with the node and those of them it needs first. False: no change. */
bool window_pull(struct window *w, uint32_t node, uint32_t to);
/* Drafts places of node … `to`, with the node and those of them that need it last. */
bool window_push(struct window *w, uint32_t node, uint32_t to);
/* The runtime with places a … b - 1 as drafted; INT64_MAX where that is over a limit. */
int64_t window_runtime(struct window *w, uint32_t a, uint32_t b);
void window_accept(struct window *w, uint32_t a, uint32_t b);

#endif
