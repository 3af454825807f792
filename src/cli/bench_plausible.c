/* bench_plausible: detects impossible figures, and machines that do other work meanwhile.
 *
 * The time of a statement is the difference of two times. If other programs compete with the ranks, the
 * difference may be almost 0: a product at 10^15 flop/s. hirc measures this figure again, and writes no file
 * with an impossible figure. */
#include "cli/bench_cluster.h"
#include "cli/cli_progress.h"
#include "rt/cores.h"
#include <stdlib.h>
#include <time.h>

#define CLOCK_GHZ 5.0
#define CACHE_BYTES 400.0   /* most bytes that a core reads and writes in a cycle */
#define GPU_FLOPS 2e7       /* per nanosecond, for the narrowest dtype */
#define GPU_BYTES 1e5       /* per nanosecond */
enum { SMALL_FACTOR = 10 }; /* no product's rate exceeds that of the largest, most precise one by more */
#define LONG_NS 500000      /* the time of a product this long is certain */

/* Returns the most operations of a product that a core does in a cycle; narrow dtypes use matrix units. */
static double flops_of_cycle(enum dtype t)
{
	return t == DTYPE_F64 ? 64 : dtype_bytes(t) > 2 ? 128 : 4096;
}

/* Returns the cores of a rank, rounded up. */
static double cores_of_rank(const struct bench_measured *x)
{
	int64_t all = rt_processors(), n = (all + x->inner - 1) / x->inner;
	return n > 1 ? (double)n : 1;
}

static double work_of(const struct bench_probe *p)
{
	return p->k    ? 2.0 * (double)p->m * (double)p->n * (double)p->k
	       : p->op ? 2.0 * (double)p->n * (double)dtype_bytes(p->dtype)
	               : 8.0 * (double)p->n;
}

/* Returns the time of a statement without the launch, in nanoseconds. */
static double time_of(const struct bench_measured *x, uint32_t k)
{
	double ns = x->probe[k] - x->probe[0];
	return ns < 1 ? 1 : ns;
}

/* Returns the last product of a dtype's grid, which is the largest; 0: there is none. */
static uint32_t largest_of(const struct bench_cluster *o, enum dtype t)
{
	uint32_t largest = 0;
	for (uint32_t k = 1; k < o->probe.n; k++)
		if (o->probe.at[k].in_grid && o->probe.at[k].dtype == t)
			largest = k;
	return largest;
}

/* Returns the most work that any machine does in a nanosecond. */
static double most_rate(const struct bench_cluster *o, const struct bench_measured *x,
                        const struct bench_probe *p)
{
	double cycles = cores_of_rank(x) * CLOCK_GHZ, most;
	if (o->gpu)
		return p->k ? GPU_FLOPS : GPU_BYTES;
	most = cycles * (p->k ? flops_of_cycle(p->dtype) : CACHE_BYTES);
	uint32_t last = p->k ? largest_of(o, p->dtype) : 0;
	if (last && p != &o->probe.at[last] && time_of(x, last) > LONG_NS) {
		double measured = SMALL_FACTOR * work_of(&o->probe.at[last]) / time_of(x, last);
		most = measured < most ? measured : most;
	}
	return most;
}

bool bench_probe_is_plausible(const struct bench_cluster *o, const struct bench_measured *x, uint32_t k)
{
	const struct bench_probe *p = &o->probe.at[k];
	if (p->beside || p->far)
		return true;
	return k ? work_of(p) <= most_rate(o, x, p) * time_of(x, k) : x->probe[0] >= 1;
}

bool bench_is_apart(enum collective kind)
{
	return collective_is_rooted(kind) && kind != COLLECTIVE_SEND_RECV;
}

int64_t bench_point_time(const struct bench_team_points *team, enum collective kind, uint32_t i)
{
	int64_t time = team->of[kind].point.at[i].time,
	        barrier = team->of[COLLECTIVE_BARRIER].point.at[0].time;
	return !bench_is_apart(kind) ? time : time > barrier ? time - barrier : 1;
}

/* Returns true if a time is possible: at least one rank writes all bytes of the collective. */
static bool point_is_plausible(const struct bench_cluster *o, const struct bench_measured *x,
                               const struct bench_team_points *team, enum collective kind, uint32_t i,
                               bool barriers)
{
	const struct cluster_point *p = &team->of[kind].point.at[i];
	double most = o->gpu ? GPU_BYTES : cores_of_rank(x) * CLOCK_GHZ * CACHE_BYTES;
	int64_t ns = barriers ? bench_point_time(team, kind, i) : p->time;
	return (double)p->size <= most * (double)team->ranks * (double)ns;
}

bool bench_teams_are_plausible(const struct bench_cluster *o, const struct bench_measured *x, bool barriers)
{
	for (uint32_t t = 0; t < x->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++)
			for (uint32_t i = 0; i < x->team.at[t].of[k].point.n; i++)
				if (!point_is_plausible(o, x, &x->team.at[t], (enum collective)k, i,
				                        barriers))
					return false;
	return true;
}

void bench_forget_implausible(const struct bench_cluster *o, struct bench_measured *x)
{
	for (uint32_t t = 0; t < x->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++)
			for (uint32_t i = 0; i < x->team.at[t].of[k].point.n; i++)
				if (!point_is_plausible(o, x, &x->team.at[t], (enum collective)k, i, true))
					x->team.at[t].of[k].point.at[i].time = INT64_MAX;
}

static void put_probe(const struct bench_probe *p, double rate, struct buf *out)
{
	const char *t = dtype_name(p->dtype);
	if (p->k)
		buf_printf(out, "a product %s[%lld, %lld] x [%lld, %lld] at %.3g Gflop/s", t, (long long)p->m,
		           (long long)p->k, (long long)p->k, (long long)p->n, rate);
	else
		buf_printf(out, "%s of %s[%lld] at %.3g GB/s", p->op ? p->op : "neg", t, (long long)p->n,
		           rate);
}

bool bench_report_implausible(const struct bench_cluster *o, const struct bench_measured *x,
                              bool network_alone)
{
	struct buf first = {0};
	uint32_t wrong = 0;
	for (uint32_t k = 1; k < o->probe.n && !network_alone; k++)
		if (!bench_probe_is_plausible(o, x, k) && !wrong++)
			put_probe(&o->probe.at[k], work_of(&o->probe.at[k]) / time_of(x, k), &first);
	if (!wrong && !network_alone && !bench_probe_is_plausible(o, x, 0) && ++wrong)
		buf_puts(&first, "a statement that takes no time to issue");
	if (!wrong && !bench_teams_are_plausible(o, x, false) && ++wrong)
		buf_puts(&first, "a collective that takes no time");
	if (wrong)
		fprintf(stderr,
		        "hirc bench: error: %u figures are impossible, the first is %s: no file is written\n"
		        "note: measure again when no other programs run\n",
		        wrong, first.at);
	buf_free(&first);
	return wrong > 0;
}

/* ---- load */

static int64_t thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the share of a core, 0 … 1, that this thread gets while it computes. */
static double share_of_core(void)
{
	enum { SPIN_NS = 20000000 };
	int64_t start = bench_now_ns(), from = thread_ns(), got = 0;
	while (got < SPIN_NS)
		got = thread_ns() - from;
	return (double)got / (double)(bench_now_ns() - start);
}

enum status bench_note_load(struct rt_job *job, const struct bench *b)
{
	double mine = 0, least = 1, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_barrier(job, "the measurement of the load");
	if (status == STATUS_OK)
		mine = share_of_core();
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "the load", &mine, sizeof mine, all);
	for (int k = 0; k < job->size && status == STATUS_OK; k++)
		least = all[k] < least ? all[k] : least;
	free(all);
	if (status == STATUS_OK && least < 0.9 && job->rank == 0) {
		progress_end(b->progress);
		fprintf(stderr,
		        "hirc bench: note: the machine is loaded: a rank gets %.0f %% of a core, times come "
		        "out too "
		        "long\n",
		        100 * least);
	}
	return status;
}
