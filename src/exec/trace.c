/* trace: keeps the buffer of events, and makes spans of them. */
#include "exec/trace.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void record_trace_event(struct rt_tracer *tracer, const struct rt_trace_mark *m)
{
	struct trace *t = (struct trace *)tracer; /* the tracer is the first member */
	uint64_t k = atomic_fetch_add_explicit(&t->n, 1, memory_order_relaxed);
	struct timespec now;
	int64_t ns = m->ns;
	if (k >= t->room)
		return;
	if (!ns) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	t->event[k] = (struct trace_event){.ns = ns,
	                                   .id = m->id,
	                                   .iteration = m->at.iteration,
	                                   .bytes = m->bytes,
	                                   .lane = m->lane,
	                                   .label = m->at.label,
	                                   .kind = (uint8_t)m->kind,
	                                   .ends = m->ends};
}

struct trace *trace_new(uint64_t room)
{
	struct trace_event *event = malloc(sizeof *event * (size_t)(room + 1));
	if (!event)
		return NULL;
	struct trace *t = mem_zalloc(sizeof *t);
	t->tracer.event = record_trace_event;
	t->room = room;
	t->event = event;
	memset(t->event, 0xff,
	       sizeof *t->event * (size_t)(room + 1)); /* touches the pages now, not during the run */
	return t;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	vec_free(&t->run);
	free(t->event);
	free(t);
}

void trace_run(struct trace *t)
{
	vec_push(&t->run, atomic_load(&t->n));
}

static uint64_t kept(const struct trace *t)
{
	uint64_t n = atomic_load(&t->n);
	return n < t->room ? n : t->room;
}

uint64_t trace_dropped(const struct trace *t)
{
	return atomic_load(&t->n) - kept(t);
}

/* ---- spans */

static int by_begin(const void *a, const void *b)
{
	const struct trace_span *x = a, *y = b;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static struct trace_span span_of(const struct trace_event *e)
{
	return (struct trace_span){.begin = e->ns,
	                           .end = -1,
	                           .met = -1,
	                           .id = e->id,
	                           .iteration = e->iteration,
	                           .lane = e->lane,
	                           .label = e->label,
	                           .kind = (enum rt_trace_kind)e->kind};
}

/* Ends each wait at the end of its communication. by_id: index of the communication's span + 1. */
static void end_waits(struct trace_spans *s, const uint64_t *by_id, uint64_t ids)
{
	for (uint64_t k = 0; k < s->n; k++) {
		struct trace_span *w = &s->at[k];
		if (w->kind != RT_TRACE_WAIT)
			continue;
		uint64_t c = w->id < ids ? by_id[w->id] : 0;
		w->end = c && s->at[c - 1].end > w->begin ? s->at[c - 1].end : w->begin;
		w->arrow = c && s->at[c - 1].begin > w->begin ? s->at[c - 1].begin : w->begin;
	}
}

struct trace_spans trace_spans(const struct trace *t)
{
	struct trace_spans s = {0};
	uint64_t n = kept(t), ids = 1, done = 0, task = 0;
	uint32_t run = 0;
	for (uint64_t k = 0; k < n; k++)
		ids = t->event[k].id >= ids ? t->event[k].id + 1 : ids;
	uint64_t *by_id = mem_zalloc(sizeof *by_id * (size_t)ids);
	s.at = mem_alloc(sizeof *s.at * (size_t)(n + 1));
	for (uint64_t k = 0; k < n; k++) {
		const struct trace_event *e = &t->event[k];
		uint64_t *open = e->kind == RT_TRACE_TASK && !e->id ? &task : &by_id[e->id]; /* index + 1 */
		while (run + 1 < t->run.n && t->run.at[run + 1] <= k)
			run++;
		if (e->ends) {
			if (*open && e->ns > s.at[*open - 1].end)
				s.at[*open - 1].end = e->ns;
			if (*open)
				s.at[*open - 1].bytes += e->bytes;
			continue;
		}
		s.at[s.n++] = span_of(e);
		s.at[s.n - 1].run = run;
		if (e->kind != RT_TRACE_WAIT)
			*open = s.n;
	}
	end_waits(&s, by_id, ids);
	for (uint64_t k = 0; k < s.n; k++)
		if (s.at[k].end >= 0)
			s.at[done++] = s.at[k];
	s.n = done;
	qsort(s.at, (size_t)s.n, sizeof *s.at, by_begin);
	free(by_id);
	return s;
}

/* ---- texts */

const char *trace_text(const struct rt_job *job, uint32_t label)
{
	return label ? job->board->rank[job->rank - job->board->first].text + label : "";
}

const char *trace_where(const struct rt_job *job, uint32_t label)
{
	const char *text = trace_text(job, label);
	return label ? text + strlen(text) + 1 : "";
}
