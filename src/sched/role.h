/* role: a node's relation to its comms. */
#ifndef HIRC_SCHED_ROLE_H
#define HIRC_SCHED_ROLE_H
#include "sched/problem.h"

enum sched_role {
	SCHED_PLAIN,  /* no comm, and needs no sink */
	SCHED_SOURCE, /* a comm that needs no other and little else: it can be issued at any time (parameters)
	               */
	SCHED_SINK,   /* a comm that no other needs: it can be issued late (gradients) */
	SCHED_INNER,  /* any other comm */
	SCHED_LATE,   /* no comm, needs a sink */
};

/* By node, in a. */
uint8_t *sched_roles(const struct sched_problem *p, struct arena *a);

#endif
