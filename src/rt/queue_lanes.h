/* queue_lanes: the structures of the engine that has two threads; for src/rt only.
 *
 * Who writes what: the host thread appends to the fifos and lists and counts `issued`; the compute lane reads
 * stream fifos and counts `completed`; the communication lane reads the others and releases tickets. Only
 * atomics and fifos are touched by two threads. */
#ifndef HIRC_RT_QUEUE_LANES_H
#define HIRC_RT_QUEUE_LANES_H
#include "base/vec.h"
#include "rt/bell.h"
#include "rt/fifo.h"
#include "rt/queue_impl.h"
#include <pthread.h>

/* A condition for the start of an item: `count` items of a stream are done, or a ticket. */
struct lane_dependency {
	struct lane_stream *stream; /* NULL: the ticket */
	uint64_t count;
	struct rt_ticket ticket;
};

/* In a stream: a task, or a wait. */
struct lane_item {
	bool wait;
	struct rt_origin at;
	union {
		const struct rt_task *task;   /* fixed; NULL: the next of `copies` */
		struct lane_dependency after; /* wait */
	};
};

struct lane_stream {
	struct rt_stream base;
	struct rt_fifo fifo, copies; /* of lane_item, of rt_task */
	uint64_t issued;             /* host's */
	char apart[RT_APART];
	_Atomic uint64_t completed; /* compute lane's, as the next */
	uint64_t shown;             /* 1 + number of the wait that the board shows */
};

struct lane_comm {
	struct rt_comm_item item;
	struct lane_dependency after;
};

struct lane_running { /* a collective under way */
	struct lane_comm comm;
	struct rt_request *request;
};

/* The in-order queue of one communicator. */
struct lane_team {
	struct lane_team *_Atomic next;
	struct rt_fifo fifo;
	int team, line;
	struct rt_board_line *board;
	VEC(struct lane_running) running; /* communication lane's: the head, with others of its group */
};

struct lane_message { /* communication lane's: a message that is not done */
	struct lane_message *next;
	struct lane_comm comm;
	struct rt_request *running; /* NULL: not started */
	int shown;                  /* place on the board, -1 */
};

struct lane_blocks {
	int64_t *at; /* owned */
	size_t room;
};

struct lane_engine {
	struct rt_engine base;
	pthread_t compute, communicate;
	bool computes, communicates; /* the lane was started */
	_Atomic int stop;

	struct lane_team *_Atomic teams;
	struct rt_fifo messages;      /* of lane_comm */
	struct rt_fifo blocks;        /* of lane_blocks: lists to be used again, on their way to the host */
	struct lane_message *pending; /* communication lane's, in order of issue */
	struct lane_message *unused;  /* communication lane's */

	char hosts[RT_APART];
	int64_t issued, window; /* host's: items so far, and how many may be outstanding */
	int64_t done_seen;      /* host's: of those, at least so many are done */
	char counts[RT_APART];
	_Atomic int64_t computed; /* items, counted by the compute lane */
	char communicates_apart[RT_APART];
	_Atomic int64_t communicated; /* items, counted by the communication lane */
	_Atomic int64_t comm_left;    /* communications that are not done */
	char sleeping[RT_APART];
	_Atomic int64_t host_wants; /* the host sleeps until so many are done */
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
