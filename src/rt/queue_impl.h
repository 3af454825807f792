/* queue_impl: the shared parts of the engines; for src/rt only.
 *
 * queue.c checks submitted work and keeps tickets, groups and message numbers; an engine (queue_inline.c,
 * queue_lanes.c, queue_issue.c, queue_adversary.c) embeds struct rt_engine and does the work. The host thread
 * alone touches struct rt_engine, but for the slots of tickets, which whoever ends a communication releases.
 */
#ifndef HIRC_RT_QUEUE_IMPL_H
#define HIRC_RT_QUEUE_IMPL_H
#include "rt/queue.h"

enum {
	RT_SLOT_CHUNK = 1024, /* ticket slots made at once */
	RT_SLOT_CHUNKS = 4096,
	RT_MESSAGE_LINES = 4, /* pending messages that the board shows */
	RT_LOOK_US = 20000,   /* how often a sleeping thread looks if the job has failed */
	/* With so many items outstanding the host waits while anything in the job moves, and then for so
	   long; */
	RT_LARGE_WINDOW = 1 << 16,
	RT_QUIET_US = 200000,
	RT_QUIET_UNSEEN_US = 2000000, /* ranks on other hosts: their boards cannot be seen */
	/* the waiting work may need work that the host has not issued yet: so it goes on to here. */
	RT_LIMIT = RT_SLOT_CHUNK * RT_SLOT_CHUNKS,
};

/* A communication as it was submitted. */
struct rt_comm_item {
	struct rt_ticket ticket; /* of its group if it has one */
	uint64_t id;             /* tracer's */
	bool message;            /* p, else c */
	uint8_t mark;            /* enum rt_mark; of the engine adversary */
	bool follows; /* a collective that starts once the one before it, of its group and team, has */
	struct rt_collective c;
	struct rt_p2p p;
	int64_t *blocks; /* owned: memory of the lists of c; may be there without being used */
	size_t room;     /* entries of blocks */
};

static inline struct rt_origin rt_comm_at(const struct rt_comm_item *item)
{
	return item->message ? item->p.at : item->c.at;
}

struct rt_slot {
	_Atomic uint32_t generation; /* of the ticket that holds it; grows when that is done */
	_Atomic uint32_t label;
	uint32_t left;             /* communications that are not done; set before they are published */
	uint32_t next;             /* free ones: 1 + slot, 0: the last */
	struct rt_stream *blocked; /* inline engine's: streams whose heads wait for it */
};

/* Messages are matched by number: how many this rank has issued. */
struct rt_sequence {
	bool send;
	int peer;
	uint32_t channel;
	uint64_t next;
};

/* The head of an engine's own structure. */
struct rt_stream {
	struct rt_stream *_Atomic next; /* in the engine's list */
	int64_t index;                  /* -1: a handle */
	int line;                       /* on the board */
	struct rt_board_line *board;    /* that line, or NULL */
	uint32_t name;                  /* its label */
};

struct rt_engine_ops {
	const char *name;
	size_t bytes, stream_bytes; /* of the engine's structures */
	enum status (*start)(struct rt_engine *e);
	void (*stream_start)(struct rt_engine *e, struct rt_stream *s);
	void (*task)(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task,
	             struct rt_origin at);
	void (*sync)(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
	             struct rt_origin at);
	void (*wait)(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
	             struct rt_origin at);
	/* Takes over item's blocks and may leave others there. more: others of a group follow. */
	void (*communicate)(struct rt_engine *e, struct rt_stream *current, struct rt_comm_item *item,
	                    bool more);
	void (*drain)(struct rt_engine *e);
	/* Frees all but the fields of struct rt_engine; the streams are still there. */
	void (*stop)(struct rt_engine *e);
};

/* The table of an engine whose functions are named <engine>_task and so on, here and in its file. */
#define RT_ENGINE_OPS(engine, engine_type, stream_type)                                                      \
	{                                                                                                    \
		.name = #engine, .bytes = sizeof(engine_type), .stream_bytes = sizeof(stream_type),          \
		.start = engine##_start, .stream_start = engine##_stream_start, .task = engine##_task,       \
		.sync = engine##_sync, .wait = engine##_wait, .communicate = engine##_communicate,           \
		.drain = engine##_drain, .stop = engine##_stop,                                              \
	}

struct rt_engine {
	const struct rt_engine_ops *ops;
	struct rt_job *job;
	struct rt_device *device;
	struct rt_transport *transport; /* NULL: none */
	struct rt_tracer *trace;        /* NULL: none */
	struct rt_stream *_Atomic streams;
	uint64_t traced;             /* ids given to communications */
	struct rt_stream **by_index; /* streams of small indices, or NULL */
	int64_t indices;

	_Atomic(struct rt_slot *) slot_chunk[RT_SLOT_CHUNKS];
	uint32_t slots;            /* made so far */
	uint32_t free_slots;       /* list: 1 + slot */
	_Atomic uint32_t released; /* list on its way to the host: 1 + slot */

	struct rt_sequence *sequence;
	int sequences;
	struct rt_comm_item single;
	bool grouping;
	uint8_t mark;                /* enum rt_mark, of the submitted item */
	struct rt_comm_item *member; /* of the group being built */
	int members, member_room;

	int message_line[RT_MESSAGE_LINES]; /* on the board; of who starts messages */
	bool message_shown[RT_MESSAGE_LINES];
};

static inline bool rt_engine_failed(const struct rt_engine *e)
{
	return rt_job_status(e->job) != STATUS_OK;
}

static inline struct rt_slot *rt_engine_slot(struct rt_engine *e, uint32_t slot)
{
	return &atomic_load_explicit(&e->slot_chunk[slot / RT_SLOT_CHUNK],
	                             memory_order_acquire)[slot % RT_SLOT_CHUNK];
}

static inline bool rt_engine_ticket_done(struct rt_engine *e, struct rt_ticket t)
{
	return t.generation == 0 || atomic_load_explicit(&rt_engine_slot(e, t.slot)->generation,
	                                                 memory_order_acquire) != t.generation;
}

/* One communication of the ticket is done. True with the last; the slot is then still to be given back. */
bool rt_engine_ticket_end(struct rt_engine *e, struct rt_ticket t);
/* Gives back a slot whose ticket is done. The host thread's. */
static inline void rt_engine_slot_free(struct rt_engine *e, uint32_t slot)
{
	rt_engine_slot(e, slot)->next = e->free_slots;
	e->free_slots = slot + 1;
}

/* Runs a task, with its line on the board. False: it has failed, and so has the job. */
bool rt_engine_run(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task, struct rt_origin at);
/* Starts a communication on the transport. */
enum status rt_engine_start(struct rt_engine *e, struct rt_comm_item *item, struct rt_request **out);
/* Returns the bytes of a communication's larger buffer. */
int64_t rt_engine_bytes(const struct rt_engine *e, const struct rt_comm_item *item);
static inline void rt_engine_trace_comm(struct rt_engine *e, const struct rt_comm_item *item, bool ends,
                                        const struct rt_board_line *lane)
{
	if (!e->trace || (!ends && item->follows)) /* which are one with the first */
		return;
	struct rt_trace_mark m = {.kind = item->message ? RT_TRACE_MESSAGE : RT_TRACE_COLLECTIVE,
	                          .ends = ends,
	                          .id = item->id,
	                          .lane = lane ? atomic_load_explicit(&lane->name, memory_order_relaxed) : 0,
	                          .at = rt_comm_at(item),
	                          .bytes = ends ? rt_engine_bytes(e, item) : 0};
	e->trace->event(e->trace, &m);
}
static inline void rt_engine_trace_wait(struct rt_engine *e, const struct rt_stream *s, struct rt_ticket t,
                                        struct rt_origin at)
{
	struct rt_trace_mark m = {.kind = RT_TRACE_WAIT, .id = t.id, .lane = s->name, .at = at};
	if (e->trace && t.id)
		e->trace->event(e->trace, &m);
}
/* Shows a message on the board: where, -1 if there is no place. */
int rt_engine_message_show(struct rt_engine *e, const struct rt_p2p *p);
void rt_engine_message_hide(struct rt_engine *e, int place);
/* Takes over the submitted lists, and leaves the blocks that `to` had, to be used again. */
static inline void rt_comm_take(struct rt_comm_item *to, struct rt_comm_item *submitted)
{
	struct rt_comm_item old = *to;
	*to = *submitted;
	submitted->blocks = old.blocks;
	submitted->room = old.room;
}
/* Room for n entries in item->blocks. */
void rt_comm_blocks(struct rt_comm_item *item, size_t n);
void rt_engine_too_many(struct rt_engine *e, struct rt_origin at);
/* Returns the time for which a host that is far ahead waits while nothing moves. */
int64_t rt_engine_quiet_us(const struct rt_engine *e);
/* The watchdog has expired. */
void rt_engine_stuck(struct rt_engine *e);
/* A new line of the board: `communicator (0 2)`. */
int rt_engine_team_line(struct rt_engine *e, int team);

extern const struct rt_engine_ops rt_inline_ops, rt_lanes_ops, rt_issue_ops, rt_adversary_ops;

#endif
