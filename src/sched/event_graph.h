/* event_graph: the order that events of several problems need.
 *
 *     problem 0    a → wait → b        problem 1    b → wait → c        so all problems need a → b → c
 *
 * Events in one bucket are one event. Each schedule that is decided adds its order, and the next problem sees which of
 * its own events it must keep apart and in order. */
#ifndef HIRC_SCHED_EVENT_GRAPH_H
#define HIRC_SCHED_EVENT_GRAPH_H
#include "base/vec.h"
#include "sched/problem.h"

struct event_graph {
	uint32_t n;
	VEC(struct sched_pair) edge; /* event `to` needs event `from` */
	uint32_t *of;                /* by event: the event that stands for its bucket */
};

/* The pairs of a problem's events, in `at`: `to` needs `from`. */
struct event_pairs {
	VEC(struct sched_pair) at;
};

void event_graph_open(struct event_graph *g, uint32_t n);
void event_graph_close(struct event_graph *g);
/* Adds the needs of a problem. event: by node, as in struct sched_member. */
void event_graph_add(struct event_graph *g, const struct sched_problem *p, const uint32_t *event);
void event_graph_need(struct event_graph *g, uint32_t from, uint32_t to);
/* Puts two events into one bucket. */
void event_graph_join(struct event_graph *g, uint32_t event, uint32_t bucket_of);
void event_graph_copy(const struct event_graph *g, struct event_graph *out);
/* Lists the needs among the events of `wanted`, also through others. Returns false if events need each other. */
bool event_graph_project(const struct event_graph *g, const bool *wanted, struct event_pairs *out);
/* Finds which events of a problem need which, directly or through other nodes: of e events, bit i of row j of the
 * result means that event[j] needs event[i]. number: by event its index. Free the result. */
uint64_t *event_graph_reach(const struct sched_problem *p, const uint32_t *event, const uint32_t *number,
                            uint32_t e);

#endif
