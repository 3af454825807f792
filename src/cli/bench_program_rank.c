/* bench_program_rank: the work of a rank: measures the programs of each point, and prints their rows. */
#include "cli/bench.h"
#include "cli/bench_rounds.h"
#include "cli/output.h"

#define SAMPLING_NS 1e9 /* time of all samples, if their number is not given */

static enum status report_samples(struct rt_job *job, const struct bench_set *set,
                                  const struct bench_samples *s)
{
	struct buf text = {0};
	enum status status = STATUS_OK;
	for (uint32_t f = 0; f < set->b->file.n; f++)
		bench_program_print(set->b,
		                    &(struct bench_row){.set = set,
		                                        .file = f,
		                                        .ranks = job->size,
		                                        .samples = s->samples,
		                                        .ms = s->ms + (size_t)f * (size_t)s->samples,
		                                        .base = f ? s->ms : NULL,
		                                        .flops = s->of[f].flops,
		                                        .valid = s->of[f].valid},
		                    &text);
	if (job->rank == 0)
		progress_end(set->b->progress);
	if (job->rank == 0 && !output_write(&text))
		status = rt_job_fail(job, output_status(false));
	buf_free(&text);
	return status;
}

static void show_program_progress(void *ranks, const struct rt_job *job, uint32_t program, double done)
{
	const struct bench_ranks *all = ranks;
	const struct bench *b = all->b;
	if (job->rank == 0)
		progress_show(b->progress, (all->first + done) / all->sweep->point.n, "%s",
		              b->file.at[program]);
}

int bench_program_rank(struct rt_job *job, void *ranks)
{
	const struct bench_ranks *all = ranks;
	const struct bench *b = all->b;
	enum status status = bench_agree(job, b);
	for (uint32_t k = all->first; k < all->last && status == STATUS_OK; k++) {
		struct bench_ranks here = *all;
		here.first = k;
		const struct bench_rounds o = {.ranks = &b->ranks,
		                               .run = all->set[k].run,
		                               .n = b->file.n,
		                               .warmup = b->warmup,
		                               .samples = b->samples,
		                               .budget = SAMPLING_NS,
		                               .check = b->check,
		                               .before = show_program_progress,
		                               .to = &here};
		struct bench_samples s;
		status = bench_rounds(job, &o, &s);
		if (status == STATUS_OK)
			status = report_samples(job, &all->set[k], &s);
		bench_samples_free(&s);
	}
	return status;
}
