/* bench_program_rank: what a rank does: samples of programs.
 *
 * All programs of a point are open at once and run in turns, A B A B …, so that what disturbs the machine
 * disturbs all of them. A sample is latest finish - earliest start over the ranks, where they have one clock;
 * else the longest time of a rank. Filling inputs again and meeting before the start are not in it. */
#include "cli/bench.h"
#include "cli/output.h"
#include "exec/plan_flops.h"
#include <stdlib.h>
#include <string.h>

enum { MIN_SAMPLES = 5, MAX_SAMPLES = 200 };
#define SAMPLING_NS 1e9 /* that samples chosen here take in all */

struct moment { /* of one sample on one rank */
	int64_t start, finish;
};

/* One program on one rank. */
struct subject {
	struct run *r;
	struct plan *p;
	struct exec *e;
	double flops;          /* of all ranks */
	struct moment *moment; /* by sample */
	int valid;             /* see struct bench_row */
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

static enum status sum_flops(struct rt_job *job, struct subject *s)
{
	double mine = plan_flops(s->p), *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "operations", &mine, sizeof mine, all);
	for (int k = 0; k < job->size; k++)
		s->flops += all[k];
	free(all);
	return status;
}

static enum status open_subject(struct rt_job *job, const struct bench *b, struct subject *s)
{
	const struct exec_options o = rank_options_exec(&b->ranks);
	enum status status = run_plan(job, s->r, &s->p);
	if (status == STATUS_OK)
		status = sum_flops(job, s);
	return status == STATUS_OK ? exec_open(job, s->p, s->r->labels, &o, &s->e) : status;
}

/* Runs every program `warmup` times and, by the time of the last round on the slowest rank, chooses how
 * many samples to take. */
static enum status warm_up(struct rt_job *job, const struct bench *b, struct subject *s, bool one_clock,
                           int64_t *samples)
{
	int64_t rounds = b->warmup > 0 ? b->warmup : b->samples ? 0 : 1, took = 0;
	enum status status = STATUS_OK;
	for (int64_t k = 0; k < rounds; k++) {
		took = 0;
		for (uint32_t f = 0; f < b->file.n && status == STATUS_OK; f++) {
			struct moment m;
			status = run_once(job, &s[f], one_clock, k > 0, &m);
			took += m.finish - m.start;
		}
	}
	int64_t *all = mem_zalloc(sizeof *all * (size_t)job->size);
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "the warm-up", &took, sizeof took, all);
	for (int k = 0; k < job->size; k++)
		took = all[k] > took ? all[k] : took;
	free(all);
	double fit = SAMPLING_NS / (double)(took > 0 ? took : 1);
	*samples = b->samples          ? b->samples
	           : fit < MIN_SAMPLES ? MIN_SAMPLES
	           : fit > MAX_SAMPLES ? MAX_SAMPLES
	                               : (int64_t)fit;
	return status;
}

/* Of all samples how long the job took, on all ranks. */
static enum status gather(struct rt_job *job, const struct subject *s, int64_t samples, bool one_clock,
                          double *ms)
{
	size_t bytes = sizeof *s->moment * (size_t)samples;
	struct moment *all = mem_zalloc(bytes * (size_t)job->size);
	enum status status = rt_job_allgather(job, "samples", s->moment, bytes, all);
	for (int64_t k = 0; k < samples; k++) {
		int64_t first = INT64_MAX, last = INT64_MIN, longest = 0;
		for (int r = 0; r < job->size; r++) {
			const struct moment *m = &all[(int64_t)r * samples + k];
			first = m->start < first ? m->start : first;
			last = m->finish > last ? m->finish : last;
			longest = m->finish - m->start > longest ? m->finish - m->start : longest;
		}
		ms[k] = (double)(one_clock ? last - first : longest) / 1e6;
	}
	free(all);
	return status;
}

static enum status report(struct rt_job *job, const struct bench_set *set, const struct subject *s,
                          int64_t samples, bool one_clock)
{
	uint32_t files = set->b->file.n;
	double *ms = mem_zalloc(sizeof *ms * (size_t)samples * files);
	struct buf text = {0};
	enum status status = STATUS_OK;
	for (uint32_t f = 0; f < files && status == STATUS_OK; f++) {
		double *own = ms + (size_t)f * (size_t)samples;
		status = gather(job, &s[f], samples, one_clock, own);
		bench_program_print(set->b,
		                    &(struct bench_row){.set = set,
		                                        .file = f,
		                                        .ranks = job->size,
		                                        .samples = samples,
		                                        .ms = own,
		                                        .base = f ? ms : NULL,
		                                        .flops = s[f].flops,
		                                        .valid = s[f].valid},
		                    &text);
	}
	if (status == STATUS_OK && job->rank == 0 && !output_write(&text))
		status = rt_job_fail(job, STATUS_DIAGNOSTICS);
	buf_free(&text);
	free(ms);
	return status;
}

static enum status measure(struct rt_job *job, const struct bench_set *set, struct subject *s)
{
	const struct bench *b = set->b;
	bool one_clock = false;
	int64_t samples = 0;
	enum status status = bench_same_host(job, &one_clock);
	for (uint32_t f = 0; f < b->file.n && status == STATUS_OK; f++) {
		s[f].r = &set->run[f];
		s[f].valid = -1;
		status = open_subject(job, b, &s[f]);
	}
	if (status == STATUS_OK)
		status = warm_up(job, b, s, one_clock, &samples);
	for (uint32_t f = 0; f < b->file.n && status == STATUS_OK; f++)
		s[f].moment = mem_zalloc(sizeof *s[f].moment * (size_t)samples);
	for (int64_t k = 0; k < samples && status == STATUS_OK; k++)
		for (uint32_t f = 0; f < b->file.n && status == STATUS_OK; f++)
			status = run_once(job, &s[f], one_clock, k > 0 || b->warmup > 0 || !b->samples,
			                  &s[f].moment[k]);
	for (uint32_t f = 0; f < b->file.n && status == STATUS_OK && b->check; f++) {
		status = run_check(job, s[f].r, s[f].p, s[f].e, NULL);
		s[f].valid = status == STATUS_OK;
	}
	return status == STATUS_OK ? report(job, set, s, samples, one_clock) : status;
}

int bench_program_rank(struct rt_job *job, void *ranks)
{
	const struct bench_ranks *all = ranks;
	enum status status = bench_agree(job, all->b);
	for (uint32_t k = all->first; k < all->last && status == STATUS_OK; k++) {
		uint32_t files = all->b->file.n;
		struct subject *s = mem_zalloc(sizeof *s * files);
		status = measure(job, &all->set[k], s);
		for (uint32_t f = 0; f < files; f++) {
			exec_close(s[f].e);
			plan_free(s[f].p);
			free(s[f].moment);
		}
		free(s);
	}
	return status;
}
