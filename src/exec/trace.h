/* trace: what a rank did, and when.
 *
 * Events go into a buffer that is made, and touched, before the run; nothing is allocated while it runs. A
 * full buffer drops what follows, and counts it.
 *
 *     struct trace *t = trace_new(room);
 *     exec_trace(e, &t->tracer); … exec_run(e); …
 *     struct trace_spans s = trace_spans(t);                                                           */
#ifndef HIRC_EXEC_TRACE_H
#define HIRC_EXEC_TRACE_H
#include "base/str.h"
#include "rt/queue.h"

struct trace_event {
	int64_t ns; /* monotonic clock of the host */
	uint64_t id;
	int64_t iteration;
	uint32_t lane, label;
	uint8_t kind; /* enum rt_trace_kind */
	bool ends;
};

struct trace {
	struct rt_tracer tracer;
	struct trace_event *event; /* owned */
	uint64_t room;
	_Atomic uint64_t n; /* events so far, dropped ones included */
};

struct trace *trace_new(uint64_t room); /* NULL: no memory */
void trace_free(struct trace *t);       /* NULL is allowed */
uint64_t trace_dropped(const struct trace *t);

/* An item from its begin to its end. A wait ends with what it waits for, or at once. */
struct trace_span {
	int64_t begin, end; /* nanoseconds */
	int64_t arrow;      /* of a wait: begin, or that of what it waits for if that is later */
	uint64_t id;        /* of a communication; of a wait: what it waits for */
	int64_t iteration;
	uint32_t lane, label;
	enum rt_trace_kind kind;
};
struct trace_spans {
	struct trace_span *at; /* by begin; owned */
	uint64_t n;
};
/* Items that have ended. */
struct trace_spans trace_spans(const struct trace *t);

/* A label of this rank: "stream 1", or the statement. */
const char *trace_text(const struct rt_job *job, uint32_t label);
/* "f.hir:7", or "". */
const char *trace_where(const struct rt_job *job, uint32_t label);

/* The spans as events of Chrome's trace format, each `{…}` with `,\n` before it: pid = rank, tid = stream or
 * communicator, an arrow from a communication to its wait. zero: the time that is 0; offset: what is added to
 * this rank's clock to have that of rank 0. */
void trace_json(const struct rt_job *job, const struct trace_spans *s, int64_t zero, int64_t offset,
                struct buf *out);

#endif
