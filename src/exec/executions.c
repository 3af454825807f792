/* executions: see executions.h. */
#include "exec/executions.h"
#include "base/arena.h"
#include "exec/intervals.h"
#include <stdlib.h>
#include <string.h>

uint64_t execution_hash(uint64_t h, const char *text)
{
	return hash_bytes(hash_bytes(h, text, strlen(text)), "\xff",
	                  1); /* a separator that no text contains */
}

static int by_match(const void *a, const void *b)
{
	const struct execution *x = a, *y = b;
	if (x->match != y->match)
		return x->match < y->match ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sort(struct executions *e)
{
	if (e->n)
		qsort(e->at, (size_t)e->n, sizeof *e->at, by_match);
}

static intervals tasks_of(const struct trace_spans *s)
{
	intervals tasks = {0};
	for (uint64_t k = 0; k < s->n; k++)
		if (s->at[k].kind == RT_TRACE_TASK)
			intervals_add(&tasks, s->at[k].begin, s->at[k].end);
	intervals_unite(&tasks);
	return tasks;
}

static struct execution execution_of(const struct rt_job *job, const struct trace_span *x)
{
	uint64_t h = execution_hash(HASH_START, trace_text(job, x->label));
	uint64_t statement = execution_hash(h, trace_where(job, x->label));
	const char *lane = x->kind == RT_TRACE_MESSAGE ? "" : trace_text(job, x->lane);
	return (struct execution){.statement = statement,
	                          .match = execution_hash(statement, lane),
	                          .time = x->end - x->begin,
	                          .bytes = x->bytes,
	                          .rank = job->rank};
}

struct executions executions_own(const struct rt_job *job, const struct trace_spans *s, int64_t offset)
{
	intervals tasks = tasks_of(s);
	struct executions own = {.at = mem_alloc(sizeof *own.at * (size_t)(s->n + 1))};
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind != RT_TRACE_COLLECTIVE && x->kind != RT_TRACE_MESSAGE)
			continue;
		struct execution e = execution_of(job, x);
		e.number = (int64_t)k; /* in the order of spans; matches are counted below */
		e.begin = x->begin + offset;
		e.hidden = intervals_within(&tasks, x->begin, x->end);
		e.span = k;
		own.at[own.n++] = e;
	}
	sort(&own);
	for (uint64_t k = 0; k < own.n; k++)
		own.at[k].number = k && own.at[k].match == own.at[k - 1].match ? own.at[k - 1].number + 1 : 0;
	vec_free(&tasks);
	return own;
}

enum status executions_gather(struct rt_job *job, const void *rows, uint64_t n, size_t bytes, void **out,
                              uint64_t *total)
{
	uint64_t most = 0, *count = mem_zalloc(sizeof *count * (size_t)job->size);
	enum status status = rt_job_allgather(job, "a profile", &n, sizeof n, count);
	for (int k = 0; k < job->size; k++)
		most = count[k] > most ? count[k] : most;
	char *mine = mem_zalloc((size_t)most * bytes + 1);
	char *all = mem_zalloc((size_t)most * bytes * (size_t)job->size + 1);
	if (n)
		memcpy(mine, rows, (size_t)n * bytes);
	if (status == STATUS_OK && most)
		status = rt_job_allgather(job, "a profile", mine, (size_t)most * bytes, all);
	*total = 0;
	for (int k = 0; k < job->size; k++) {
		memmove(all + *total * bytes, all + (size_t)k * (size_t)most * bytes,
		        (size_t)count[k] * bytes);
		*total += count[k];
	}
	*out = all;
	free(mine);
	free(count);
	return status;
}

enum status executions_all(struct rt_job *job, const struct executions *own, struct executions *out)
{
	void *all = NULL;
	enum status status = executions_gather(job, own->at, own->n, sizeof *own->at, &all, &out->n);
	out->at = all;
	sort(out);
	return status;
}

uint64_t executions_end(const struct executions *all, uint64_t k)
{
	uint64_t end = k + 1;
	while (end < all->n && all->at[end].match == all->at[k].match &&
	       all->at[end].number == all->at[k].number)
		end++;
	return end;
}

void executions_meet(const struct rt_job *job, const struct executions *all, int64_t offset,
                     struct trace_spans *s)
{
	for (uint64_t k = 0, end; k < all->n; k = end) {
		int64_t last = INT64_MIN;
		end = executions_end(all, k);
		for (uint64_t i = k; i < end; i++)
			last = all->at[i].begin > last ? all->at[i].begin : last;
		for (uint64_t i = k; i < end; i++) {
			const struct execution *e = &all->at[i];
			struct trace_span *x = e->rank == job->rank ? &s->at[e->span] : NULL;
			if (!x || x->kind != RT_TRACE_COLLECTIVE || end - k < 2)
				continue;
			x->met = last - offset < x->begin ? x->begin : last - offset;
			x->met = x->met > x->end ? x->end : x->met;
		}
	}
}
