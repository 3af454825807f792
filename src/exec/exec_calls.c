/* exec_calls: a run of one rank alone, which the others of the job are imagined to be like. */
#include "exec/exec_calls.h"
#include "base/arena.h"
#include "rt/bootstrap.h"
#include <stdlib.h>
#include <string.h>

static enum status allgather_of_one(struct rt_job *job, const char *what, const void *mine, size_t bytes,
                                    void *all)
{
	(void)what;
	for (int r = 0; r < job->size; r++)
		memcpy((char *)all + (size_t)r * bytes, mine, bytes);
	return STATUS_OK;
}

static bool shares_nothing(const struct rt_job *job)
{
	(void)job;
	return false;
}

enum status exec_calls_print(const struct plan *p, const struct plan_labels *labels,
                             const struct exec_options *how, struct buf *out)
{
	static const struct rt_bootstrap alone = {
	    .name = "alone", .allgather = allgather_of_one, .shares = shares_nothing};
	struct rt_job job = {.rank = (int)p->rank, .size = (int)p->ranks, .boot = &alone, .host = "here"};
	const struct exec_options o = {.device = "cuda",
	                               .transport = "nccl",
	                               .engine = "auto",
	                               .tf32 = how->tf32,
	                               .exact_reductions = how->exact_reductions,
	                               .calls = out};
	struct exec *e;
	job.board = mem_zalloc(rt_board_bytes(1));
	rt_board_start(job.board, 1, job.rank);
	enum status status = exec_open(&job, p, labels, &o, &e);
	if (status == STATUS_OK) {
		status = exec_run(e);
		exec_close(e);
	}
	free(job.board);
	return status;
}
