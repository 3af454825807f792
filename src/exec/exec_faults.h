/* exec_faults: delays ranks or makes them fail on request (--rank-delay, --fail), to test how a job
 * reacts. */
#ifndef HIRC_EXEC_EXEC_FAULTS_H
#define HIRC_EXEC_EXEC_FAULTS_H
#include "plan/plan.h"
#include "rt/job.h"

/* A delay or fault that the user asked for. */
struct exec_fault {
	int rank;
	int64_t delay_us; /* delay before each statement; 0: none */
	uint32_t line;    /* source line at whose statements the rank fails; 0: none */
	int signal;       /* signal that the rank sends to itself; 0: it ends the job with a message */
};

struct exec_faults;

/* Finds the faults of this rank; sets *out to NULL if it has none. Returns STATUS_USAGE after a message
 * if there is no such rank, or if it executes no statement of that line. */
enum status exec_faults_open(struct rt_job *job, const struct plan *p, const struct plan_labels *l,
                             const struct exec_fault *at, uint32_t n, struct exec_faults **out);
void exec_faults_close(struct exec_faults *f); /* NULL is allowed */
/* Tells that the host reaches an instruction. Returns false if the rank is to fail there. */
bool exec_faults_enter(struct exec_faults *f, const struct plan_instruction *i);

#endif
