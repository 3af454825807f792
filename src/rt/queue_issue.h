/* queue_issue: the structures of the engine of a device that works on its own; see queue_issue.c; for src/rt
 * only.
 *
 *     queue_issue.c         streams: submitted work, given to the device or queued; rt_drain
 *     queue_issue_comm.c    communications: turns of a team, those the transport has issued, tickets that end
 *     queue_issue_graph.c   graphs: capture and replay
 *     queue_issue_trace.c   events for a tracer */
#ifndef HIRC_RT_QUEUE_ISSUE_H
#define HIRC_RT_QUEUE_ISSUE_H
#include "base/vec.h"
#include "rt/queue_impl.h"

enum item_kind { ITEM_TASK, ITEM_JOIN, ITEM_WAIT, ITEM_COMM, ITEM_MARK };

struct item {
	struct item *next; /* in the queue, or of the free ones */
	enum item_kind kind;
	struct rt_origin at;
	union {
		const struct rt_task *task; /* TASK: fixed, or a copy that is owned */
		void *event;                /* JOIN: NULL until its mark was reached */
		struct rt_ticket ticket;    /* WAIT */
		struct comm *comm;          /* COMM */
		struct {                    /* MARK: gives the join an event of its stream */
			struct item *join;
			struct stream *stream;
		};
	};
};

struct stream {
	struct rt_stream base;
	void *device;             /* the device's stream */
	struct item *head, *last; /* NULL: new work is issued at once */
	struct stream *next;      /* ready ones, or those blocked by one ticket */
	unsigned launched;        /* since the last beat */
	int64_t work;             /* of these */
	bool captured;            /* it is part of the graph that is being made */
	VEC(void *) beat;         /* events of launches, oldest first from `beaten` on */
	uint32_t beaten;
};

/* A communication that the device does not have yet. */
struct comm {
	struct rt_comm_item item;
	struct rt_request *request; /* NULL: the transport does not have it either */
	bool opens, closes;         /* a group */
	uint32_t turn;              /* of a collective, among those of its team */
	void *after;                /* the event that it starts after; the device's again once it has begun */
};

/* Collectives of a team start in the order in which they were submitted, whichever streams they are of. */
struct team {
	uint32_t given, started;  /* turns */
	VEC(struct comm *) early; /* whose turn has not come */
	/* of a tracer: */
	int64_t busy_until; /* when those that it was told of were done, ns */
	int line;           /* on the board */
	bool has_line;
};

/* The communications that streams wait for, by slot of a ticket. */
struct awaited {
	uint32_t unissued; /* communications */
	VEC(void *) event; /* of those that were issued */
};

/* A span that the tracer will be told. */
struct issue_timed {
	struct rt_trace_mark mark;
	int team;     /* 1 + its id; 0: no collective */
	bool follows; /* one with a collective before it */
	void *begin, *end;
};

struct issue_engine {
	struct rt_engine base;
	const struct rt_async_ops *device; /* of base.device */
	struct item *free_items;
	VEC(struct item *) made;
	VEC(struct awaited) awaited;
	VEC(struct comm *) unissued;   /* with the transport */
	VEC(struct comm *) free_comms; /* their blocks are kept */
	VEC(struct team) team;         /* by id */
	VEC(struct rt_ticket) issued;  /* not known to be done; oldest first from `oldest` on */
	uint32_t oldest;
	struct stream *ready, *last_ready; /* unblocked, with items */
	int64_t queued;                    /* items in queues */
	bool in_group;
	struct stream *capturing; /* the stream of the graph that is being made; NULL: none is */
	void *fork;               /* where the graph that is being made begins: an event; NULL: none is */
	/* With a tracer: */
	VEC(struct issue_timed) timed; /* since the last drain */
	VEC(void *) kept;              /* events that are released then */
	void *clock;                   /* an event that was over */
	int64_t clock_ns; /* then, by the host's monotonic clock; NULL: none since the last drain */
	int64_t told_ns;  /* the latest time of an event that was told */
};

/* True: status is a failure, which the job has now. */
static inline bool issue_failed(struct issue_engine *e, enum status status)
{
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	return status != STATUS_OK;
}

/* Lets the queue of a stream go on: its wait is over. */
void issue_unblock(struct issue_engine *e, struct stream *s);
/* An event after all that the device's stream was given so far; NULL: the job has failed. */
void *issue_record(struct issue_engine *e, struct stream *s, struct rt_origin at);
/* The device's stream waits for an event, which is the device's again. */
void issue_await(struct issue_engine *e, struct stream *s, void *event, struct rt_origin at);

/* Between looks at the device. waited: us in which nothing has moved; seen: the count that the transport's
 * read gave before the look; a change of it ends the pause. */
void issue_pause(struct issue_engine *e, int64_t waited, uint32_t seen);
/* read of the transport; 0 without one. */
uint32_t issue_seen(const struct issue_engine *e);

/* Communications: queue_issue_comm.c */

struct team *issue_team(struct issue_engine *e, int id);

struct awaited *issue_awaited(struct issue_engine *e, struct rt_ticket t);
/* The device's stream waits for a ticket, of which nothing is unissued. */
void issue_await_ticket(struct issue_engine *e, struct stream *s, struct rt_ticket t, struct rt_origin at);
/* Makes a communication of a submitted item; more: others of its group follow. */
struct comm *issue_comm_new(struct issue_engine *e, struct rt_comm_item *item, bool more);
/* The stream has come to the communication. */
void issue_comm_start(struct issue_engine *e, struct stream *s, struct comm *c);
/* Takes over the work that the transport has given to the device. */
void issue_poll(struct issue_engine *e, bool *moved);
/* The ticket is done; its events may be used again. */
void issue_ticket_end(struct issue_engine *e, struct rt_ticket t);
/* Gives back the tickets that the device is done with. */
void issue_retire(struct issue_engine *e);
void issue_comm_free(struct comm *c); /* NULL is allowed */
/* All communications but those in queues of streams, and the state of tickets. */
void issue_comms_free(struct issue_engine *e);

/* Graphs: queue_issue_graph.c */

/* The device's stream is about to be given something: it is part of the graph from now on if one is made. */
void issue_enter_graph(struct issue_engine *e, struct stream *s, struct rt_origin at);
/* Gives up the graph that is being made. */
void issue_graph_drop(struct issue_engine *e);

/* Tracers: queue_issue_trace.c. Without one, these do nothing. */

/* Before the first event that counts. False: there is no tracer. */
bool issue_trace_clock(struct issue_engine *e);
/* An event when the stream comes here. NULL: nobody is told. */
void *issue_trace_begin(struct issue_engine *e, struct stream *s, struct rt_origin at);
/* A task was launched after `begin`; NULL: nobody is told. */
void issue_trace_task(struct issue_engine *e, struct stream *s, void *begin, struct rt_origin at);
/* Before the stream waits for a ticket. */
void issue_trace_wait(struct issue_engine *e, struct stream *s, struct rt_ticket ticket, struct rt_origin at);
/* The device has a communication, which is done when `end` is over. */
void issue_trace_comm(struct issue_engine *e, const struct comm *c, void *end);
/* An event of a communication is the device's again, if a tracer needs it not before the next drain. */
void issue_release(struct issue_engine *e, void *event);
/* The device has nothing to do: the tracer is told. */
void issue_trace_end(struct issue_engine *e);
void issue_trace_free(struct issue_engine *e); /* teams are still there */

#endif
