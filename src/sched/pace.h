/* pace: how far comms run ahead of the host.
 *
 * In flight are the results of comms that were issued and not waited for. A source runs ahead by the host's
 * time between its issue and its first wait, less what it takes itself: so long before its use it is there if
 * no lane and no wait holds anything. Both have a limit, on every moment of a schedule. */
#ifndef HIRC_SCHED_PACE_H
#define HIRC_SCHED_PACE_H
#include "sched/problem.h"

struct sched_pace {
	int64_t in_flight; /* bytes; 0: any */
	int64_t prefetch;  /* ns; 0: any */
};

static inline bool sched_pace_limits(const struct sched_pace *pace)
{
	return pace->in_flight || pace->prefetch;
}

/* The most of a schedule, of both. role: of sched_roles. */
struct sched_pace sched_pace_of(const struct sched_problem *p, const uint8_t *role, const uint32_t *order);

/* Moves first waits of a schedule, with what they need, to before comms with which more than in_flight would
 * be in flight, those of comms issued earlier first, as far as they need no other comms. Memory is not looked
 * at. */
void sched_pace_land(const struct sched_problem *p, int64_t in_flight, uint32_t *order);

/* Moves sources of a schedule that run further ahead than prefetch to where they no longer do. Memory is not
 * looked at. */
void sched_pace_hold(const struct sched_problem *p, const uint8_t *role, int64_t prefetch, uint32_t *order);

/* ---- of a stretch of a schedule that is put in another order */

struct pace {
	const struct sched_problem *p;
	struct sched_pace limit;
	bool *source;      /* by node */
	uint32_t *landing; /* by comm: the place of its first wait; p->n: none */
	int64_t *flying;   /* by place: bytes in flight before it */
	/* scratch */
	int64_t *issued;  /* by comm of the stretch: host time before it */
	uint32_t *landed; /* by comm: the last round in which it was waited for */
	uint32_t round;
};

/* limit: as of sched_pace; a schedule that is beyond it may stay as far beyond. */
void pace_open(struct pace *a, const struct sched_problem *p, const uint8_t *role, struct sched_pace limit,
               const uint32_t *order);
/* Looks at the whole order again. */
void pace_reset(struct pace *a, const uint32_t *order);
void pace_close(struct pace *a);
/* Places from … to - 1 hold the same nodes in another order. */
void pace_set(struct pace *a, const uint32_t *order, uint32_t from, uint32_t to);
/* Returns true if the stretch from … to - 1 in the order of the draft keeps to the limit. place: of the nodes
 * as they stand; host: by place, host time before it. */
bool pace_keeps(struct pace *a, const uint32_t *draft, uint32_t from, uint32_t to, const uint32_t *place,
                const int64_t *host);

#endif
