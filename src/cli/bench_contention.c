/* bench_contention: see bench_contention.h. */
#include "cli/bench_contention.h"
#include "base/arena.h"
#include "sched/contention.h"
#include <stdlib.h>
#include <string.h>

enum { TIMES = 4 /* products and collectives of a program */ };
#define LEAST_BOTH 0.1 /* part of the shorter of both for which both must run */
#define MOST_PER_MILLE 1000000

/* The statements that measure a collective: its input and output of n elements, or of n for each rank. */
static const struct form {
	enum collective kind;
	const char *input, *output; /* types up to n, which is their last extent */
	const char *layout;         /* of the input, after n */
	const char *call;
} forms[] = {
    {COLLECTIVE_ALLGATHER, "f32[np@x, ", "f32[np, ", "]", "allgather(X, axis=x)"},
    {COLLECTIVE_ALLREDUCE, "f32[", "f32[", "] partial(x)", "allreduce(X, axis=x)"},
    {COLLECTIVE_REDUCE_SCATTER, "f32[np, ", "f32[np@x, ", "] partial(x)", "reduce_scatter(X, axis=x)"},
    {COLLECTIVE_ALL_TO_ALL, "f32[np@x, np, ", "f32[np, np@x, ", "]", "all_to_all(X, axis=x)"},
    {COLLECTIVE_SEND_RECV, "f32[np@x, ", "f32[np@x, ", "]", NULL},
};
enum { FORMS = sizeof forms / sizeof *forms };

void bench_contention_put(struct buf *out, const struct bench_probe *p, unsigned which)
{
	const struct form *f = forms;
	long long n = p->n, side = p->m;
	while (f->kind != p->collective)
		f++;
	buf_printf(out, "  input A: f32[np@x, %lld, %lld]\n  input B: f32[%lld, %lld]\n", side, side, side,
	           side);
	buf_printf(out, "  input X: %s%lld%s\n", f->input, n, f->layout);
	for (unsigned k = 0; k < TIMES; k++) {
		if (which != BENCH_WORKS)
			buf_printf(out, "  output Z%u: %s%lld] = allocate()\n", k, f->output, n);
		if (which != BENCH_WORKS && f->call)
			buf_printf(out, "  Z%u <- %s as c%u\n", k, f->call, k);
		else if (which != BENCH_WORKS)
			buf_printf(out,
			           "  send(X, peer=(rank + 1) %% np) as s%u\n"
			           "  recv(Z%u, peer=(rank + np - 1) %% np) as c%u\n",
			           k, k, k);
		if (which != BENCH_SENDS)
			buf_printf(out,
			           "  output Y%u: f32[np@x, %lld, %lld] = allocate()\n"
			           "  Y%u <- matmul(A, B)\n",
			           k, side, side, k);
		if (which != BENCH_WORKS && !f->call)
			buf_printf(out, "  wait(s%u)\n", k);
		if (which != BENCH_WORKS)
			buf_printf(out, "  wait(c%u)\n", k);
	}
}

unsigned bench_contention_kinds(enum collective out[COLLECTIVE_COUNT])
{
	for (unsigned k = 0; k < FORMS; k++)
		out[k] = forms[k].kind;
	return FORMS;
}

/* ---- times */

static int by_time(const void *a, const void *b)
{
	const struct trace_event *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

struct bench_traced bench_traced_of(const struct trace *t, uint64_t from)
{
	uint64_t n = t->n < t->room ? t->n : t->room;
	struct bench_traced out = {0};
	if (n <= from)
		return out;
	size_t bytes = sizeof *t->event * (size_t)(n - from);
	struct trace_event *event = mem_alloc(bytes);
	int64_t works = 0, comms = 0;
	memcpy(event, t->event + from, bytes);
	qsort(event, (size_t)(n - from), sizeof *event, by_time);
	for (uint64_t k = 0; k < n - from; k++) {
		double passed = k ? (double)(event[k].ns - event[k - 1].ns) : 0;
		int64_t step = event[k].ends ? -1 : 1;
		out.work += works > 0 ? passed : 0;
		out.comm += comms > 0 ? passed : 0;
		out.both += works > 0 && comms > 0 ? passed : 0;
		works += event[k].kind == RT_TRACE_TASK ? step : 0;
		comms += event[k].kind == RT_TRACE_COLLECTIVE || event[k].kind == RT_TRACE_MESSAGE ? step : 0;
	}
	free(event);
	return out;
}

/* Returns the time of 1000 ns beside the other kind, if it took `longer` over `both`. */
static int64_t slowed(double longer, double both)
{
	if (longer <= 0)
		return SCHED_ALONE;
	double left = both - longer, most = MOST_PER_MILLE;
	return left * most <= both * SCHED_ALONE ? MOST_PER_MILLE
	                                         : (int64_t)(SCHED_ALONE * both / left + 0.5);
}

struct cluster_contention bench_contention_of(const struct bench_traced of[BENCH_PROGRAMS])
{
	const struct bench_traced *x = &of[BENCH_BOTH];
	double work = of[BENCH_WORKS].work, comm = of[BENCH_SENDS].comm, least = work < comm ? work : comm;
	if (x->both < LEAST_BOTH * least || x->both < 1)
		return (struct cluster_contention){SCHED_ALONE, SCHED_ALONE};
	return (struct cluster_contention){slowed(x->work - work, x->both), slowed(x->comm - comm, x->both)};
}
