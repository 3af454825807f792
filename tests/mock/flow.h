/* flow: data in transit through pipes. A call of one thread is a set of flows, which move at the same time;
 * flows of one pipe and direction move one after the other. A send is done when all of it was received. A
 * head comes before the data. A head that the receiver does not expect remains in the pipe for ever, as in a
 * real NCCL call without a match. */
#ifndef HIRC_MOCK_FLOW_H
#define HIRC_MOCK_FLOW_H
#include "pipe.h"

struct flow_head {
	uint32_t kind, type, reduction, root;
	uint64_t bytes;
	uint64_t place; /* of the data that others use, in the window; 0: in none */
};

struct flow {
	struct pipe *pipe;
	int peer;
	bool is_send;
	struct flow_head head, got;
	char *data;
	uint64_t at;  /* bytes moved so far, with the head */
	uint64_t end; /* of a send that has moved: the pipe's number of bytes at its end */
	bool is_moved, is_stuck, is_done;
	int before; /* index of the flow before it in its pipe, -1: none */
};

struct flows {
	struct flow *flow;
	int n, room;
};

void flows_add(struct flows *f, struct pipe *pipe, int peer, bool is_send, struct flow_head head, void *data);
/* Moves data where possible, and rings the bells of waiting members. Returns true if all flows are done. */
bool flows_progress(struct flows *f, struct segment *s, bool *moved);
void flows_free(struct flows *f);

#endif
