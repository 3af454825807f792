/* host_work: finds when the host has done the work on one side of a comm: the nodes that the comm needs, or backwards
 * those that need it.
 *
 * The host does one node at a time, none before the node's key. A node that takes the first free time after its key
 * delays no other, so the host is busy at the same times in whichever order nodes are added. Comms that follow
 * each other have nearly the same work. The nodes that the last ones had in common are the base. The search for the work
 * of a comm stops at the base, and has met all of it if it met its tops: the nodes to which no other node of the base
 * leads. Tops that it did not meet leave the base. */
#ifndef HIRC_SCHED_HOST_WORK_H
#define HIRC_SCHED_HOST_WORK_H
#include "sched/problem.h"

struct host_side {
	uint32_t n;
	const struct sched_lists
	    *next;           /* by node: pred for the work before a comm, succ for that behind it */
	const int64_t *key;  /* by node; negative: the node does not count */
	const int64_t *time; /* by node: ns of the host */
	const bool *apart;   /* by node: its time is left out of the sum */
	uint32_t looks;      /* nodes further from the comm are left out, unless they are in the base */
};

struct host_work;

struct host_work *host_work_new(const struct host_side *side);
void host_work_free(struct host_work *w);
/* Begins with the work of another comm. */
void host_work_begin(struct host_work *w, uint32_t comm);
/* Adds a node, and all nodes that its lists lead to. */
void host_work_add(struct host_work *w, uint32_t node);
/* Returns the time when all the work is done. sum: receives its time. */
int64_t host_work_end(struct host_work *w, int64_t *sum);

#endif
