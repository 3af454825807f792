/* exec_ranges: see exec_ranges.h. */
#include "exec/exec_ranges.h"
#include "base/arena.h"
#include "cuda/open.h"
#include <stdlib.h>

#ifdef HIRC_HAVE_CUDA

struct exec_ranges {
	struct cuda_ranges *cuda;
	void **name;  /* by op_id: its name; NULL: no range */
	void *replay; /* name of the range of a replay */
	void *now;    /* name of the open range; NULL: none */
};

enum status exec_ranges_open(struct rt_job *job, const struct plan_labels *l, bool wanted,
                             struct exec_ranges **out)
{
	struct cuda_ranges *cuda;
	*out = NULL;
	enum status status = cuda_ranges_open(job, wanted, &cuda);
	if (status != STATUS_OK || !cuda)
		return status;
	struct exec_ranges *r = mem_zalloc(sizeof *r);
	r->cuda = cuda;
	r->name = mem_zalloc(sizeof *r->name * (l->n + 1));
	for (uint32_t k = 0; k < l->n; k++)
		if (*l->at[k].statement)
			r->name[k] = cuda_range_name(cuda, l->at[k].statement);
	r->replay = cuda_range_name(cuda, "replay of a graph");
	*out = r;
	return STATUS_OK;
}

void exec_ranges_close(struct exec_ranges *r)
{
	if (!r)
		return;
	cuda_ranges_close(r->cuda);
	free(r->name);
	free(r);
}

static void change_to(struct exec_ranges *r, void *name)
{
	if (r->now)
		cuda_range_end(r->cuda);
	if (name)
		cuda_range_begin(r->cuda, name);
	r->now = name;
}

/* Returns true if the host issues work of a statement with this instruction. */
static bool issues(const struct plan_instruction *i)
{
	switch ((enum plan_code)i->code) {
	case PLAN_TASK:
	case PLAN_COLLECTIVE:
	case PLAN_MESSAGE:
	case PLAN_GROUP:
	case PLAN_END_GROUP:
	case PLAN_WAIT:
	case PLAN_SYNC:
		return true;
	default:
		return false;
	}
}

void exec_ranges_enter(struct exec_ranges *r, const struct plan_instruction *i)
{
	if (!r)
		return;
	if (i->code == PLAN_NEXT) /* the next iteration gets a range of its own */
		change_to(r, NULL);
	else if (issues(i) && r->name[i->statement] != r->now)
		change_to(r, r->name[i->statement]);
}

void exec_ranges_enter_replay(struct exec_ranges *r)
{
	if (r)
		change_to(r, r->replay);
}

void exec_ranges_leave(struct exec_ranges *r)
{
	if (r)
		change_to(r, NULL);
}

#else

enum status exec_ranges_open(struct rt_job *job, const struct plan_labels *l, bool wanted,
                             struct exec_ranges **out)
{
	(void)l;
	*out = NULL;
	if (!wanted)
		return STATUS_OK;
	rt_job_error(job, "--nvtx needs a hirc that was built with CUDA's headers");
	return rt_job_fail(job, STATUS_ABSENT);
}

void exec_ranges_close(struct exec_ranges *r)
{
	(void)r;
}

void exec_ranges_enter(struct exec_ranges *r, const struct plan_instruction *i)
{
	(void)r, (void)i;
}

void exec_ranges_enter_replay(struct exec_ranges *r)
{
	(void)r;
}

void exec_ranges_leave(struct exec_ranges *r)
{
	(void)r;
}
#endif
