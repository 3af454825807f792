/* exec_faults: see exec_faults.h. */
#include "exec/exec_faults.h"
#include "base/arena.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct exec_faults {
	int64_t delay_us;
	op_id last;    /* the statement that the host reached last; 0: the next one begins anew */
	int8_t *fails; /* by op_id: 1 + a signal; 1: ends with a message; 0: does not fail */
};

/* Returns true if the instruction is work of a statement itself. */
static bool executes(const struct plan_instruction *i)
{
	switch ((enum plan_code)i->code) {
	case PLAN_TASK:
	case PLAN_COLLECTIVE:
	case PLAN_MESSAGE:
	case PLAN_WAIT:
	case PLAN_SYNC:
		return i->statement != 0;
	default:
		return false;
	}
}

/* Marks the statements of a line. Returns false if there are none. */
static bool mark_faulty_line(struct exec_faults *f, const struct plan *p, const struct plan_labels *l,
                             const struct exec_fault *fault)
{
	bool any = false;
	for (uint32_t k = 0; k < p->code.n; k++) {
		op_id o = p->code.at[k].statement;
		if (!executes(&p->code.at[k]) || l->at[o].line != fault->line)
			continue;
		f->fails[o] = (int8_t)(1 + fault->signal);
		any = true;
	}
	return any;
}

enum status exec_faults_open(struct rt_job *job, const struct plan *p, const struct plan_labels *l,
                             const struct exec_fault *at, uint32_t n, struct exec_faults **out)
{
	struct exec_faults *f = NULL;
	for (uint32_t k = 0; k < n; k++) {
		const char *option = at[k].line ? "fail" : "rank-delay";
		if (at[k].rank >= job->size) {
			exec_faults_close(f);
			if (job->rank != 0)
				return rt_job_barrier(job, "the check of options");
			rt_job_error(job, "--%s: there is no rank %d, the job has %d", option, at[k].rank,
			             job->size);
			return rt_job_fail(job, STATUS_USAGE);
		}
		if (at[k].rank != job->rank)
			continue;
		if (!f) {
			f = mem_zalloc(sizeof *f);
			f->fails = mem_zalloc(l->n + 1);
		}
		f->delay_us += at[k].delay_us;
		if (at[k].line && !mark_faulty_line(f, p, l, &at[k])) {
			rt_job_error(job, "--fail: this rank executes no statement of line %u", at[k].line);
			exec_faults_close(f);
			return rt_job_fail(job, STATUS_USAGE);
		}
	}
	*out = f;
	return STATUS_OK;
}

void exec_faults_close(struct exec_faults *f)
{
	if (f)
		free(f->fails);
	free(f);
}

static void wait_us(int64_t us)
{
	struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

bool exec_faults_enter(struct exec_faults *f, const struct plan_instruction *i)
{
	if (i->code == PLAN_NEXT)
		f->last = 0;
	if (!executes(i))
		return true;
	if (i->statement != f->last && f->delay_us)
		wait_us(f->delay_us);
	f->last = i->statement;
	if (f->fails[i->statement] > 1)
		raise(f->fails[i->statement] - 1);
	return f->fails[i->statement] != 1;
}
