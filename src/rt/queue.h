/* queue: the stream engine of one rank.
 *
 * The host thread issues work to in-order streams and goes on; two lanes (threads) do it:
 *
 *     host ──submit──> stream 0 ─┐
 *                      stream 1 ─┼─> compute lane: runs heads that are ready, passes by those that wait
 *                      main     ─┘
 *                      communicator (0 1) ─┐
 *                      communicator (0 2) ─┼─> communication lane: starts what is ready, polls all
 *                      messages            ─┘
 *
 * Every wait is inside a queue; the host blocks in rt_drain only, and while it is far ahead of the lanes:
 * with 65536 items outstanding as long as anything in the job moves. All functions are called by the rank's
 * host thread. Issuing never deadlocks: when nothing moves it goes on, to the limit of 4194304 items.
 * After a failure submits do nothing and rt_drain returns the status. */
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
};

/* Starts the lanes. The transport belongs to the engine's communication lane until rt_engine_free. transport
 * may be NULL in programs without communication. */
enum status rt_engine_new(struct rt_job *job, struct rt_device *device, struct rt_transport *transport,
                          struct rt_engine **out);
/* Stops the lanes (work that is not done is dropped) and frees. Device and transport stay. */
void rt_engine_free(struct rt_engine *e);

/* The stream of an index >= 0 (made at first use, named `stream 3`; the caller does the modulo). */
struct rt_stream *rt_stream_get(struct rt_engine *e, int64_t index);
/* A new stream for a handle; name: `main`, `stream 0x1`. */
struct rt_stream *rt_stream_new(struct rt_engine *e, const char *name);

/* Runs a task in s after all that s was given. The record is copied. */
void rt_submit_compute(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task);
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
 * streams they name do not matter); end issues them in order, each starting after what current was given. The
 * ticket is done when all are. Groups do not nest. An empty group gives the zero ticket. */
void rt_group_begin(struct rt_engine *e);
struct rt_ticket rt_group_end(struct rt_engine *e, struct rt_stream *current, struct rt_origin at);
/* current waits until the ticket is done; the host goes on. */
void rt_submit_wait(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
                    struct rt_origin at);

/* Blocks until everything issued is done, the job has failed, or nothing has moved for job->timeout_ms
 * (prints what each rank and stream stands in; STATUS_STUCK). The engine can be used again after STATUS_OK.
 */
enum status rt_drain(struct rt_engine *e);

#endif
