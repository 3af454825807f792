/* optimum FILE…: compares schedules and lower bounds of small graphs with the optimum.
 *
 *     optimum [--effort=N] [--list] FILE…
 *
 * Each graph is scheduled without a limit that matters, within the peak of its original order, and
 * within the least peak of all orders. It is an error (exit code 1) if a lower bound is above the
 * optimum, or if a schedule is below it or above its limit. The table says how many schedules are
 * optimal, the worst excess over the optimum, and for how many graphs no schedule was found; then for how
 * many graphs the bound is the optimum, and the excess of the optimum over it. `--list` names the graphs
 * whose schedule is not optimal. */
#include "base/arena.h"
#include "base/diag.h"
#include "base/source_read.h"
#include "cost/block.h"
#include "import/import.h"
#include "optimum/optimum.h"
#include "sched/sched_bound.h"
#include "sched/schedule.h"
#include "unit/test_sched.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 9 }; /* nodes of graphs whose orders are all tried, one after the other */
enum limit { ROOMY, ORIGINAL, LEAST, LIMITS };
static const char *const limit_name[LIMITS] = {"no limit", "the original peak", "the least peak"};

struct excess { /* by how much graphs are off, in percent of the optimum */
	double worst;
	const char *graph;
	double *at;
	uint32_t n;
};

struct tally {
	uint32_t graphs, optimal, none, reached;
	struct excess schedule, bound;
};

struct run {
	int effort;
	bool list;
	uint32_t skipped, errors;
	struct tally tally[LIMITS];
};

static void report_error(struct run *r, const char *graph, enum limit limit, const char *text, int64_t value,
                         int64_t optimum)
{
	printf("%s: %s: %s: %lld ns, and the optimum is %lld ns\n", graph, limit_name[limit], text,
	       (long long)value, (long long)optimum);
	r->errors++;
}

static void add_excess(struct excess *e, const char *graph, double percent, uint32_t graphs)
{
	if (!e->at)
		e->at = mem_alloc(sizeof *e->at * graphs);
	e->at[e->n++] = percent;
	if (percent > e->worst || !e->graph) {
		e->worst = percent;
		e->graph = graph;
	}
}

static void check_bound(struct run *r, const char *graph, enum limit limit, const struct sched_problem *p,
                        bool bucket, int64_t bytes, int64_t optimum)
{
	int64_t within = sched_bound_within(p, bucket, bytes).runtime, any = sched_bound(p, bucket).runtime;
	if (within > optimum)
		report_error(r, graph, limit,
		             bucket ? "the bound is too high" : "the bound without buckets is too high",
		             within, optimum);
	if (any > optimum)
		report_error(r, graph, limit, "the bound that ignores memory is too high", any, optimum);
}

static void compare(struct run *r, const char *graph, enum limit limit, const struct sched_problem *p,
                    int64_t bytes, uint32_t graphs)
{
	struct tally *t = &r->tally[limit];
	struct sched_options o = {.limit = bytes, .effort = r->effort, .bucket = true};
	struct sched_schedule s;
	bool found = sched_schedule(p, &o, &s);
	int64_t optimum = optimum_runtime(p, true, bytes, INT64_MAX),
	        alone = optimum_runtime(p, false, bytes, INT64_MAX);
	int64_t bound = sched_bound_within(p, true, bytes).runtime;
	t->graphs++;
	check_bound(r, graph, limit, p, true, bytes, optimum);
	check_bound(r, graph, limit, p, false, bytes, alone);
	t->reached += bound == optimum;
	add_excess(&t->bound, graph, bound ? 100.0 * (double)(optimum - bound) / (double)bound : 0, graphs);
	if (!found) {
		t->none++;
	} else {
		int64_t runtime = s.result.runtime;
		if (runtime < optimum)
			report_error(r, graph, limit, "the schedule is too good", runtime, optimum);
		if (s.result.peak > bytes || !sched_is_schedule(&s.b.p, s.order)) {
			printf("%s: %s: the schedule has a peak of %lld bytes, and the limit is %lld\n",
			       graph, limit_name[limit], (long long)s.result.peak, (long long)bytes);
			r->errors++;
		}
		t->optimal += runtime == optimum;
		add_excess(&t->schedule, graph,
		           optimum ? 100.0 * (double)(runtime - optimum) / (double)optimum : 0, graphs);
	}
	if (r->list && (!found || s.result.runtime != optimum))
		printf("%s: %s: effort %d %s %.3f us, the optimum takes %.3f us, the bound is %.3f us\n",
		       graph, limit_name[limit], r->effort, found ? "takes" : "finds no schedule;",
		       (double)s.result.runtime / 1e3, (double)optimum / 1e3, (double)bound / 1e3);
	sched_schedule_free(&s);
}

static int64_t runtime_of(struct sched_result r)
{
	return r.runtime;
}

static int64_t peak_of(struct sched_result r)
{
	return r.peak;
}

/* Compares the search with all orders, one after the other. */
static void check_search(struct run *r, const char *graph, const struct sched_problem *p)
{
	int64_t runtime = least_of_orders(p, runtime_of), peak = least_of_orders(p, peak_of);
	int64_t found = optimum_runtime(p, false, INT64_MAX, INT64_MAX);
	if (found != runtime || optimum_peak(p) != peak) {
		printf("%s: the search finds %lld ns and %lld bytes; the best order has %lld ns and %lld "
		       "bytes\n",
		       graph, (long long)found, (long long)optimum_peak(p), (long long)runtime,
		       (long long)peak);
		r->errors++;
	}
}

static void compare_problem(struct run *r, const char *graph, const struct sched_problem *p, uint32_t graphs)
{
	uint32_t *order = mem_alloc(sizeof *order * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	int64_t original = sched_simulate(p, order, NULL).peak;
	free(order);
	if (!optimum_is_possible(p)) {
		r->skipped++;
		return;
	}
	if (p->n <= FEW)
		check_search(r, graph, p);
	compare(r, graph, ROOMY, p, original + ((int64_t)1 << 30), graphs);
	compare(r, graph, ORIGINAL, p, original, graphs);
	compare(r, graph, LEAST, p, optimum_peak(p), graphs);
}

static bool compare_file(struct run *r, struct diag *d, const struct cluster *cluster, const char *path,
                         uint32_t graphs)
{
	struct source *s;
	struct block b;
	if (source_read(d, path, &s) != STATUS_OK)
		return false;
	struct module *m = import_read(d, s);
	struct arena *a = arena_new();
	struct cost *cost = m ? cost_new(m, cluster, d) : NULL;
	const char *slash = strrchr(path, '/');
	bool ok = cost && block_make_program(m, cost, d, a, &b);
	if (ok)
		compare_problem(r, slash ? slash + 1 : path, &b.p, graphs);
	if (cost)
		cost_free(cost);
	if (m)
		module_free(m);
	source_free(s);
	arena_free(a);
	return ok;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median_of(struct excess *e)
{
	if (!e->n)
		return 0;
	qsort(e->at, e->n, sizeof *e->at, by_value);
	return e->at[e->n / 2];
}

static void print_tally(const char *name, struct tally *t)
{
	double graphs = t->graphs ? t->graphs : 1;
	printf("%-18s %6u %8u %5.1f %% %6.1f %%  %-26s %5u %8u %5.1f %% %6.1f %% %6.1f %%  %s\n", name,
	       t->graphs, t->optimal, 100 * t->optimal / graphs, t->schedule.worst,
	       t->schedule.worst > 0 ? t->schedule.graph : "-", t->none, t->reached,
	       100 * t->reached / graphs, median_of(&t->bound), t->bound.worst,
	       t->bound.worst > 0 ? t->bound.graph : "-");
}

static void print_table(struct run *r)
{
	printf("%-18s %6s %16s %8s  %-26s %5s %16s %8s %8s  %s\n", "limit", "graphs", "optimal", "worst",
	       "graph", "none", "bound reached", "median", "worst", "graph");
	for (enum limit l = 0; l < LIMITS; l++) {
		print_tally(limit_name[l], &r->tally[l]);
		free(r->tally[l].schedule.at);
		free(r->tally[l].bound.at);
	}
	if (r->skipped)
		printf("%u graphs are too large for the search\n", r->skipped);
}

int main(int argc, char **argv)
{
	struct run r = {.effort = SCHED_MAX_EFFORT};
	struct diag *d = diag_new(stderr, DIAG_TEXT, 0);
	struct cluster *cluster = cluster_builtin("h100");
	int first = 1;
	for (; first < argc && !strncmp(argv[first], "--", 2); first++) {
		if (!strcmp(argv[first], "--list")) {
			r.list = true;
		} else if (!strncmp(argv[first], "--effort=", 9)) {
			r.effort = atoi(argv[first] + 9);
		} else {
			fprintf(stderr, "optimum: unknown option %s\n", argv[first]);
			return 2;
		}
	}
	if (r.effort < 0 || r.effort > SCHED_MAX_EFFORT || first == argc) {
		fprintf(stderr, "usage: optimum [--effort=0…%d] [--list] FILE…\n", SCHED_MAX_EFFORT);
		return 2;
	}
	for (int k = first; k < argc; k++)
		if (!compare_file(&r, d, cluster, argv[k], (uint32_t)(argc - first)))
			r.errors++;
	print_table(&r);
	cluster_free(cluster);
	diag_free(d);
	return r.errors || r.skipped == (uint32_t)(argc - first);
}
