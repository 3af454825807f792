/* trace_json: spans as events of Chrome's trace format. */
#include "base/vec.h"
#include "exec/trace.h"

/* Where spans are drawn. Those of one tid are disjoint or nested: messages, of which several are under way,
 * take the first place that is free. */
struct lanes {
	VEC(uint32_t) name;   /* labels of streams and communicators; tid is their place */
	VEC(int64_t) message; /* by place: when its last span ends */
};

enum { MESSAGE_TID = 1000 };

static void put_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			buf_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 32)
			buf_printf(out, "\\u%04x", *text);
		else
			buf_putc(out, *text);
}

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

/* Nanoseconds as microseconds. */
static void put_us(struct buf *out, const char *name, int64_t ns)
{
	buf_printf(out, ", \"%s\": %lld.%03lld", name, (long long)(ns / 1000), (long long)(ns % 1000));
}

static void put_span(const struct rt_job *job, const struct trace_span *s, unsigned tid, int64_t begin,
                     struct buf *out)
{
	static const char *const category[] = {"task", "collective", "message", "wait"};
	buf_puts(out, ",\n{\"ph\": \"X\", \"name\": \"");
	put_text(out, trace_text(job, s->label));
	buf_printf(out, "\", \"cat\": \"%s\", \"pid\": %d, \"tid\": %u", category[s->kind], job->rank, tid);
	put_us(out, "ts", begin);
	put_us(out, "dur", s->end - s->begin);
	buf_puts(out, ", \"args\": {\"where\": \"");
	put_text(out, trace_where(job, s->label));
	buf_putc(out, '"');
	if (s->iteration >= 0)
		buf_printf(out, ", \"iteration\": %lld", (long long)s->iteration);
	buf_puts(out, "}}");
}

/* One end of an arrow: of a communication and the wait that ends it. */
static void put_arrow(const struct rt_job *job, const char *phase, const struct trace_span *s, unsigned tid,
                      int64_t at, struct buf *out)
{
	buf_printf(out,
	           ",\n{\"ph\": \"%s\", \"name\": \"wait\", \"cat\": \"wait\", \"id\": \"%d.%llu\", \"pid\": "
	           "%d, \"tid\": %u",
	           phase, job->rank, (unsigned long long)s->id, job->rank, tid);
	put_us(out, "ts", at);
	buf_puts(out, *phase == 'f' ? ", \"bp\": \"e\"}" : "}");
}

static void put_name(const struct rt_job *job, const char *what, unsigned tid, const char *text,
                     struct buf *out)
{
	buf_printf(out,
	           ",\n{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %d, \"tid\": %u, \"args\": {\"name\": \"",
	           what, job->rank, tid);
	put_text(out, text);
	buf_puts(out, "\"}}");
}

void trace_json(const struct rt_job *job, const struct trace_spans *s, int64_t zero, int64_t offset,
                struct buf *out)
{
	struct lanes lanes = {0};
	struct buf name = {0};
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		int64_t begin = x->begin + offset - zero;
		unsigned tid = tid_of(&lanes, x);
		begin = begin < 0 ? 0 : begin; /* clocks of hosts are aligned up to microseconds */
		put_span(job, x, tid, begin, out);
		if (x->kind == RT_TRACE_WAIT)
			put_arrow(job, "f", x, tid, begin + x->arrow - x->begin, out);
		else if (x->kind != RT_TRACE_TASK)
			put_arrow(job, "s", x, tid, begin, out);
	}
	buf_printf(&name, "rank %d", job->rank);
	put_name(job, "process_name", 0, name.at, out);
	for (uint32_t k = 0; k < lanes.name.n; k++)
		put_name(job, "thread_name", k, trace_text(job, lanes.name.at[k]), out);
	for (uint32_t k = 0; k < lanes.message.n; k++)
		put_name(job, "thread_name", MESSAGE_TID + k, "messages", out);
	buf_free(&name);
	vec_free(&lanes.name);
	vec_free(&lanes.message);
}
