/* queue_lanes: the structures of the engine with two threads; private to src/rt.
 *
 * The host thread appends to the fifos and lists and counts `issued`. The compute lane reads stream
 * fifos and counts `completed`. The communication lane reads the other fifos and releases tickets. Only
 * atomics and fifos are accessed by two threads. */
#ifndef HIRC_RT_QUEUE_LANES_H
#define HIRC_RT_QUEUE_LANES_H
#include "base/vec.h"
#include "rt/bell.h"
#include "rt/fifo.h"
#include "rt/queue_impl.h"
#include <pthread.h>

/* A condition for the start of an item: `count` items of a stream are done, or a ticket is. */
struct lane_dependency {
	struct lane_stream *stream; /* NULL: the ticket */
	uint64_t count;
	struct rt_ticket ticket;
};

/* An item of a stream: a task or a wait. */
struct lane_item {
	bool wait;
	struct rt_origin at;
	union {
		const struct rt_task *task;   /* a fixed record; NULL: the next of `copies` */
		struct lane_dependency after; /* for a wait */
	};
};

struct lane_stream {
	struct rt_stream base;
	struct rt_fifo fifo, copies; /* fifos of lane_item, and of rt_task */
	uint64_t issued;             /* for the host */
	char apart[RT_APART];
	_Atomic uint64_t completed; /* for the compute lane, like the next field */
	uint64_t shown;             /* number of the wait shown on the board + 1 */
};

struct lane_comm {
	struct rt_comm_item item;
	struct lane_dependency after;
};

struct lane_running { /* a collective in flight */
	struct lane_comm comm;
	struct rt_request *request;
};

/* The in-order queue of a communicator. */
struct lane_team {
	struct lane_team *_Atomic next;
	struct rt_fifo fifo;
	int team, line;
	struct rt_board_line *board;
	VEC(struct lane_running) running; /* for the communication lane: the head, and others of its group */
};

struct lane_message { /* for the communication lane: a message that is not done */
	struct lane_message *next;
	struct lane_comm comm;
	struct rt_request *running; /* NULL: not started */
	int shown;                  /* its place on the board, or -1 */
};

struct lane_blocks {
	int64_t *at; /* owned */
	size_t room;
};

struct lane_engine {
	struct rt_engine base;
	pthread_t compute, communicate;
	bool computes, communicates; /* the thread was started */
	_Atomic int stop;

	struct lane_team *_Atomic teams;
	struct rt_fifo messages;      /* fifo of lane_comm */
	struct rt_fifo blocks;        /* fifo of lane_blocks: lists on their way back to the host */
	struct lane_message *pending; /* for the communication lane, in order of issue */
	struct lane_message *unused;  /* for the communication lane */

	char hosts[RT_APART];
	int64_t issued, window; /* for the host: items so far, and the limit of outstanding ones */
	int64_t done_seen;      /* for the host: at least so many of them are done */
	char counts[RT_APART];
	_Atomic int64_t computed; /* number of items, counted by the compute lane */
	char communicates_apart[RT_APART];
	_Atomic int64_t communicated; /* number of items, counted by the communication lane */
	_Atomic int64_t comm_left;    /* number of communications that are not done */
	char sleeping[RT_APART];
	_Atomic int64_t host_wants; /* number of finished items for which the host sleeps */
	struct rt_bell host_bell, compute_bell;
};

static inline int64_t lane_done(const struct lane_engine *e)
{
	return atomic_load_explicit(&e->computed, memory_order_acquire) +
	       atomic_load_explicit(&e->communicated, memory_order_acquire);
}

static inline bool lane_ready(struct lane_engine *e, const struct lane_dependency *d)
{
	if (d->stream)
		return atomic_load(&d->stream->completed) >= d->count;
	return rt_engine_ticket_done(&e->base, d->ticket);
}

enum { LANE_SPINS = 100 /* looks for work, about 2 µs */, LANE_YIELDS = 2 };

void lane_wake_all(struct lane_engine *e);
void *lane_compute(void *engine);
void *lane_communicate(void *engine);

#endif
