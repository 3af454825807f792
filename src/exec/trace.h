/* trace: records the events of a rank with their times.
 *
 * The buffer of events is allocated and touched before the run; nothing is allocated during it. When the
 * buffer is full, later events are dropped and counted.
 *
 *     struct trace *t = trace_new(room);
 *     exec_trace(e, &t->tracer); … exec_run(e); …
 *     struct trace_spans s = trace_spans(t); */
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
	_Atomic uint64_t n; /* number of events, including dropped ones */
	VEC(uint64_t) run;  /* the first event of each run */
};

struct trace *trace_new(uint64_t room); /* NULL: out of memory */
void trace_free(struct trace *t);       /* NULL is allowed */
uint64_t trace_dropped(const struct trace *t);
/* Begins another run of the program; later spans belong to it. */
void trace_run(struct trace *t);

/* The time of an item, from begin to end. A wait ends with its item, or at once if that is done. */
struct trace_span {
	int64_t begin, end; /* nanoseconds */
	int64_t arrow;      /* wait: begin, or begin of the awaited item if that is later */
	uint64_t id;        /* communication: its id; wait: id of the awaited one */
	int64_t iteration;
	int64_t bytes; /* communication: bytes of the larger buffer; group: of all members */
	int64_t met; /* collective: time when the last rank reached it, within begin and end; -1: not known */
	uint32_t lane, label;
	uint32_t run; /* number of the run, from 0 */
	enum rt_trace_kind kind;
};
struct trace_spans {
	struct trace_span *at; /* sorted by run, then begin; owned */
	uint64_t n;
};
/* Returns the spans of the items that have ended. */
struct trace_spans trace_spans(const struct trace *t);

/* Returns the text of a label of this rank: "stream 1", or the statement. */
const char *trace_text(const struct rt_job *job, uint32_t label);
/* Returns the place of a label: "f.hir:7", or "". */
const char *trace_where(const struct rt_job *job, uint32_t label);

struct trace_clock {
	int64_t zero;   /* time origin, by rank 0's clock */
	int64_t offset; /* addend that turns this rank's clock into that of rank 0 */
	int64_t error;  /* largest error of GPU times by this rank's clock; 0: there are none */
};
/* Appends the spans as events of Chrome's trace format, each as `{…}` after `,\n`. pid is the rank, tid
 * the stream or communicator. An arrow leads from a communication to its wait. `moving` in a collective
 * of several ranks is the time since all ranks have reached it. */
void trace_json(const struct rt_job *job, const struct trace_spans *s, const struct trace_clock *clock,
                struct buf *out);

#endif
