/* trace: the events of a rank and their times.
 *
 * Events go into a buffer that is made, and touched, before the run; nothing is allocated while it runs. A
 * full buffer drops later events, and counts them.
 *
 *     struct trace *t = trace_new(room);
 *     exec_trace(e, &t->tracer); … exec_run(e); …
 *     struct trace_spans s = trace_spans(t);                                                           */
#ifndef HIRC_EXEC_TRACE_H
#define HIRC_EXEC_TRACE_H
#include "base/str.h"
#include "base/vec.h"
#include "rt/queue.h"

struct trace_event {
	int64_t ns; /* monotonic clock of the host */
	uint64_t id;
	int64_t iteration;
	int64_t bytes;
	uint32_t lane, label;
	uint8_t kind; /* enum rt_trace_kind */
	bool ends;
};

struct trace {
	struct rt_tracer tracer;
	struct trace_event *event; /* owned */
	uint64_t room;
	_Atomic uint64_t n; /* events so far, dropped ones included */
	VEC(uint64_t) run;  /* event that each run begins with */
};

struct trace *trace_new(uint64_t room); /* NULL: no memory */
void trace_free(struct trace *t);       /* NULL is allowed */
uint64_t trace_dropped(const struct trace *t);
/* Begins another run of the program: later spans belong to it. */
void trace_run(struct trace *t);

/* An item from its begin to its end. A wait ends with the item that it waits for, or at once. */
struct trace_span {
	int64_t begin, end; /* nanoseconds */
	int64_t arrow;      /* of a wait: begin, or that of the awaited item if that is later */
	uint64_t id;        /* of a communication; of a wait: the awaited one */
	int64_t iteration;
	int64_t bytes; /* of a communication's larger buffer, of all of its group */
	int64_t
	    met; /* of a collective: when the last rank had come to it, from begin to end; -1: not known */
	uint32_t lane, label;
	uint32_t run; /* from 0 on */
	enum rt_trace_kind kind;
};
struct trace_spans {
	struct trace_span *at; /* by run, then begin; owned */
	uint64_t n;
};
/* Items that have ended. */
struct trace_spans trace_spans(const struct trace *t);

/* A label of this rank: "stream 1", or the statement. */
const char *trace_text(const struct rt_job *job, uint32_t label);
/* "f.hir:7", or "". */
const char *trace_where(const struct rt_job *job, uint32_t label);

struct trace_clock {
	int64_t zero;   /* the origin, by rank 0's clock */
	int64_t offset; /* addend to this rank's clock to have that of rank 0 */
	int64_t error;  /* of times of a GPU by this rank's clock, at most; 0: there are none */
};
/* The spans as events of Chrome's trace format, each `{…}` with `,\n` before it: pid = rank, tid = stream or
 * communicator, an arrow from a communication to its wait. In a collective that others take part in, `moving`
 * is the time when all of them have come to it. */
void trace_json(const struct rt_job *job, const struct trace_spans *s, const struct trace_clock *clock,
                struct buf *out);

#endif
