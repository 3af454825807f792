/* queue: the stream engine of one rank.
 *
 * The host thread issues work to in-order streams; every wait is inside a stream. Four engines do the work:
 *
 *   inline  the host thread itself. Ready work runs in the submit. A stream that waits for something that
 *           is not done is blocked: its later work is queued, and the host goes on to other streams. Queues
 *           go on as soon as a submit or rt_drain sees that they can.
 *   lanes   two threads, to which the host passes everything by queues:
 *
 *     host ──submit──> stream 0 ─┐
 *                      stream 1 ─┼─> compute lane: runs heads that are ready, passes by those that wait
 *                      main     ─┘
 *                      communicator (0 1) ─┐
 *                      communicator (0 2) ─┼─> communication lane: starts ready work, polls all
 *                      messages            ─┘
 *
 *   issue   that of devices that work on their own (struct rt_async_ops): submitted work is given to the
 *           device at once, where its streams and events keep the order.
 *   adversary  the host thread, as late and in as odd an order as streams and waits allow: struct
 * rt_adversary.
 *
 * Collectives of a team run one after the other in order of issue, those of a group start together; messages
 * any number at once. The host
 * blocks in rt_drain only, for moments in rt_submit_wait, and while it is far ahead: with 65536 items
 * outstanding as long as anything in the job moves. All functions are called by the rank's host thread.
 * Issuing never deadlocks: when nothing moves it goes on, to the limit of 4194304 items. After a failure
 * submits do nothing and rt_drain returns the status. */
#ifndef HIRC_RT_QUEUE_H
#define HIRC_RT_QUEUE_H
#include "rt/device.h"
#include "rt/job.h"
#include "rt/transport.h"

struct rt_engine;
struct rt_stream; /* lives as long as its engine */

/* A communication that was issued. All zero: none, always done. May be waited for any number of times. */
struct rt_ticket {
	uint32_t slot, generation;
	uint32_t id; /* tracer's, of the communication or of the first of a group */
};

/* name: "inline", "lanes", "issue", "adversary", or "auto" (issue if the device works on its own, else
 * inline). The transport belongs to the engine until rt_engine_free; it may be NULL in programs without
 * communication. */
enum status rt_engine_new(struct rt_job *job, const char *name, struct rt_device *device,
                          struct rt_transport *transport, struct rt_engine **out);
/* Ends running work (unfinished work is dropped) and frees. Device and transport stay. */
void rt_engine_free(struct rt_engine *e);

/* The order in which the engine `adversary` does the steps that can be done. */
enum rt_order {
	RT_HOLD_ONE,     /* some streams and statements wait as long as anything else can go on */
	RT_LAST_FIRST,   /* the work issued last */
	RT_ANY_FIRST,    /* at random */
	RT_OLDEST_FIRST, /* in the order of issue */
};
struct rt_adversary {
	uint64_t seed; /* seed, program and number of ranks are an order, but for waits on other ranks */
	enum rt_order order;
	bool blocking; /* the host goes on when a collective is done */
	bool far;      /* all is issued before anything has to be done */
	int64_t queue; /* statements behind which a stream is full, and the host waits for room; 0: none */
};
/* Collective, right after rt_engine_new: every rank gives the same. */
enum status rt_engine_set_adversary(struct rt_engine *e, const struct rt_adversary *how);

/* Marks of all later submissions, for the engine adversary. Held items are done after all awaited ones,
 * on any rank if ranks share memory; if nothing but held items can go on, the job fails with
 * STATUS_DIAGNOSTICS. */
enum rt_mark {
	RT_MARK_NONE,
	RT_MARK_HELD,        /* tasks, and starts of communications */
	RT_MARK_RESULT_HELD, /* tasks, and the results of communications, which are done but for those */
	RT_MARK_AWAITED,
};
void rt_submit_mark(struct rt_engine *e, enum rt_mark mark);

/* The stream of an index >= 0 (made at first use, named `stream 3`; the caller does the modulo). */
struct rt_stream *rt_stream_get(struct rt_engine *e, int64_t index);
/* A new stream for a handle; name: `main`, `stream 0x1`. */
struct rt_stream *rt_stream_new(struct rt_engine *e, const char *name);

/* Runs a task in s after all that s was given. The record is copied, unless it is fixed. */
void rt_submit_compute(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task,
                       struct rt_origin at);
/* current waits for all that other was given so far. */
void rt_submit_sync(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
                    struct rt_origin at);
/* Starts after all that current was given so far and after the earlier collectives of its team; current goes
 * on at once. A team that this rank is no member of: nothing, the zero ticket. */
struct rt_ticket rt_submit_collective(struct rt_engine *e, struct rt_stream *current,
                                      const struct rt_collective *c);
/* Starts after all that current was given so far; any number are under way at once. Sets the sequence. */
struct rt_ticket rt_submit_p2p(struct rt_engine *e, struct rt_stream *current, const struct rt_p2p *p);
/* Between begin and end submits of collectives and messages are held back (their tickets are zero; the
 * streams they name do not matter); end issues them in order, each starting after the work of current. The
 * ticket is done when all are. Collectives of a team that stand together in a group all start before any is
 * waited for, and are one to a tracer. Groups do not nest. An empty group gives the zero ticket. */
void rt_group_begin(struct rt_engine *e);
struct rt_ticket rt_group_end(struct rt_engine *e, struct rt_stream *current, struct rt_origin at);
/* current waits until the ticket is done; the host goes on. */
void rt_submit_wait(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
                    struct rt_origin at);

/* A tracer is called when an item begins and when it ends, by the thread that does it: with lanes tasks and
 * communications by two threads. An item that is done when it starts (a team of one) begins and ends. A wait
 * has a begin only, when its stream comes to it. The engine issue tells all of it in rt_drain, by the times
 * of events of the device: a communication begins when its stream has come to it and those before it of its
 * team are done. */
enum rt_trace_kind { RT_TRACE_TASK, RT_TRACE_COLLECTIVE, RT_TRACE_MESSAGE, RT_TRACE_WAIT };
struct rt_trace_mark {
	enum rt_trace_kind kind;
	bool ends;
	uint64_t id;   /* of the item, the same in both calls; of a wait: what it waits for; tasks of a host
	                * that   does one at a time: 0 */
	uint32_t lane; /* label of its stream or communicator; 0: it has none */
	struct rt_origin at;
	int64_t bytes; /* where a communication ends: of its larger buffer */
	int64_t ns;    /* monotonic clock of the host; 0: now */
};
struct rt_tracer {
	void (*event)(struct rt_tracer *t, const struct rt_trace_mark *m);
	int64_t error_ns; /* by which times that are not now may be wrong, at most */
};
/* Before the first submit. The tracer outlives the engine. Times have their cost, and there are no graphs. */
enum status rt_engine_trace(struct rt_engine *e, struct rt_tracer *t);

/* Begins a graph, in the engine issue: items submitted from begin to end, after an rt_drain, are not done,
 * but become a graph that begins and ends in `main`. rt_replay does it, as often as it is called; rt_drain
 * waits for it. The graph is to be freed before the engine. */
enum status rt_capture_begin(struct rt_engine *e, struct rt_stream *main);
enum status rt_capture_end(struct rt_engine *e, struct rt_stream *main, void **graph);
enum status rt_replay(struct rt_engine *e, struct rt_stream *main, void *graph);
void rt_graph_free(struct rt_engine *e, void *graph); /* NULL is allowed */
/* Returns true if there are graphs: of this device, with this transport. */
bool rt_engine_captures(const struct rt_engine *e);

/* Blocks until everything issued is done, the job has failed, or nothing has moved for job->timeout_ms
 * (prints where each rank and stream stands; STATUS_STUCK). The engine can be used again after STATUS_OK. */
enum status rt_drain(struct rt_engine *e);

#endif
