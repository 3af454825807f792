/* sim_trace: writes a simulation in Chrome's trace format: a process for each class of ranks, a thread for
 * each lane. A lane of messages may have several in flight; each takes the first free thread. */
#include "base/chrome.h"
#include "sim/timeline.h"

enum { MESSAGE_TID = 1000 };

struct places {
	VEC(int64_t) end; /* by thread: end of its last message */
};

static unsigned tid_of(struct places *p, const struct timeline_span *s)
{
	uint32_t k = 0;
	if (s->kind != TIMELINE_MESSAGE)
		return s->lane;
	while (k < p->end.n && p->end.at[k] > s->begin)
		k++;
	if (k == p->end.n)
		vec_push(&p->end, 0);
	p->end.at[k] = s->end;
	return MESSAGE_TID + k;
}

/* Draws an arrow from the begin of communication to each wait for it, or to the place where it would wait. */
static void put_spans(struct timeline *t, const struct timeline_class *c, int pid, struct places *places,
                      struct buf *out)
{
	static const char *const category[] = {"task", "collective", "message", "wait"};
	unsigned *tid = mem_alloc(sizeof *tid * ((size_t)c->span.n + 1));
	for (uint32_t k = 0; k < c->span.n; k++) {
		const struct timeline_span *s = &c->span.at[k];
		tid[k] = tid_of(places, s);
		chrome_put_span(out, &(struct chrome_span){.name = timeline_label(t, s->op),
		                                           .category = category[s->kind],
		                                           .where = timeline_where(t, s->op),
		                                           .begin = s->begin,
		                                           .end = s->end,
		                                           .iteration = s->iteration,
		                                           .pid = pid,
		                                           .tid = tid[k]});
	}
	for (uint32_t k = 0; k < c->span.n; k++) {
		const struct timeline_span *wait = &c->span.at[k];
		if (wait->comm == TIMELINE_NONE)
			continue;
		int64_t from = c->span.at[wait->comm].begin;
		chrome_put_arrow(out, "s", k, pid, tid[wait->comm], from);
		chrome_put_arrow(out, "f", k, pid, tid[k], wait->begin > from ? wait->begin : from);
	}
	free(tid);
}

void timeline_trace(struct timeline *t, struct buf *out)
{
	size_t head;
	buf_puts(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
	head = out->n;
	for (uint32_t k = 0; k < t->class.n; k++) {
		const struct timeline_class *c = &t->class.at[k];
		struct places places = {0};
		int pid = (int)k;
		put_spans(t, c, pid, &places, out);
		for (uint32_t i = 0; i < c->memory.n; i++)
			chrome_put_counter(out, "memory", "bytes", pid, c->memory.at[i].at,
			                   c->memory.at[i].bytes);
		chrome_put_name(out, "process_name", pid, 0, c->name);
		for (uint32_t i = 0; i < c->lane.n; i++)
			chrome_put_name(out, "thread_name", pid, i, c->lane.at[i].name);
		for (uint32_t i = 0; i < places.end.n; i++)
			chrome_put_name(out, "thread_name", pid, MESSAGE_TID + i, "messages");
		vec_free(&places.end);
	}
	if (out->n > head)
		memcpy(out->at + head, "\n ", 2); /* each event has `,\n` before it */
	buf_puts(out, "\n]}\n");
}
