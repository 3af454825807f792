/* queue: the stream engine of one rank.
 *
 * The host thread issues work to in-order streams; every wait is in a stream. There are four engines:
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
struct rt_stream; /* valid as long as its engine */

/* A communication that was issued. All zero: none, always done. It may be waited for any number of
 * times. */
struct rt_ticket {
	uint32_t slot, generation;
	uint32_t id; /* for a tracer: id of the communication or of the first of a group */
};

/* name: "inline", "lanes", "issue", "adversary", or "auto" (issue if the device works on its own,
 * otherwise inline). The engine uses the transport until rt_engine_free. It may be NULL for programs
 * without communication. */
enum status rt_engine_new(struct rt_job *job, const char *name, struct rt_device *device,
                          struct rt_transport *transport, struct rt_engine **out);
/* Ends running work, drops unfinished work, and frees the engine. Device and transport are not freed. */
void rt_engine_free(struct rt_engine *e);

/* The order in which the engine `adversary` executes the steps that are possible. */
enum rt_order {
	RT_HOLD_ONE,     /* some streams and statements wait as long as anything else is possible */
	RT_LAST_FIRST,   /* the work issued last goes first */
	RT_ANY_FIRST,    /* random */
	RT_OLDEST_FIRST, /* in the order of issue */
};
struct rt_adversary {
	uint64_t seed; /* seed, program and number of ranks fix the order, but for waits on ranks */
	enum rt_order order;
	bool blocking; /* the host waits until a collective is done */
	bool far;      /* everything is issued before anything must be done */
	int64_t queue; /* a stream is full after so many statements, and the host waits for room; 0: never */
};
/* Collective, right after rt_engine_new; every rank must pass the same values. */
enum status rt_engine_set_adversary(struct rt_engine *e, const struct rt_adversary *how);

/* Marks all later submissions, for the engine adversary. Held items are done after all awaited ones, on
 * any rank if ranks share memory. If only held items can continue, the job fails with
 * STATUS_DIAGNOSTICS. */
enum rt_mark {
	RT_MARK_NONE,
	RT_MARK_HELD,        /* for tasks and starts of communications */
	RT_MARK_RESULT_HELD, /* for tasks and results of communications; only the results are late */
	RT_MARK_AWAITED,
};
void rt_submit_mark(struct rt_engine *e, enum rt_mark mark);

/* Returns the stream of an index >= 0, and makes it at the first use, with the name `stream 3`. The
 * caller applies the modulo. */
struct rt_stream *rt_stream_get(struct rt_engine *e, int64_t index);
/* Makes a stream for a handle; name: `main`, `stream 0x1`. */
struct rt_stream *rt_stream_new(struct rt_engine *e, const char *name);

/* Runs a task in s after everything that was given to s. The record is copied, unless it is fixed. */
void rt_submit_compute(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task,
                       struct rt_origin at);
/* Makes `current` wait for everything given to `other` so far. */
void rt_submit_sync(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
                    struct rt_origin at);
/* Starts a collective after everything given to `current` so far and after earlier collectives of its
 * team; `current` does not wait. If this rank is not in the team, it does nothing and returns the zero
 * ticket. */
struct rt_ticket rt_submit_collective(struct rt_engine *e, struct rt_stream *current,
                                      const struct rt_collective *c);
/* Starts a message after everything given to `current` so far; any number may be in flight. Sets the
 * sequence. */
struct rt_ticket rt_submit_p2p(struct rt_engine *e, struct rt_stream *current, const struct rt_p2p *p);
/* From begin to end, submitted collectives and messages are held back; their tickets are zero, and their
 * streams are ignored. end issues them in order, each after the work of `current`. The ticket is done
 * when all are. Collectives of a team that are next to each other in a group all start before any is
 * waited for, and are one item for a tracer. Groups cannot be nested. An empty group gives the zero
 * ticket. */
void rt_group_begin(struct rt_engine *e);
struct rt_ticket rt_group_end(struct rt_engine *e, struct rt_stream *current, struct rt_origin at);
/* Makes `current` wait until the ticket is done; the host goes on. */
void rt_submit_wait(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
                    struct rt_origin at);

/* A tracer is called at the begin and at the end of an item, by the thread that executes it; with lanes,
 * tasks and communications are on two threads. An item that is done at its start (a team of one) has
 * both calls. A wait has only a begin, when its stream reaches it. The engine issue makes all calls in
 * rt_drain, with times of device events: a communication begins when its stream has reached it and
 * earlier ones of its team are done. */
enum rt_trace_kind { RT_TRACE_TASK, RT_TRACE_COLLECTIVE, RT_TRACE_MESSAGE, RT_TRACE_WAIT };
struct rt_trace_mark {
	enum rt_trace_kind kind;
	bool ends;
	uint64_t id;   /* of the item, the same in both calls; of a wait: what it waits for; tasks of a host
	                * that   does one at a time: 0 */
	uint32_t lane; /* label of its stream or communicator; 0: none */
	struct rt_origin at;
	int64_t bytes; /* end of a communication: bytes of its larger buffer */
	int64_t ns;    /* monotonic clock of the host; 0: now */
};
struct rt_tracer {
	void (*event)(struct rt_tracer *t, const struct rt_trace_mark *m);
	int64_t error_ns; /* largest error of times that are not now */
};
/* Call it before the first submit. The tracer must outlive the engine. Tracing takes time, and excludes
 * graphs. */
enum status rt_engine_trace(struct rt_engine *e, struct rt_tracer *t);

/* Begins a graph, in the engine issue. Items submitted from begin to end, after an rt_drain, are not
 * executed; they become a graph that begins and ends in `main`. rt_replay executes it each time it is
 * called; rt_drain waits for it. Free the graph before the engine. Make rt_engine_graphs of the same items, and replay
 * them in turn. */
unsigned rt_engine_graphs(const struct rt_engine *e);
enum status rt_capture_begin(struct rt_engine *e, struct rt_stream *main);
enum status rt_capture_end(struct rt_engine *e, struct rt_stream *main, void **graph);
enum status rt_replay(struct rt_engine *e, struct rt_stream *main, void *graph);
void rt_graph_free(struct rt_engine *e, void *graph); /* NULL is allowed */
/* Returns true if this device supports graphs, and no trace needs the times of its calls. */
bool rt_engine_captures(const struct rt_engine *e);

/* Blocks until everything issued is done, the job has failed, or nothing has moved for job->timeout_ms;
 * then it prints where each rank and stream is and returns STATUS_STUCK. The engine can be used again
 * after STATUS_OK. */
enum status rt_drain(struct rt_engine *e);

#endif
