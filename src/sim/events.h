/* events: when the tasks of ranks begin and end.
 *
 * A device does one piece of work at a time: the one that became ready first, and among equals the one that
 * was issued first. A meeting begins when all members of its channel have reached it and the meeting before
 * is over; a message begins when both ends have reached it. Work and communication of a rank, and meetings on a
 * shared link, slow each other by the rule of sched/contention.h; a meeting has the rate of its slowest member. */
#ifndef HIRC_SIM_EVENTS_H
#define HIRC_SIM_EVENTS_H
#include "sim/sim_classes.h"

struct sim_moment {
	int64_t ready; /* when all tasks before it are over and it has been issued */
	int64_t begin, end;
	uint32_t device; /* for work that waited for the device: the work before it; SIM_NONE */
};

struct sim_instance {                     /* one meeting or message */
	int64_t begin, end, time, latest; /* latest: when the last member reached it */
	uint32_t who;                     /* the unit that reached it last; of several, the least */
	uint32_t arrived;
};

struct sim_member {
	uint32_t unit, local;
};
struct sim_meeting {               /* a channel between units */
	uint32_t channel;          /* number of the channel in the program, taken from the first unit on it */
	uint32_t expected;         /* members that must come; if more than there are, it never begins */
	uint32_t member, member_n; /* index into `member` of the events, and number of members */
	uint32_t instance, instance_n;
	uint32_t next; /* the next instance to begin; unused for messages */
	bool busy, messages;
};

/* A rank that is simulated for all ranks of its class. */
struct sim_unit {
	uint32_t rank, class;
	struct sim_rank r;
	struct sim_moment *moment; /* by task */
	uint32_t *meeting;         /* by channel of the rank */
	uint32_t **slot;           /* by channel of the rank, then number: the task */
	int64_t end;               /* end of its last task */
};

struct sim_events {
	struct sim_program *p;
	struct arena *arena;
	uint32_t n;
	struct sim_unit *unit;
	VEC(struct sim_meeting) meeting;
	VEC(struct sim_member) member;
	VEC(struct sim_instance) instance;
	int64_t runtime;
};

/* Simulates one unit for each class, or for each rank if `each` is set. Returns false after reporting ranks
 * that wait for ever, or a program that is too large. */
bool sim_events_run(struct sim_program *p, const struct sim_classes *c, bool each, struct sim_events *out);
void sim_events_free(struct sim_events *e);

static inline const struct sim_instance *sim_instance_of(const struct sim_events *e, uint32_t unit,
                                                         uint32_t task)
{
	const struct sim_unit *u = &e->unit[unit];
	const struct sim_task *t = &u->r.task.at[task];
	return &e->instance.at[e->meeting.at[u->meeting[t->channel]].instance + t->number];
}

#endif
