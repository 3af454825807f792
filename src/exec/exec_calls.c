/* exec_calls: records the calls of a run. With NCCL, one rank alone is run, since its calls do not
 * depend on the others. With other transports all ranks run, one at a time, the requested rank last. */
#include "exec/exec_calls.h"
#include "base/arena.h"
#include "cuda/open.h"
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

struct recorded {
	const struct exec_calls *of;
	struct arena *handles;
	struct buf *out;
};

static enum status record_rank_calls(struct rt_job *job, const struct recorded *r)
{
	bool is_asked_for = job->rank == r->of->rank;
	struct buf unheard = {0};
	const struct cuda_calls calls = {.out = is_asked_for ? r->out : &unheard, .handles = r->handles};
	struct exec_options o = *r->of->how;
	struct exec *e;
	o.device = "cuda";
	o.engine = "auto";
	o.calls = &calls;
	enum status status = exec_open(job, r->of->plan[job->rank], r->of->labels, &o, &e);
	if (status == STATUS_OK) {
		status = exec_run(e);
		exec_close(e);
	}
	buf_free(&unheard);
	return status;
}

static int rank_main(struct rt_job *job, void *recorded)
{
	return record_rank_calls(job, recorded);
}

static enum status record_alone(const struct recorded *r)
{
	static const struct rt_bootstrap alone = {
	    .name = "alone", .allgather = allgather_of_one, .shares = shares_nothing};
	struct rt_job job = {.rank = r->of->rank, .size = r->of->ranks, .boot = &alone, .host = "here"};
	job.board = mem_zalloc(rt_board_bytes(1));
	rt_board_start(job.board, 1, job.rank);
	rt_board_join(job.board, job.rank, 0);
	enum status status = record_rank_calls(&job, r);
	free(job.board);
	return status;
}

bool exec_calls_need_all(const struct exec_options *how)
{
	return transport_kind_has(how->transport, TRANSPORT_WAITS);
}

enum status exec_calls_print(const struct exec_calls *c, struct buf *out)
{
	struct recorded r = {.of = c, .handles = arena_new(), .out = out};
	const struct rt_turns_options o = {
	    .ranks = c->ranks,
	    .last = c->rank,
	    .processes = transport_kind_has(c->how->transport, TRANSPORT_NEEDS_PROCESSES)};
	enum status status =
	    exec_calls_need_all(c->how) ? rt_launch_turns(&o, rank_main, &r) : record_alone(&r);
	arena_free(r.handles);
	return status;
}
