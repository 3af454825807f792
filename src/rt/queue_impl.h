/* queue_impl: the structures and functions that the engines share; private to src/rt.
 *
 * queue.c checks submitted work and keeps tickets, groups and message numbers. An engine
 * (queue_inline.c, queue_lanes.c, queue_issue.c, queue_adversary.c) embeds struct rt_engine and does the
 * work. Only the host thread accesses struct rt_engine, except for slots of tickets: the thread that
 * ends a communication releases its slot. */
#ifndef HIRC_RT_QUEUE_IMPL_H
#define HIRC_RT_QUEUE_IMPL_H
#include "rt/queue.h"

enum {
	RT_SLOT_CHUNK = 1024, /* ticket slots allocated at once */
	RT_SLOT_CHUNKS = 4096,
	RT_MESSAGE_LINES = 4, /* pending messages shown on the board */
	RT_LOOK_US = 20000,   /* interval at which a sleeping thread tests if the job has failed */
	/* With so many outstanding items, the host waits while anything in the job moves, and then for
	 * the time below. */
	RT_LARGE_WINDOW = 1 << 16,
	RT_QUIET_US = 200000,
	RT_QUIET_UNSEEN_US = 2000000, /* for ranks on other hosts, whose boards cannot be read */
	/* The waiting work may need work that the host has not issued yet, so the host goes on up to
	 * this limit. */
	RT_LIMIT = RT_SLOT_CHUNK * RT_SLOT_CHUNKS,
};

/* A submitted communication. */
struct rt_comm_item {
	struct rt_ticket ticket; /* ticket of its group, if it has one */
	uint64_t id;             /* for a tracer */
	bool message;            /* use p; otherwise c */
	uint8_t mark;            /* enum rt_mark, for the engine adversary */
	bool follows;            /* a collective that starts after the previous one of its group and team */
	struct rt_collective c;
	struct rt_p2p p;
	int64_t *blocks; /* owned: memory for the lists of c; may be allocated without being used */
	size_t room;     /* length of blocks */
};

static inline struct rt_origin rt_comm_at(const struct rt_comm_item *item)
{
	return item->message ? item->p.at : item->c.at;
}

struct rt_slot {
	_Atomic uint32_t generation; /* of the ticket in this slot; incremented when the ticket is done */
	_Atomic uint32_t label;
	uint32_t left;             /* communications that are not done; set before they are published */
	uint32_t next;             /* next free slot + 1; 0: the last one */
	struct rt_stream *blocked; /* inline engine: streams whose heads wait for it */
};

/* Counts of messages issued by this rank. Messages are matched by number. */
struct rt_sequence {
	bool send;
	int peer;
	uint32_t channel;
	uint64_t next;
};

/* The first member of an engine's own stream structure. */
struct rt_stream {
	struct rt_stream *_Atomic next; /* in the engine's list */
	int64_t index;                  /* -1: a handle */
	int line;                       /* line on the board */
	struct rt_board_line *board;    /* that line, or NULL */
	uint32_t name;                  /* label of its name */
};

struct rt_engine_ops {
	const char *name;
	size_t bytes, stream_bytes; /* sizes of the engine's structures */
	enum status (*start)(struct rt_engine *e);
	void (*stream_start)(struct rt_engine *e, struct rt_stream *s);
	void (*task)(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task,
	             struct rt_origin at);
	void (*sync)(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
	             struct rt_origin at);
	void (*wait)(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
	             struct rt_origin at);
	/* Takes item's blocks, and may leave other memory there. more: others of a group follow. */
	void (*communicate)(struct rt_engine *e, struct rt_stream *current, struct rt_comm_item *item,
	                    bool more);
	void (*drain)(struct rt_engine *e);
	/* Frees everything except the fields of struct rt_engine; the streams still exist. */
	void (*stop)(struct rt_engine *e);
};

/* Makes the table of an engine whose functions are named <engine>_task and so on, here and in its file. */
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
	uint64_t traced;             /* number of ids given to communications */
	struct rt_stream **by_index; /* by index: streams of small indices, or NULL */
	int64_t indices;

	_Atomic(struct rt_slot *) slot_chunk[RT_SLOT_CHUNKS];
	uint32_t slots;            /* number of slots made */
	uint32_t free_slots;       /* list of slots + 1 */
	_Atomic uint32_t released; /* list of slots + 1, on its way to the host */

	struct rt_sequence *sequence;
	int sequences;
	struct rt_comm_item single;
	bool grouping;
	uint8_t mark;                /* enum rt_mark of the next item */
	struct rt_comm_item *member; /* members of the group being built */
	int members, member_room;

	int message_line[RT_MESSAGE_LINES]; /* lines on the board; owned by the thread that starts messages */
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

/* Ends one communication of the ticket. Returns true for the last one; the slot must then be given back. */
bool rt_engine_ticket_end(struct rt_engine *e, struct rt_ticket t);
/* Frees the slot of a finished ticket. For the host thread. */
static inline void rt_engine_slot_free(struct rt_engine *e, uint32_t slot)
{
	rt_engine_slot(e, slot)->next = e->free_slots;
	e->free_slots = slot + 1;
}

/* Runs a task and shows it on the board. Returns false if it, and with it the job, has failed. */
bool rt_engine_run(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task, struct rt_origin at);
/* Starts a communication on the transport. */
enum status rt_engine_start(struct rt_engine *e, struct rt_comm_item *item, struct rt_request **out);
/* Returns the bytes of a communication's larger buffer. */
int64_t rt_engine_bytes(const struct rt_engine *e, const struct rt_comm_item *item);
static inline void rt_engine_trace_comm(struct rt_engine *e, const struct rt_comm_item *item, bool ends,
                                        const struct rt_board_line *lane)
{
	if (!e->trace || (!ends && item->follows)) /* they are one item with the first */
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
/* Shows a message on the board. Returns the line, or -1 if there is none. */
int rt_engine_message_show(struct rt_engine *e, const struct rt_p2p *p);
void rt_engine_message_hide(struct rt_engine *e, int place);
/* Takes the submitted lists, and leaves the former blocks of `to` there to be used again. */
static inline void rt_comm_take(struct rt_comm_item *to, struct rt_comm_item *submitted)
{
	struct rt_comm_item old = *to;
	*to = *submitted;
	submitted->blocks = old.blocks;
	submitted->room = old.room;
}
/* Makes room for n entries in item->blocks. */
void rt_comm_blocks(struct rt_comm_item *item, size_t n);
void rt_engine_too_many(struct rt_engine *e, struct rt_origin at);
/* Returns the time for which a host that is far ahead waits while nothing moves. */
int64_t rt_engine_quiet_us(const struct rt_engine *e);
/* Fails the job after the watchdog has expired. */
void rt_engine_stuck(struct rt_engine *e);
/* Makes a line on the board: `communicator (0 2)`. */
int rt_engine_team_line(struct rt_engine *e, int team);

extern const struct rt_engine_ops rt_inline_ops, rt_lanes_ops, rt_issue_ops, rt_adversary_ops;

#endif
