/* bench_cluster_rank: the measurements of a rank. */
#include "cli/bench_cluster.h"
#include "cli/bench_contention.h"
#include "exec/exec_device.h"
#include "sched/contention.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PASSES = 2, /* only one if it takes as long as all may */
	SHORT_PASSES = 1 /* on a GPU, which other programs do not disturb */,
	SAMPLES = 9,
	GRID_SAMPLES = 5,
	QUICK_SAMPLES = 3,
	FACTOR = 4,
	EVENTS = 4096, /* of a traced program, in all of its runs */
	REPAIRS = 16   /* most repetitions of impossible figures */
};
#define LONG_NS 500000        /* a statement this long makes the constant time of a program negligible */
#define PASS_NS 45000000000   /* a second pass follows only if the first one took less */
#define REPAIR_NS 15000000000 /* most time for all repairs */

/* ---- statements */

struct subject {
	struct plan *p;
	struct exec *e;
	struct trace *trace; /* of traced probes; else NULL */
};

static enum status run_once(struct rt_job *job, struct subject *s, bool one_clock, double *ns)
{
	enum status status = bench_start(job, one_clock);
	int64_t start = bench_now_ns();
	if (status == STATUS_OK)
		status = exec_run(s->e);
	*ns = (double)(bench_now_ns() - start);
	return status;
}

/* Collective. Replaces the time of this rank's run by that of the slowest rank. */
static enum status take_slowest(struct rt_job *job, double *ns)
{
	double *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "the time of a run", ns, sizeof *ns, all);
	for (int k = 0; k < job->size; k++)
		*ns = all[k] > *ns ? all[k] : *ns;
	free(all);
	return status;
}

/* Returns contention: the time of each beside the other, in per mille of its time alone. Once the shorter one
 * is over, the rest of the longer one runs alone. */
static double contention(double *const *of, int64_t samples)
{
	double works = bench_statistics(of[BENCH_WORKS], samples).median,
	       sends = bench_statistics(of[BENCH_SENDS], samples).median,
	       both = bench_statistics(of[BENCH_BOTH], samples).median,
	       longer = works > sends ? works : sends, shorter = works > sends ? sends : works;
	return 1000 + 1000 * (both - longer) / (shorter > 1 ? shorter : 1);
}

/* Collective. *out becomes the number of programs to run: only the shorter one if the statement is long. */
static enum status count_programs(struct rt_job *job, const struct bench_probe *p, double ns, unsigned *out)
{
	double *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "the time of a program", &ns, sizeof ns, all);
	bool is_long = !p->beside && !p->far;
	for (int k = 0; k < job->size; k++)
		is_long &= all[k] / (double)p->count[0] > 2 * LONG_NS;
	*out = is_long ? 1 : p->programs;
	free(all);
	return status;
}

/* Measures on this rank how much longer the longer program takes, per statement. Takes the median, as
 * predictions are compared with medians. The programs run alternately, so that both are disturbed alike.
 * may_share: the ranks may share a GPU. It can run one rank's work after the other's, so that the work of all
 * has taken as long as the slowest rank's. */
static enum status time_subjects(struct rt_job *job, const struct bench_probe *p, struct subject *s,
                                 int64_t samples, bool may_share, double *out)
{
	double ns = 0, *of[BENCH_PROGRAMS], *more = mem_alloc(sizeof *more * (size_t)samples);
	bool one_clock = false;
	unsigned programs = p->programs;
	enum status status = bench_same_host(job, &one_clock);
	for (unsigned k = 0; k < BENCH_PROGRAMS; k++)
		of[k] = mem_zalloc(sizeof *of[k] * (size_t)samples);
	for (int64_t i = -1; i < samples && status == STATUS_OK; i++) { /* the first one warms up */
		for (unsigned k = 0; k < programs && status == STATUS_OK; k++) {
			status = run_once(job, &s[k], one_clock, &ns);
			if (may_share && status == STATUS_OK)
				status = take_slowest(job, &ns);
			of[k][i < 0 ? 0 : i] = ns;
			if (i < 0 && k == 0 && status == STATUS_OK)
				status = count_programs(job, p, ns, &programs);
		}
		if (i >= 0)
			more[i] = of[1][i] - of[0][i];
	}
	if (p->beside) {
		*out = contention(of, samples);
	} else if (p->far) {
		*out = bench_statistics(more, samples).median;
	} else if (status == STATUS_OK) {
		*out = bench_statistics(of[0], samples).median / (double)p->count[0];
		if (programs > 1 && *out <= LONG_NS)
			*out = bench_statistics(more, samples).median / (double)(p->count[1] - p->count[0]);
	}
	for (unsigned k = 0; k < BENCH_PROGRAMS; k++)
		free(of[k]);
	free(more);
	return status;
}

/* Measures contention on this rank, from the medians of the times of each program. */
static enum status trace_subjects(struct rt_job *job, struct subject *s, int64_t samples,
                                  struct cluster_contention *out)
{
	enum { KINDS = sizeof(struct bench_traced) / sizeof(double) };
	struct bench_traced median[BENCH_PROGRAMS],
	    *of = mem_zalloc(sizeof *of * (size_t)samples * BENCH_PROGRAMS);
	double ns, *x = mem_alloc(sizeof *x * (size_t)samples);
	bool one_clock = false;
	enum status status = bench_same_host(job, &one_clock);
	for (int64_t i = -1; i < samples && status == STATUS_OK; i++) /* the first one warms up */
		for (unsigned k = 0; k < BENCH_PROGRAMS && status == STATUS_OK; k++) {
			uint64_t from = s[k].trace->n;
			status = run_once(job, &s[k], one_clock, &ns);
			of[k * samples + (i < 0 ? 0 : i)] = bench_traced_of(s[k].trace, from);
		}
	for (unsigned k = 0; k < BENCH_PROGRAMS; k++)
		for (unsigned what = 0; what < KINDS; what++) {
			for (int64_t i = 0; i < samples; i++)
				x[i] = ((const double *)&of[k * samples + i])[what];
			((double *)&median[k])[what] = bench_statistics(x, samples).median;
		}
	*out = bench_contention_of(median);
	free(of);
	free(x);
	return status;
}

/* Collective. Measures a traced probe; the mean over the ranks counts, and the lesser of several passes. */
static enum status time_contention(struct rt_job *job, const struct bench_probe *p, struct subject *s,
                                   int64_t samples, struct bench_measured *out)
{
	struct cluster_contention mine = {0}, mean = {0}, *old = &out->contention[p->collective],
	                          *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = trace_subjects(job, s, samples, &mine);
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "the contention", &mine, sizeof mine, all);
	for (int k = 0; k < job->size; k++) {
		mean.compute += all[k].compute / job->size;
		mean.comm += all[k].comm / job->size;
	}
	mean.compute = mean.compute < SCHED_ALONE ? SCHED_ALONE : mean.compute;
	mean.comm = mean.comm < SCHED_ALONE ? SCHED_ALONE : mean.comm;
	if (!old->compute || mean.compute + mean.comm < old->compute + old->comm)
		*old = mean;
	free(all);
	return status;
}

static enum status start_trace(struct rt_job *job, struct subject *s)
{
	s->trace = trace_new(EVENTS);
	if (s->trace)
		return exec_trace(s->e, &s->trace->tracer);
	rt_job_error(job, "--beside-matmul: no memory for %d events", EVENTS);
	return rt_job_fail(job, STATUS_DIAGNOSTICS);
}

/* Collective. Measures a probe; *out becomes the mean over the ranks. Contention of a traced probe goes to
 * `measured`. */
static enum status time_probe(struct rt_job *job, const struct bench_cluster *o, struct bench_probe *p,
                              struct bench_measured *measured, double *out)
{
	int64_t samples = o->quick ? QUICK_SAMPLES : p->in_grid ? GRID_SAMPLES : SAMPLES;
	const struct exec_options options = rank_options_exec(&o->collectives.b->ranks, NULL);
	struct subject s[BENCH_PROGRAMS] = {0};
	double mine = 0, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = STATUS_OK;
	for (unsigned k = 0; k < p->programs && status == STATUS_OK; k++) {
		status = run_plan(job, &p->run[k], &s[k].p);
		if (status == STATUS_OK)
			status = exec_open(job, s[k].p, p->run[k].labels, &options, &s[k].e);
		if (status == STATUS_OK)
			status = run_fill(job, &p->run[k], s[k].p, s[k].e, false);
		if (status == STATUS_OK && p->traced)
			status = start_trace(job, &s[k]);
	}
	if (status == STATUS_OK && p->traced)
		status = time_contention(job, p, s, samples, measured);
	else if (status == STATUS_OK)
		status = time_subjects(job, p, s, samples, o->gpu, &mine);
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "a time", &mine, sizeof mine, all);
	*out = 0;
	for (int k = 0; k < job->size; k++)
		*out += all[k] / job->size;
	for (unsigned k = 0; k < p->programs; k++) {
		exec_close(s[k].e);
		plan_free(s[k].p);
		trace_free(s[k].trace);
	}
	free(all);
	return status;
}

/* ---- collectives */

static enum status time_size(struct bench_member *x, const struct bench_shape *s, int64_t *out)
{
	double us = 0;
	x->apart = bench_is_apart(s->kind);
	x->fresh = s->kind != COLLECTIVE_BARRIER;
	enum status status = bench_member_time(x, s, &us);
	x->apart = x->fresh = false;
	*out = us < 1e-3 ? 1 : (int64_t)(1e3 * us + 0.5);
	return status;
}

static enum status time_kind(struct bench_member *x, enum collective kind, struct bench_points *out)
{
	enum status status = STATUS_OK;
	int64_t before = -1, most = x->c->most;
	for (int64_t bytes = x->c->least; status == STATUS_OK; bytes *= FACTOR) {
		struct bench_shape s = bench_member_shape(x, kind, bytes < most ? bytes : most);
		struct cluster_point point = {.size = s.count * (int64_t)x->data.size};
		if (point.size > before) { /* else there is less than one element for each rank */
			status = time_size(x, &s, &point.time);
			vec_push(&out->point, point);
			before = point.size;
		}
		if (bytes >= most || kind == COLLECTIVE_BARRIER)
			break;
	}
	return status;
}

static enum status time_team(struct bench_member *x, const int *rank, int n, int64_t span,
                             struct bench_measured *out)
{
	struct bench_team_points points = {.ranks = n, .span = span};
	bench_member_leave(x);
	enum status status = bench_member_team(x, rank, n);
	if (status == STATUS_OK)
		status = bench_member_ready(x);
	for (unsigned k = 0; k < COLLECTIVE_COUNT && status == STATUS_OK; k++)
		status = time_kind(x, (enum collective)k, &points.of[k]);
	vec_push(&out->team, points);
	return status;
}

/* Returns the number of ranks of each host, if it is equal and they are in a row; else of all ranks. */
static int ranks_of_host(const struct rt_job *job)
{
	const int *host = job->boot->hosts ? job->boot->hosts(job) : NULL;
	int n = 0;
	while (host && n < job->size && host[n] == host[0])
		n++;
	if (!host || job->size % n)
		return job->size;
	for (int r = n; r < job->size; r++)
		if ((host[r] == host[r - 1]) != (r % n != 0))
			return job->size;
	return n;
}

/* Times teams of 2, 4, … and all ranks of a host; two neighbours on two hosts; 2, 4, … and all hosts. */
static enum status time_teams(struct bench_member *x, struct bench_measured *out)
{
	int size = x->job->size, inner = ranks_of_host(x->job),
	    *rank = mem_alloc(sizeof *rank * (size_t)size);
	enum status status = STATUS_OK;
	out->inner = inner;
	for (int k = 0; k < size; k++)
		rank[k] = k;
	for (int n = 2; inner > 1 && status == STATUS_OK; n *= 2) {
		status = time_team(x, rank, n < inner ? n : inner, inner, out);
		if (n >= inner)
			break;
	}
	if (inner < size && inner > 1 && status == STATUS_OK)
		status = time_team(x, (const int[]){0, inner}, 2, size, out);
	for (int n = 2 * inner; inner < size && status == STATUS_OK; n *= 2) {
		status = time_team(x, rank, n < size ? n : size, size, out);
		if (n >= size)
			break;
	}
	free(rank);
	return status;
}

/* Keeps the smaller time of two passes, which have the same teams and sizes. */
static void take_lesser(struct bench_measured *to, const struct bench_measured *from)
{
	for (uint32_t t = 0; t < to->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++)
			for (uint32_t i = 0; i < to->team.at[t].of[k].point.n; i++) {
				struct cluster_point *p = &to->team.at[t].of[k].point.at[i];
				int64_t time = from->team.at[t].of[k].point.at[i].time;
				p->time = p->time < time ? p->time : time;
			}
}

static void take_barriers_off(struct bench_measured *x)
{
	for (uint32_t t = 0; t < x->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++)
			for (uint32_t i = 0; k != COLLECTIVE_BARRIER && i < x->team.at[t].of[k].point.n; i++)
				x->team.at[t].of[k].point.at[i].time =
				    bench_point_time(&x->team.at[t], (enum collective)k, i);
}

/* Returns the memory of the device, or this host's memory divided by its ranks. */
static int64_t memory_of(const struct rt_device *d, int64_t ranks)
{
	return d->memory ? d->memory : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / ranks;
}

static enum status time_collectives(struct rt_job *job, struct bench_cluster *o, struct bench_measured *out)
{
	struct bench_member x = {.job = job, .c = &o->collectives};
	struct bench_measured now = {0};
	enum status status = bench_member_open(&x);
	if (status == STATUS_OK)
		status = time_teams(&x, &now);
	if (status == STATUS_OK) {
		now.memory = memory_of(x.device, now.inner);
		now.sharers = x.device->sharers;
		now.devices = x.device->devices;
		snprintf(now.model, sizeof now.model, "%s", x.device->model);
		snprintf(now.transport, sizeof now.transport, "%s", transport_kind_name(x.t->ops->kind));
	}
	bench_member_close(&x);
	if (status == STATUS_OK && out->team.n) {
		take_lesser(out, &now);
	} else if (status == STATUS_OK) {
		out->team.at = now.team.at, out->team.n = now.team.n, out->team.cap = now.team.cap;
		out->inner = now.inner;
		out->memory = now.memory;
		out->sharers = now.sharers;
		out->devices = now.devices;
		memcpy(out->model, now.model, sizeof out->model);
		memcpy(out->transport, now.transport, sizeof out->transport);
		return status;
	}
	bench_measured_free(&now);
	return status;
}

/* ---- all, repeated since disturbances of a machine last for seconds; the smaller median counts */

static void show_measuring(const struct rt_job *job, const struct bench_cluster *o, double done,
                           const char *what)
{
	if (job->rank == 0)
		progress_show(o->collectives.b->progress, done, "%s", what);
}

/* Collective. Measures one statement, and keeps the smaller time of those that are possible. */
static enum status measure_probe(struct rt_job *job, struct bench_cluster *o, struct bench_measured *out,
                                 uint32_t k)
{
	double ns = 0, before = out->probe[k];
	enum status status = time_probe(job, o, &o->probe.at[k], out, &ns);
	out->probe[k] = ns;
	if (before > 0 && (before < ns || !bench_probe_is_plausible(o, out, k)))
		out->probe[k] = before;
	return status;
}

/* Collective. *out becomes true if more than `ns` have passed since `start`, on rank 0's clock. */
static enum status is_over(struct rt_job *job, int64_t start, int64_t ns, bool *out)
{
	int64_t mine = bench_now_ns() - start, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "the time so far", &mine, sizeof mine, all);
	*out = all[0] > ns;
	free(all);
	return status;
}

/* Collective. Measures impossible figures again, and also the launch, which is subtracted from all. */
static enum status repair_figures(struct rt_job *job, struct bench_cluster *o, struct bench_measured *out)
{
	enum status status = STATUS_OK;
	int64_t start = bench_now_ns();
	bool wrong = true, over = false;
	show_measuring(job, o, 1, "figures that cannot be");
	for (unsigned round = 0; round < REPAIRS && wrong && !over && status == STATUS_OK; round++) {
		wrong = false;
		for (uint32_t k = 1; k < o->probe.n && !over && status == STATUS_OK && !o->network_alone;
		     k++) {
			if (bench_probe_is_plausible(o, out, k))
				continue;
			wrong = true;
			status = measure_probe(job, o, out, 0);
			if (status == STATUS_OK)
				status = is_over(job, start, REPAIR_NS, &over);
			if (status == STATUS_OK && !over) {
				out->probe[k] = 0;
				status = measure_probe(job, o, out, k);
			}
		}
		if (status == STATUS_OK && !over && !bench_teams_are_plausible(o, out, true)) {
			wrong = true;
			bench_forget_implausible(o, out);
			status = time_collectives(job, o, out);
			if (status == STATUS_OK)
				status = is_over(job, start, REPAIR_NS, &over);
		}
	}
	return status;
}

/* Collective. Rank 0 times the driver's calls while the other ranks wait, since they may share its GPU. */
static enum status measure_calls(struct rt_job *job, const struct bench_cluster *o, struct rt_device *device,
                                 struct bench_measured *out)
{
	enum status status = STATUS_OK;
	show_measuring(job, o, 1, "calls");
	if (job->rank == 0)
		status = exec_device_time_calls(device, &out->calls);
	return status == STATUS_OK ? rt_job_barrier(job, "the times of calls") : status;
}

/* device: of this rank; NULL: it is no GPU. */
static enum status measure_cluster(struct rt_job *job, struct bench_cluster *o, struct rt_device *device,
                                   struct bench_measured *out)
{
	unsigned passes = o->quick || o->gpu ? SHORT_PASSES : PASSES;
	double all = passes * (o->probe.n + 1.0);
	int64_t start = bench_now_ns();
	bool late = false;
	enum status status = bench_note_load(job, o->collectives.b);
	show_measuring(job, o, 0, "collectives");
	if (status == STATUS_OK)
		status = time_collectives(job, o, out);
	for (unsigned pass = 0; pass < passes && !late && status == STATUS_OK; pass++) {
		for (uint32_t k = 0; k < o->probe.n && status == STATUS_OK; k++) {
			if (o->network_alone && !o->probe.at[k].beside)
				continue;
			show_measuring(job, o, (pass * (o->probe.n + 1.0) + k) / all, "statements");
			status = measure_probe(job, o, out, k);
		}
		show_measuring(job, o, (pass + 1) * (o->probe.n + 1.0) / all, "collectives");
		if (status == STATUS_OK)
			status = time_collectives(job, o, out);
		if (status == STATUS_OK && pass + 1 < passes)
			status = is_over(job, start, PASS_NS, &late);
	}
	if (status == STATUS_OK && device && !o->network_alone)
		status = measure_calls(job, o, device, out);
	if (status == STATUS_OK)
		status = repair_figures(job, o, out);
	if (job->rank == 0)
		progress_end(o->collectives.b->progress);
	if (status == STATUS_OK)
		take_barriers_off(out);
	else
		rt_job_fail(job, status);
	return status;
}

int bench_cluster_rank(struct rt_job *job, void *cluster)
{
	struct bench_cluster *o = cluster;
	struct bench_measured x = {.ranks = job->size, .inner = job->size};
	struct rt_device *device = NULL;
	struct rt_transport *transport = NULL;
	enum status status = bench_agree(job, o->collectives.b);
	x.probe = mem_zalloc(sizeof *x.probe * o->probe.n);
	if (status == STATUS_OK && rank_options_are_cuda(&o->collectives.b->ranks)) {
		/* Stays open: the first to open a GPU makes a context, and the last one ends it. */
		const struct exec_options options = rank_options_exec(&o->collectives.b->ranks, NULL);
		status = exec_device_open(job, &options, false, &device, &transport);
	}
	if (status == STATUS_OK)
		status = measure_cluster(job, o, device, &x);
	if (status == STATUS_OK && job->rank == 0)
		status = bench_measured_write(job, o, &x);
	if (status == STATUS_OK)
		status = rt_job_barrier(job, "the end");
	rt_transport_close(transport);
	rt_device_close(device);
	bench_measured_free(&x);
	return status;
}
