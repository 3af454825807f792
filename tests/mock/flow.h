/* flow: data on their way through pipes. What one thread moves at once is a set of flows, which all go on
 * together; those of one pipe and direction go one after the other. A send is done when all of it was
 * received. Before the data goes a head; one that the receiver does not expect stays there for ever, as calls
 * that do not match do. */
#ifndef HIRC_MOCK_FLOW_H
#define HIRC_MOCK_FLOW_H
#include "pipe.h"

struct flow_head {
	uint32_t kind, type, reduction, root;
	uint64_t bytes;
};

struct flow {
	struct pipe *pipe;
	int peer;
	bool is_send;
	struct flow_head head, got;
	char *data;
	uint64_t at;  /* bytes that have moved, with the head */
	uint64_t end; /* a send that has moved: of the pipe's bytes */
	bool is_moved, is_stuck, is_done;
	int before; /* index of the flow that comes before it in its pipe, -1: none */
};

struct flows {
	struct flow *flow;
	int n, room;
};

void flows_add(struct flows *f, struct pipe *pipe, int peer, bool is_send, struct flow_head head, void *data);
/* Moves what can move, and rings those that wait for it. Whether all is done. */
bool flows_progress(struct flows *f, struct segment *s, bool *moved);
void flows_free(struct flows *f);

#endif
