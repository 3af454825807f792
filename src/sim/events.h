/* events: when the tasks of ranks begin and end.
 *
 * A device does one piece of work at a time: of those that could begin the one that could first, of several
 * the one that was issued first. A meeting begins when all members of its channel have come to it and the one
 * before is over; a message when both ends have come to it. While communication of a rank is under way its
 * work takes `compute_per_mille` of a thousandth as long, while a member works its communication takes
 * `comm_per_mille`. The remaining work is kept exactly; ends are at whole ns, rounded up. */
#ifndef HIRC_SIM_EVENTS_H
#define HIRC_SIM_EVENTS_H
#include "sim/sim_classes.h"

struct sim_moment {
	int64_t ready; /* all that it follows is over and it has been issued */
	int64_t begin, end;
	uint32_t device; /* of work that waited for the device: the work before it; SIM_NONE */
};

struct sim_instance {                     /* of a meeting or message */
	int64_t begin, end, time, latest; /* latest: when the last member came to it */
	uint32_t who;                     /* the unit that came last, the least one of several */
	uint32_t arrived;
};

struct sim_member {
	uint32_t unit, local;
};
struct sim_meeting {               /* a channel, as it is between units */
	uint32_t channel;          /* of the program, of the first unit on it */
	uint32_t expected;         /* members that must come; more than there are: it never begins */
	uint32_t member, member_n; /* in `member` of the events */
	uint32_t instance, instance_n;
	uint32_t next; /* the instance that begins next, unless it is of messages */
	bool busy, messages;
};

/* A simulated rank, which stands for its class. */
struct sim_unit {
	uint32_t rank, class;
	struct sim_rank r;
	struct sim_moment *moment; /* by task */
	uint32_t *meeting;         /* by channel of the rank */
	uint32_t **slot;           /* by channel of the rank, then number: the task */
	int64_t end;               /* of all tasks */
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

/* One unit for each class, or, with `each`, for each rank. False after reporting: ranks that wait for ever,
 * or too much to do. */
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
