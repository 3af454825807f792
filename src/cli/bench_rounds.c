/* bench_rounds: see bench_rounds.h. */
#include "cli/bench_rounds.h"
#include "cli/bench.h"
#include "plan/plan_flops.h"
#include <stdlib.h>
#include <string.h>

enum { MIN_SAMPLES = 5, MAX_SAMPLES = 200 };

struct moment { /* one sample on one rank */
	int64_t start, finish;
};

/* One program on one rank. */
struct subject {
	struct run *r;
	struct plan *p;
	struct exec *e;
	struct moment *moment; /* by sample */
	struct moment last;    /* the last run of the warm-up */
	bool slow;             /* the same on all ranks */
};

static enum status run_once(struct rt_job *job, struct subject *s, bool one_clock, bool again,
                            struct moment *out)
{
	enum status status = run_fill(job, s->r, s->p, s->e, again);
	if (status == STATUS_OK)
		status = bench_start(job, one_clock);
	out->start = bench_now_ns();
	if (status == STATUS_OK)
		status = exec_run(s->e);
	out->finish = bench_now_ns();
	return status;
}

static enum status sum_flops(struct rt_job *job, const struct plan *p, double *out)
{
	double mine = plan_flops(p), *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "operations", &mine, sizeof mine, all);
	for (int k = 0; k < job->size; k++)
		*out += all[k];
	free(all);
	return status;
}

static void announce_program(struct rt_job *job, const struct bench_rounds *o, uint32_t k, double done)
{
	if (o->before)
		o->before(o->to, job, k, done);
}

static enum status open_subject(struct rt_job *job, const struct bench_rounds *o, struct subject *s,
                                double *flops)
{
	struct exec_options e = rank_options_exec(o->ranks, s->r->compile.steps);
	e.follow_writes = o->check;
	enum status status = run_plan(job, s->r, &s->p);
	if (status == STATUS_OK)
		status = sum_flops(job, s->p, flops);
	return status == STATUS_OK ? exec_open(job, s->p, s->r->labels, &e, &s->e) : status;
}

/* Collective. Finds how long the last round of each program took on the slowest rank. */
static enum status find_longest(struct rt_job *job, const struct subject *s, uint32_t n, int64_t *took)
{
	int64_t *mine = mem_alloc(sizeof *mine * n), *all = mem_zalloc(sizeof *all * n * (size_t)job->size);
	for (uint32_t f = 0; f < n; f++)
		mine[f] = s[f].last.finish - s[f].last.start;
	enum status status = rt_job_allgather(job, "the warm-up", mine, sizeof *mine * n, all);
	for (uint32_t f = 0; f < n; f++) {
		took[f] = 0;
		for (int k = 0; k < job->size; k++)
			took[f] = all[(size_t)k * n + f] > took[f] ? all[(size_t)k * n + f] : took[f];
	}
	free(mine);
	free(all);
	return status;
}

static bool is_slow(const struct bench_rounds *o, const int64_t *took, uint32_t f)
{
	int64_t least = INT64_MAX;
	for (uint32_t k = 0; k < o->n; k++)
		least = took[k] < least ? took[k] : least;
	return o->slow > 0 && (double)took[f] > o->slow * (double)least;
}

/* Makes graphs after the first round, as `hirc run --repeat` does. */
static enum status make_graphs(const struct bench_rounds *o, struct subject *s)
{
	enum status status = STATUS_OK;
	op_id statement;
	for (uint32_t f = 0; f < o->n && o->ranks->replay && status == STATUS_OK; f++)
		if (exec_can_replay(s[f].e, &statement))
			status = exec_capture(s[f].e);
	return status;
}

/* Runs samples that seem slow once more, since another program may have disturbed them. */
static enum status run_slow_again(struct rt_job *job, const struct bench_rounds *o, struct subject *s,
                                  bool one_clock, int64_t *took)
{
	int64_t *again = mem_zalloc(sizeof *again * o->n);
	enum status status = STATUS_OK;
	for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++)
		if (is_slow(o, took, f))
			status = run_once(job, &s[f], one_clock, true, &s[f].last);
	if (status == STATUS_OK)
		status = find_longest(job, s, o->n, again);
	for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++)
		took[f] = again[f] < took[f] ? again[f] : took[f];
	free(again);
	return status;
}

static void leave_out_slow(const struct bench_rounds *o, struct subject *s, const int64_t *took)
{
	for (uint32_t f = 0; f < o->n; f++)
		s[f].slow = is_slow(o, took, f);
}

/* Runs every program `warmup` times, and chooses the number of samples from the time of the last round on the
 * slowest rank. */
static enum status warm_up(struct rt_job *job, const struct bench_rounds *o, struct subject *s,
                           bool one_clock, int64_t *samples)
{
	int64_t rounds = o->warmup > 0 ? o->warmup
	                 : o->samples  ? 0
	                               : 1,
	        all = 0, *took = mem_zalloc(sizeof *took * (o->n + 1));
	enum status status = STATUS_OK;
	for (int64_t k = 0; k < rounds && status == STATUS_OK; k++) {
		for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++) {
			if (s[f].slow)
				continue;
			announce_program(job, o, f, 0.1 * (double)(k * o->n + f) / (double)(rounds * o->n));
			status = run_once(job, &s[f], one_clock, k > 0, &s[f].last);
		}
		if (status == STATUS_OK && k == 0)
			status = make_graphs(o, s);
		if (status == STATUS_OK && (k == 0 || k == rounds - 1))
			status = find_longest(job, s, o->n, took);
		if (status == STATUS_OK && k == 0 && o->slow > 0)
			status = run_slow_again(job, o, s, one_clock, took);
		if (status == STATUS_OK && k == 0)
			leave_out_slow(o, s, took);
	}
	for (uint32_t f = 0; f < o->n; f++)
		all += s[f].slow ? 0 : took[f];
	free(took);
	double fit = o->budget / (double)(all > 0 ? all : 1);
	*samples = o->samples          ? o->samples
	           : fit < MIN_SAMPLES ? MIN_SAMPLES
	           : fit > MAX_SAMPLES ? MAX_SAMPLES
	                               : (int64_t)fit;
	return status;
}

/* Collective. Finds the job's time of each sample of a program. */
static enum status gather_samples(struct rt_job *job, const struct moment *moment, int64_t samples,
                                  bool one_clock, double *ms)
{
	size_t bytes = sizeof *moment * (size_t)samples;
	struct moment *all = mem_zalloc(bytes * (size_t)job->size);
	enum status status = rt_job_allgather(job, "samples", moment, bytes, all);
	for (int64_t k = 0; k < samples; k++) {
		int64_t first = INT64_MAX, last = INT64_MIN, most = 0;
		for (int r = 0; r < job->size; r++) {
			const struct moment *m = &all[(int64_t)r * samples + k];
			first = m->start < first ? m->start : first;
			last = m->finish > last ? m->finish : last;
			most = m->finish - m->start > most ? m->finish - m->start : most;
		}
		ms[k] = (double)(one_clock ? last - first : most) / 1e6;
	}
	free(all);
	return status;
}

/* Takes the samples of one turn of a program, from sample k on. */
static enum status take_turn(struct rt_job *job, const struct bench_rounds *o, struct subject *s,
                             bool one_clock, int64_t k, int64_t samples)
{
	int64_t burst = o->burst > 1 ? o->burst : 1;
	bool again = k > 0 || o->warmup > 0 || !o->samples;
	enum status status = STATUS_OK;
	for (int64_t i = 0; i < o->lead && status == STATUS_OK; i++, again = true)
		status = run_once(job, s, one_clock, again, &s->last);
	for (int64_t i = k; i < k + burst && i < samples && status == STATUS_OK; i++, again = true)
		status = run_once(job, s, one_clock, again, &s->moment[i]);
	return status;
}

static enum status sample(struct rt_job *job, const struct bench_rounds *o, struct subject *s, bool one_clock,
                          const struct bench_samples *out)
{
	enum status status = STATUS_OK;
	for (uint32_t f = 0; f < o->n; f++) {
		s[f].moment = mem_zalloc(sizeof *s[f].moment * (size_t)out->samples);
		s[f].moment[0] = s[f].last;
	}
	for (int64_t k = 0; k<out->samples; k += o->burst> 1 ? o->burst : 1)
		for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++) {
			if (s[f].slow)
				continue;
			announce_program(job, o, f, 0.1 + 0.8 * (double)k / (double)out->samples);
			status = take_turn(job, o, &s[f], one_clock, k, out->samples);
		}
	for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++) {
		out->of[f].samples = s[f].slow ? 1 : out->samples;
		status = gather_samples(job, s[f].moment, out->of[f].samples, one_clock,
		                        out->ms + (size_t)f * (size_t)out->samples);
	}
	return status;
}

static enum status check_programs(struct rt_job *job, const struct bench_rounds *o, struct subject *s,
                                  struct bench_samples *out)
{
	enum status status = STATUS_OK;
	struct check_verdict verdict;
	for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++) {
		announce_program(job, o, f, 0.9 + 0.1 * (double)f / (double)o->n);
		status = run_check(job, s[f].r, s[f].p, s[f].e, &verdict);
		out->of[f].valid = status == STATUS_OK;
	}
	return status;
}

enum status bench_rounds(struct rt_job *job, const struct bench_rounds *o, struct bench_samples *out)
{
	struct subject *s = mem_zalloc(sizeof *s * (o->n + 1));
	bool one_clock = false;
	*out = (struct bench_samples){.of = mem_zalloc(sizeof *out->of * (o->n + 1))};
	enum status status = bench_same_host(job, &one_clock);
	for (uint32_t f = 0; f < o->n && status == STATUS_OK; f++) {
		s[f].r = &o->run[f];
		out->of[f].valid = -1;
		announce_program(job, o, f, 0);
		status = open_subject(job, o, &s[f], &out->of[f].flops);
	}
	if (status == STATUS_OK)
		status = warm_up(job, o, s, one_clock, &out->samples);
	if (status == STATUS_OK) {
		out->ms = mem_zalloc(sizeof *out->ms * (size_t)out->samples * (o->n + 1));
		status = sample(job, o, s, one_clock, out);
	}
	if (status == STATUS_OK && o->check)
		status = check_programs(job, o, s, out);
	for (uint32_t f = 0; f < o->n; f++) {
		exec_close(s[f].e);
		plan_free(s[f].p);
		free(s[f].moment);
	}
	free(s);
	return status;
}

void bench_samples_free(struct bench_samples *s)
{
	free(s->ms);
	free(s->of);
	*s = (struct bench_samples){0};
}
