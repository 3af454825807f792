/* queue_impl: the engine's structures, shared by its host side (queue.c) and its lanes (queue_lanes.c).
 *
 * Who writes what: the host thread appends to the fifos and lists, takes ticket slots and counts `issued`;
 * the compute lane reads stream fifos and counts `completed`; the communication lane reads the others
 * and releases tickets. Only atomics and fifos are touched by two threads. */
#ifndef HIRC_RT_QUEUE_IMPL_H
#define HIRC_RT_QUEUE_IMPL_H
#include "rt/bell.h"
#include "rt/fifo.h"
#include "rt/queue.h"
#include <pthread.h>

enum {
	RT_SLOT_CHUNK = 1024, /* ticket slots made at once */
	RT_SLOT_CHUNKS = 4096,
	RT_MESSAGE_LINES = 4, /* pending messages that the board shows */
	RT_LOOK_US = 20000,   /* how often a sleeping thread looks whether the job has failed */
	RT_COMPUTE_LANE = 0,
};

/* What must be done before an item starts: `count` items of a stream, or a ticket. */
struct rt_dependency {
	struct rt_stream *stream; /* NULL: the ticket */
	uint64_t count;
	struct rt_ticket ticket;
};

/* In a stream: a task, or a wait (task.at says where). */
struct rt_stream_item {
	bool wait;
	struct rt_dependency after; /* wait */
	struct rt_task task;
};

struct rt_stream {
	struct rt_stream *_Atomic next; /* in the engine's list */
	struct rt_fifo fifo;
	uint64_t issued;            /* host's */
	_Atomic uint64_t completed; /* compute lane's */
	int64_t index;              /* -1: a handle */
	int line;                   /* on the board */
	uint64_t shown;             /* compute lane's: 1 + number of the wait that the board shows */
};

/* A coalescing group: its ticket is released with the last member. */
struct rt_group {
	int left; /* set before its members are published, then the communication lane's */
	struct rt_ticket ticket;
};

struct rt_comm_item {
	struct rt_dependency after;
	struct rt_ticket ticket; /* zero: member of a group */
	struct rt_group *group;
	bool message; /* p, else c */
	struct rt_collective c;
	int64_t *blocks; /* owned: what the lists of c point to */
	struct rt_p2p p;
};

/* The in-order queue of one communicator. */
struct rt_team_queue {
	struct rt_team_queue *_Atomic next;
	struct rt_fifo fifo;
	int team, line;
	struct rt_request *running; /* communication lane's: of the head */
};

struct rt_message { /* communication lane's: a message that is not done */
	struct rt_message *next;
	struct rt_comm_item item;
	struct rt_request *running; /* NULL: not started */
	int line;                   /* index in message_line, -1 */
};

struct rt_slot {
	_Atomic uint32_t generation; /* of the ticket that holds it; grows when that is done */
	_Atomic uint32_t label;
	uint32_t next; /* free ones: 1 + slot, 0: the last */
};

/* Messages are matched by number: how many this rank has issued. */
struct rt_sequence {
	bool send;
	int peer;
	uint32_t channel;
	uint64_t next;
};

struct rt_engine {
	struct rt_job *job;
	struct rt_device *device;
	struct rt_transport *transport; /* NULL: none */
	pthread_t compute, communicate;
	bool computes, communicates; /* the lane was started */
	_Atomic int stop;

	struct rt_stream *_Atomic streams;
	struct rt_team_queue *_Atomic teams;
	struct rt_fifo messages;            /* of rt_comm_item */
	struct rt_message *pending;         /* communication lane's, in order of issue */
	int message_line[RT_MESSAGE_LINES]; /* on the board */
	bool message_shown[RT_MESSAGE_LINES];

	_Atomic(struct rt_slot *) slot_chunk[RT_SLOT_CHUNKS];
	uint32_t slots;            /* made so far; host's */
	uint32_t free_slots;       /* host's list: 1 + slot */
	_Atomic uint32_t released; /* list on its way to the host: 1 + slot */

	struct rt_sequence *sequence; /* host's */
	int sequences;
	bool grouping;
	struct rt_comm_item *member; /* of the group being built; host's */
	int members, member_room;

	int64_t issued, window;     /* host's: items so far, and how many may be outstanding */
	_Atomic int64_t done;       /* items */
	_Atomic int64_t comm_left;  /* communications that are not done */
	_Atomic int64_t host_wants; /* the host is to be woken when done reaches this */
	struct rt_bell compute_bell, host_bell;
};

struct rt_slot *rt_engine_slot(struct rt_engine *e, uint32_t slot);
bool rt_engine_ticket_done(struct rt_engine *e, struct rt_ticket t);
bool rt_engine_ready(struct rt_engine *e, const struct rt_dependency *d);
/* Frees what the item owns. True if it was the last of its ticket, which is then *out. */
bool rt_engine_item_end(struct rt_comm_item *item, struct rt_ticket *out);
void rt_engine_wake_all(struct rt_engine *e);

void *rt_lane_compute(void *engine);
void *rt_lane_communicate(void *engine);

#endif
