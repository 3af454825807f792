/* launcher: the parent of ranks that were forked, which waits until all have ended; for src/rt only.
 *
 *     sleeps ──a rank has ended, or says that the job has failed──> the others have GRACE_US to leave
 *            ──they have not──> SIGKILL ──not even then──> they are left alone
 *
 * SIGTERM and SIGINT end the job, and this process by the same signal when the ranks have ended.
 * It sleeps in one system call for as long as nothing happens. It is woken by signals, which are
 * blocked from before the first fork. A rank that fails may be unable to end, as where a driver never comes
 * to the end of a GPU's work, so that it sends one (board->launcher). */
#ifndef HIRC_RT_LAUNCHER_H
#define HIRC_RT_LAUNCHER_H
#include "rt/bootstrap_shared.h"
#include <signal.h>
#include <sys/types.h>

struct rt_launcher {
	struct rt_job *job; /* rank -1 */
	struct rt_shared *shared;
	pid_t *pid; /* by rank; 0: none, or it has ended */
	int n;      /* ranks */
	sigset_t before, awaited;
	int signal;                /* that ends the job; 0: none */
	int64_t kill_at, leave_at; /* us; 0: not yet */
};

/* Before the first fork. */
void rt_launcher_listen(struct rt_launcher *l);
/* In a rank: signals are as they were. */
void rt_launcher_forget(const struct rt_launcher *l);
/* Returns the worst status of the ranks that returned, when all have ended. Signals are then as they were. */
enum status rt_launcher_wait(struct rt_launcher *l);

#endif
