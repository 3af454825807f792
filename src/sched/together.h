/* together: schedules several problems whose comms meet, each the work of other ranks.
 *
 *     problem 0    a  b  c          order and buckets of problem 0: b, then a with c
 *     problem 1    a  c  b     →    problem 1 follows: b, then a with c, and its own work around them
 *
 * An event is something at which problems meet: a collective, a barrier, a send or a receive. All problems have the
 * events that they share in one order and in the same buckets. One problem, the leader, is scheduled first; the others
 * follow one after the other, and decide about those events alone that none before them has. The longest problem
 * leads, then the next one; the schedules are simulated together (meet.h), and the shortest is taken among those
 * in which no problem ends later than before. Otherwise all comms keep their order. */
#ifndef HIRC_SCHED_TOGETHER_H
#define HIRC_SCHED_TOGETHER_H
#include "sched/meet.h"
#include "sched/schedule.h"

struct sched_member {            /* a problem, and where it meets others */
	struct sched_problem *p; /* its families become those that all who share an event have */
	uint32_t *event;         /* by node: its event; SCHED_NONE: it meets no other node */
	int64_t limit;           /* bytes */
};

struct sched_team {
	struct sched_member *member;
	uint32_t member_n, event_n;
	const struct sched_pair *message; /* event `to` receives what event `from` sends */
	uint32_t message_n;
	int effort; /* as in struct sched_options */
	bool bucket;
};

enum sched_choice { SCHED_LED, SCHED_IN_STEP, SCHED_UNCHANGED };

struct sched_joint {
	enum sched_choice choice;
	uint32_t leader; /* with SCHED_LED */
	bool crossed;    /* the problems need the events in orders that contradict each other */
	struct sched_schedule *schedule;   /* by member */
	struct sched_part *before, *after; /* by member; comms have times with waits for others */
};

/* All memory but that of the schedules is from the arena; each schedule is freed by sched_schedule_free. Returns false
 * if a member was found no order within its limit. *least is then a limit that is enough for all members. */
bool sched_together(struct sched_team *team, struct arena *a, struct sched_joint *out, int64_t *least);

#endif
