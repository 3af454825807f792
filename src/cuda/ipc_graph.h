/* ipc_graph: two graphs for each rank of the transport "cuda-ipc", which all ranks make together and replay in turn.
 *
 *     begin   nothing is in flight on any rank: save the set's semaphores, capture
 *     end     at the end of the graph, for each partner, a rank with which this one exchanges signals:
 *
 *                 wait for the partner's room in the other set, and set that word back to 0
 *                 semaphores of this set <- saved
 *                 write the partner's word of this set: there is room
 *
 *     replay  launch
 *
 * Streams of a graph wait for constants, the values of the run that was captured. So the semaphores of a replay have to
 * be as they were then. Each graph has a set of semaphores and stages of its own: when a rank has ended replay k, it
 * sets its semaphores back, and tells its partners that replay k + 2 may write them. It ends replay k + 1 only after
 * they have told it the same of replay k. So a rank is at most one replay ahead of its partners, and no host waits for
 * another one. Before the first replay there is room in the second set.
 *
 * A GPU may give the branches of a graph to its queues in any order that the graph allows, and a queue that waits for
 * another rank does no other work. So a wait also follows all signals that its rank captured before it. Then no
 * signal is behind a wait that was captured after it, and the order of the captured calls, which cannot end in a cycle,
 * is one in which the replays of all ranks can end. */
#ifndef HIRC_CUDA_IPC_GRAPH_H
#define HIRC_CUDA_IPC_GRAPH_H
#include "cuda/cuda.h"

struct ipc;

/* The graph that is being made. */
struct ipc_capture {
	CUevent fork;   /* the event at which it begins; NULL: none is being made */
	CUstream order; /* after all signals so far; made at the first capture */
	unsigned set;   /* the set of its semaphores and stages */
	unsigned made;  /* number of graphs that were made */
	bool *partner;  /* by rank */
};

/* Returns the semaphore that a rank writes when it has set back its own ones. */
uint32_t ipc_graph_room(const struct ipc *t, int rank);

/* See struct rt_transport_ops. After begin only replays may follow, since turns have gone on by then. */
enum status ipc_graph_begin(struct ipc *t, CUstream stream);
enum status ipc_graph_end(struct ipc *t, CUstream stream, void **graph);
enum status ipc_graph_replay(struct ipc *t, CUstream stream, void *graph);
void ipc_graph_drop(struct ipc *t, CUstream stream);
void ipc_graph_free(struct ipc *t, void *graph);

/* Makes a stream a part of the graph that is being made, if one is. */
enum status ipc_graph_enter(struct ipc *t, CUstream s);
/* The same before a wait for a semaphore, which follows all signals so far. */
enum status ipc_graph_before_wait(struct ipc *t, CUstream s);
/* Makes later waits follow a signal to a rank that the stream has just got. */
enum status ipc_graph_after_signal(struct ipc *t, CUstream s, int rank);

#endif
