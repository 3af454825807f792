/* trace_json: prints spans as events of Chrome's trace format. */
#include "base/chrome.h"
#include "base/vec.h"
#include "exec/trace.h"

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

void trace_json(const struct rt_job *job, const struct trace_spans *s, const struct trace_clock *clock,
                struct buf *out)
{
	struct lanes lanes = {0};
	struct buf name = {0};
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		int64_t begin = x->begin + clock->offset - clock->zero;
		unsigned tid = tid_of(&lanes, x);
		begin = begin < 0 ? 0 : begin; /* clocks of hosts differ by microseconds */
		put_span(job, x, tid, begin, out);
		put_moving(job, x, tid, begin, out);
		if (x->kind == RT_TRACE_WAIT)
			chrome_put_arrow(out, "f", x->id, job->rank, tid, begin + x->arrow - x->begin);
		else if (x->kind != RT_TRACE_TASK)
			chrome_put_arrow(out, "s", x->id, job->rank, tid, begin);
	}
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
