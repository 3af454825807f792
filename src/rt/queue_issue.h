/* queue_issue: the structures of the engine of a device that works on its own; see queue_issue.c;
 * private to src/rt.
 *
 *     queue_issue.c         streams: submitted work is given to the device or queued; rt_drain
 *     queue_issue_comm.c    communications: their order in a team, their issue, the end of tickets
 *     queue_issue_graph.c   graphs: capture and replay
 *     queue_issue_trace.c   events for a tracer */
#ifndef HIRC_RT_QUEUE_ISSUE_H
#define HIRC_RT_QUEUE_ISSUE_H
#include "base/vec.h"
#include "rt/queue_impl.h"

enum item_kind { ITEM_TASK, ITEM_JOIN, ITEM_WAIT, ITEM_COMM, ITEM_MARK };

struct item {
	struct item *next; /* next in the queue, or next free one */
	enum item_kind kind;
	struct rt_origin at;
	union {
		const struct rt_task *task; /* TASK: a fixed record, or an owned copy */
		void *event;                /* JOIN: NULL until its mark is reached */
		struct rt_ticket ticket;    /* for WAIT */
		struct comm *comm;          /* for COMM */
		struct {                    /* MARK: gives the join an event of its stream */
			struct item *join;
			struct stream *stream;
		};
	};
};

struct stream {
	struct rt_stream base;
	void *device;             /* stream of the device */
	struct item *head, *last; /* NULL: new work is issued at once */
	struct stream *next;      /* next ready stream, or next one blocked by the same ticket */
	unsigned launched;        /* launches since the last beat */
	int64_t work;             /* their work */
	bool captured;            /* it is part of the graph being made */
	VEC(void *) beat;         /* events of launches, oldest first, from `beaten` on */
	uint32_t beaten;
};

/* A communication that the device does not have yet. */
struct comm {
	struct rt_comm_item item;
	struct rt_request *request; /* NULL: the transport does not have it either */
	bool opens, closes;         /* begins or ends a group */
	uint32_t turn;              /* collective: its number in its team */
	void *after;                /* the event after which it starts; given back once it has begun */
};

/* Collectives of a team start in the order of submission, on whatever streams they are. */
struct team {
	uint32_t given, started;  /* numbers given, and numbers started */
	VEC(struct comm *) early; /* those that must wait for earlier ones */
	/* For a tracer: */
	int64_t busy_until; /* time when the last reported one was done, ns */
	int line;           /* line on the board */
	bool has_line;
};

/* The communications for which streams wait, by slot of the ticket. */
struct awaited {
	uint32_t unissued; /* number of communications not issued */
	VEC(void *) event; /* events of those issued */
};

/* A span that will be reported to the tracer. */
struct issue_timed {
	struct rt_trace_mark mark;
	int team;     /* id + 1; 0: no collective */
	bool follows; /* one item with the collective before it */
	void *begin, *end;
};

struct issue_engine {
	struct rt_engine base;
	const struct rt_async_ops *device; /* functions of base.device */
	struct item *free_items;
	VEC(struct item *) made;
	VEC(struct awaited) awaited;
	VEC(struct comm *) unissued;   /* given to the transport */
	VEC(struct comm *) free_comms; /* their blocks are kept */
	VEC(struct team) team;         /* by id */
	VEC(struct rt_ticket) issued;  /* not known to be done; oldest first, from `oldest` on */
	uint32_t oldest;
	struct stream *ready, *last_ready; /* unblocked streams with items */
	int64_t queued;                    /* number of items in queues */
	bool in_group;
	struct stream *capturing; /* stream of the graph being made; NULL: none */
	void *fork;               /* the event at which the graph being made begins; NULL: none */
	/* For a tracer: */
	VEC(struct issue_timed) timed; /* spans since the last drain */
	VEC(void *) kept;              /* events to release at the drain */
	void *clock;                   /* an event that is over */
	int64_t clock_ns; /* its time by the host's monotonic clock; NULL: none since the last drain */
	int64_t told_ns;  /* latest event time that was reported */
};

/* Returns true if status is a failure, which the job then has. */
static inline bool issue_failed(struct issue_engine *e, enum status status)
{
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	return status != STATUS_OK;
}

/* Continues the queue of a stream whose wait is over. */
void issue_unblock(struct issue_engine *e, struct stream *s);
/* Records an event after everything given to the device's stream so far. Returns NULL if the job has
 * failed. */
void *issue_record(struct issue_engine *e, struct stream *s, struct rt_origin at);
/* Makes the device's stream wait for an event, and gives the event back. */
void issue_await(struct issue_engine *e, struct stream *s, void *event, struct rt_origin at);

/* Pauses between looks at the device. waited: us in which nothing has moved; seen: result of the
 * transport's read before the look; a change of it ends the pause. */
void issue_pause(struct issue_engine *e, int64_t waited, uint32_t seen);
/* Returns read of the transport; 0 without one. */
uint32_t issue_seen(const struct issue_engine *e);

/* Returns when all queues are empty and the device has all communications, or the job has failed. */
void issue_settle(struct issue_engine *e);

/* Communications: queue_issue_comm.c */

struct team *issue_team(struct issue_engine *e, int id);

struct awaited *issue_awaited(struct issue_engine *e, struct rt_ticket t);
/* Makes the device's stream wait for a ticket whose communications are all issued. */
void issue_await_ticket(struct issue_engine *e, struct stream *s, struct rt_ticket t, struct rt_origin at);
/* Makes a communication of a submitted item; more: others of its group follow. */
struct comm *issue_comm_new(struct issue_engine *e, struct rt_comm_item *item, bool more);
/* Handles a communication that its stream has reached. */
void issue_comm_start(struct issue_engine *e, struct stream *s, struct comm *c);
/* Handles the communications that the transport has given to the device. */
void issue_poll(struct issue_engine *e, bool *moved);
/* Ends a ticket; its events may be used again. */
void issue_ticket_end(struct issue_engine *e, struct rt_ticket t);
/* Frees the tickets with which the device is done. */
void issue_retire(struct issue_engine *e);
void issue_comm_free(struct comm *c); /* NULL is allowed */
/* Frees all communications except those in queues of streams, and the state of tickets. */
void issue_comms_free(struct issue_engine *e);

/* Graphs: queue_issue_graph.c */

/* Adds the device's stream, which is about to get work, to the graph, if one is being made. */
void issue_enter_graph(struct issue_engine *e, struct stream *s, struct rt_origin at);
/* Drops the graph being made. */
void issue_graph_drop(struct issue_engine *e);

/* Tracers: queue_issue_trace.c. Without one, these do nothing. */

/* Call it before the first event that counts. Returns false if there is no tracer. */
bool issue_trace_clock(struct issue_engine *e);
/* Records an event when the stream arrives here. Returns NULL without a tracer. */
void *issue_trace_begin(struct issue_engine *e, struct stream *s, struct rt_origin at);
/* Reports that a task was launched after `begin`; NULL: nothing to report. */
void issue_trace_task(struct issue_engine *e, struct stream *s, void *begin, struct rt_origin at);
/* Call it before the stream waits for a ticket. */
void issue_trace_wait(struct issue_engine *e, struct stream *s, struct rt_ticket ticket, struct rt_origin at);
/* Reports a communication that the device has; it is done when `end` is over. */
void issue_trace_comm(struct issue_engine *e, const struct comm *c, void *end);
/* Gives back an event of a communication, unless a tracer needs it until the next drain. */
void issue_release(struct issue_engine *e, void *event);
/* Reports everything to the tracer, when the device has nothing to do. */
void issue_trace_end(struct issue_engine *e);
void issue_trace_free(struct issue_engine *e); /* call it while teams still exist */

#endif
