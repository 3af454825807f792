/* launcher: the parent process of forked ranks. It waits until all have ended. Private to src/rt.
 *
 *     sleeps ──a rank has ended, or reports that the job has failed──> the others have GRACE_US to exit
 *            ──they have not──> SIGKILL ──still not ended──> they are left behind
 *
 * SIGTERM and SIGINT end the job, and then this process by the same signal. While nothing happens, the
 * launcher sleeps in one system call. Signals wake it; they are blocked from before the first fork. A
 * rank that fails may be unable to exit, for instance if a driver never finishes a GPU's work. So it
 * sends a signal (board->launcher). */
#ifndef HIRC_RT_LAUNCHER_H
#define HIRC_RT_LAUNCHER_H
#include "rt/bootstrap_shared.h"
#include <signal.h>
#include <sys/types.h>

struct rt_launcher {
	struct rt_job *job; /* with rank -1 */
	struct rt_shared *shared;
	pid_t *pid; /* by rank; 0: none, or it has ended */
	int n;      /* number of ranks */
	sigset_t before, awaited;
	int signal;                /* signal that ends the job; 0: none */
	int64_t kill_at, leave_at; /* us; 0: not set */
};

/* Call it before the first fork. */
void rt_launcher_listen(struct rt_launcher *l);
/* In a rank: restores the signals. */
void rt_launcher_forget(const struct rt_launcher *l);
/* Waits until all ranks have ended. Returns the worst status of those that returned, and restores the
 * signals. */
enum status rt_launcher_wait(struct rt_launcher *l);

#endif
