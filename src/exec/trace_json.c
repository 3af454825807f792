/* trace_json: prints spans as events of Chrome's trace format. */
#include "base/arena.h"
#include "base/chrome.h"
#include "base/vec.h"
#include "exec/trace.h"
#include <stdlib.h>

/* The rows in which spans are drawn. Spans of one tid must be disjoint or nested, but several messages
 * may be in flight. So each message takes the first free row. */
struct lanes {
	VEC(uint32_t) name;   /* labels of streams and communicators; the index is the tid */
	VEC(int64_t) message; /* by row: end of its last span */
};

enum { MESSAGE_TID = 1000 };

static unsigned tid_of(struct lanes *l, const struct trace_span *s)
{
	if (s->kind == RT_TRACE_MESSAGE || !s->lane) {
		uint32_t k = 0;
		while (k < l->message.n && l->message.at[k] > s->begin)
			k++;
		if (k == l->message.n)
			vec_push(&l->message, 0);
		l->message.at[k] = s->end;
		return MESSAGE_TID + k;
	}
	uint32_t k = 0;
	while (k < l->name.n && l->name.at[k] != s->lane)
		k++;
	if (k == l->name.n)
		vec_push(&l->name, s->lane);
	return k;
}

static void put_span(const struct rt_job *job, const struct trace_span *s, unsigned tid, int64_t begin,
                     struct buf *out)
{
	static const char *const category[] = {"task", "collective", "message", "wait"};
	chrome_put_span(out, &(struct chrome_span){.name = trace_text(job, s->label),
	                                           .category = category[s->kind],
	                                           .where = trace_where(job, s->label),
	                                           .begin = begin,
	                                           .end = begin + s->end - s->begin,
	                                           .iteration = s->iteration,
	                                           .pid = job->rank,
	                                           .tid = tid});
}

/* Draws the span in which data moved, from the arrival of the last rank on. */
static void put_moving(const struct rt_job *job, const struct trace_span *s, unsigned tid, int64_t begin,
                       struct buf *out)
{
	if (s->met >= 0)
		chrome_put_span(out, &(struct chrome_span){.name = "moving",
		                                           .category = "moving",
		                                           .where = "",
		                                           .begin = begin + s->met - s->begin,
		                                           .end = begin + s->end - s->begin,
		                                           .iteration = -1,
		                                           .pid = job->rank,
		                                           .tid = tid});
}

/* The times of spans in the file: those of hosts' clocks are aligned up to microseconds, and none is
 * negative. */
static int64_t drawn_begin(const struct trace_span *s, const struct trace_clock *clock)
{
	int64_t begin = s->begin + clock->offset - clock->zero;
	return begin < 0 ? 0 : begin;
}

/* Draws an arrow to each wait from the span that it waits for, which the trace may have dropped. */
static void put_arrows(const struct rt_job *job, const struct trace_spans *s, const unsigned *tid,
                       const struct trace_clock *clock, struct buf *out)
{
	uint64_t ids = 1;
	for (uint64_t k = 0; k < s->n; k++)
		ids = s->at[k].id >= ids ? s->at[k].id + 1 : ids;
	uint64_t *by_id = mem_zalloc(sizeof *by_id * (size_t)ids); /* 1 + place */
	for (uint64_t k = 0; k < s->n; k++)
		if (s->at[k].kind != RT_TRACE_WAIT && s->at[k].kind != RT_TRACE_TASK)
			by_id[s->at[k].id] = k + 1;
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *wait = &s->at[k];
		const uint64_t from = by_id[wait->id];
		if (wait->kind != RT_TRACE_WAIT || !from)
			continue;
		chrome_put_arrow(out, "s", k, job->rank, tid[from - 1], drawn_begin(&s->at[from - 1], clock));
		chrome_put_arrow(out, "f", k, job->rank, tid[k],
		                 drawn_begin(wait, clock) + wait->arrow - wait->begin);
	}
	free(by_id);
}

void trace_json(const struct rt_job *job, const struct trace_spans *s, const struct trace_clock *clock,
                struct buf *out)
{
	struct lanes lanes = {0};
	struct buf name = {0};
	unsigned *tid = mem_alloc(sizeof *tid * (size_t)(s->n + 1));
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		int64_t begin = drawn_begin(x, clock);
		tid[k] = tid_of(&lanes, x);
		put_span(job, x, tid[k], begin, out);
		put_moving(job, x, tid[k], begin, out);
	}
	put_arrows(job, s, tid, clock, out);
	free(tid);
	buf_printf(&name, "rank %d", job->rank);
	if (clock->error)
		buf_printf(&name, " (clock of its GPU matched up to %.3f us)", (double)clock->error / 1e3);
	chrome_put_name(out, "process_name", job->rank, 0, name.at);
	for (uint32_t k = 0; k < lanes.name.n; k++)
		chrome_put_name(out, "thread_name", job->rank, k, trace_text(job, lanes.name.at[k]));
	for (uint32_t k = 0; k < lanes.message.n; k++)
		chrome_put_name(out, "thread_name", job->rank, MESSAGE_TID + k, "messages");
	buf_free(&name);
	vec_free(&lanes.name);
	vec_free(&lanes.message);
}
