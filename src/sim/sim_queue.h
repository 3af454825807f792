/* sim_queue: a queue of events, the earliest first. */
#ifndef HIRC_SIM_SIM_QUEUE_H
#define HIRC_SIM_SIM_QUEUE_H
#include "base/vec.h"
#include <stdbool.h>

struct queue_entry { /* ordered by all fields but version */
	int64_t at;
	uint32_t who, what;
	uint32_t version;
	uint32_t kind;
};
struct queue {
	VEC(struct queue_entry) heap;
};

void queue_push(struct queue *q, struct queue_entry e);
struct queue_entry queue_pop(struct queue *q); /* the queue must not be empty */

#endif
