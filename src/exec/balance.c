/* balance: see balance.h. */
#include "exec/balance.h"
#include "exec/intervals.h"
#include <assert.h>

/* Adds one run, the spans from k to end. */
static void add_run(const struct trace_spans *s, uint64_t k, uint64_t end, struct balance *b)
{
	intervals tasks = {0}, all = {0};
	for (; k < end; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind == RT_TRACE_TASK)
			intervals_add(&tasks, x->begin, x->end);
		if (x->kind != RT_TRACE_WAIT)
			intervals_add(&all, x->begin, x->end);
	}
	intervals_unite(&tasks);
	intervals_unite(&all);
	b->wall += all.n ? all.at[all.n - 1].end - all.at[0].begin : 0;
	b->work += intervals_length(&tasks);
	b->exposed += intervals_length(&all) - intervals_length(&tasks);
	b->idle += intervals_gaps(&all);
	vec_free(&tasks);
	vec_free(&all);
}

struct balance balance_of(const struct trace_spans *s)
{
	struct balance b = {0};
	for (uint64_t k = 0, end; k < s->n; k = end) {
		end = k + 1;
		while (end < s->n && s->at[end].run == s->at[k].run)
			end++;
		add_run(s, k, end, &b);
	}
	assert(b.wall == b.work + b.exposed + b.idle);
	return b;
}
