/* ipc_graph: a graph for each rank of the transport "cuda-ipc", which all ranks make and replay together.
 *
 *     begin   nothing is in flight on any rank: save the semaphores, capture
 *     replay  nothing is in flight on any rank: semaphores <- saved, launch
 *
 * Streams of a graph wait for constants, the values of the run that was captured. So each replay begins with the
 * semaphores as they were then. Hosts meet twice: no rank writes a semaphore that another one is about to set back, and
 * none before it is set back.
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
};

/* See struct rt_transport_ops. After begin, other work may follow only a replay, since turns have gone on by then. */
enum status ipc_graph_begin(struct ipc *t, CUstream stream);
enum status ipc_graph_end(struct ipc *t, CUstream stream, void **graph);
enum status ipc_graph_replay(struct ipc *t, CUstream stream, void *graph);
void ipc_graph_drop(struct ipc *t, CUstream stream);
void ipc_graph_free(struct ipc *t, void *graph);

/* Makes a stream a part of the graph that is being made, if one is. */
enum status ipc_graph_enter(struct ipc *t, CUstream s);
/* The same before a wait for a semaphore, which follows all signals so far. */
enum status ipc_graph_before_wait(struct ipc *t, CUstream s);
/* Makes later waits follow a signal that the stream has just got. */
enum status ipc_graph_after_signal(struct ipc *t, CUstream s);

#endif
