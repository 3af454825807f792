/* role: classifies nodes by the comms that they need. */
#ifndef HIRC_SCHED_ROLE_H
#define HIRC_SCHED_ROLE_H
#include "sched/problem.h"

enum sched_role {
	SCHED_PLAIN,  /* no comm, and needs no sink */
	SCHED_SOURCE, /* a comm that needs little; it can be issued at any time (parameters) */
	SCHED_SINK,   /* a comm that no comm needs, so it can be issued late (gradients) */
	SCHED_INNER,  /* any other comm */
	SCHED_LATE,   /* no comm, but needs a sink */
};

/* Returns the roles by node, in a. */
uint8_t *sched_roles(const struct sched_problem *p, struct arena *a);

#endif
