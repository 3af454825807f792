/* exec_faults: ranks that are slow or fail on request (--rank-delay, --fail), to test how a job reacts. */
#ifndef HIRC_EXEC_EXEC_FAULTS_H
#define HIRC_EXEC_EXEC_FAULTS_H
#include "plan/plan.h"
#include "rt/job.h"

/* A fault or delay that a rank is to make. */
struct exec_fault {
	int rank;
	int64_t delay_us; /* before each statement that it executes; 0: no delay */
	uint32_t line;    /* of the source, at whose statements it fails; 0: it does not */
	int signal;       /* that it then sends itself; 0: it ends the job with a message */
};

struct exec_faults;

/* Finds the faults of this rank; *out is NULL where it has none. STATUS_USAGE with a message where there is
 * no such rank, or it executes no statement of that line. */
enum status exec_faults_open(struct rt_job *job, const struct plan *p, const struct plan_labels *l,
                             const struct exec_fault *at, uint32_t n, struct exec_faults **out);
void exec_faults_close(struct exec_faults *f); /* NULL is allowed */
/* The host comes to an instruction. False: it is to fail there. */
bool exec_faults_enter(struct exec_faults *f, const struct plan_instruction *i);

#endif
