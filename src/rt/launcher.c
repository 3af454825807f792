/* launcher: see launcher.h. */
#include "rt/launcher.h"
#include "rt/rt_report.h"
#include "rt/signals.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	GRACE_US = 500000, /* time for the others to exit by themselves after a failure */
	LEAVE_US = 500000, /* time for the system to end killed processes */
};

void rt_launcher_listen(struct rt_launcher *l)
{
	sigemptyset(&l->awaited);
	sigaddset(&l->awaited, SIGCHLD);
	sigaddset(&l->awaited, SIGUSR1);
	rt_signals_add_ends(&l->awaited);
	signal(SIGCHLD, SIG_DFL); /* if it was ignored, ranks could end unnoticed */
	sigprocmask(SIG_BLOCK, &l->awaited, &l->before);
	atomic_store(&l->shared->board->launcher, getpid());
}

void rt_launcher_forget(const struct rt_launcher *l)
{
	sigprocmask(SIG_SETMASK, &l->before, NULL);
}

/* Writes the message about a rank that ended in another way than by returning. Returns false if it
 * returned. */
static bool unexpected(const struct rt_shared *s, int rank, int how, char *out, size_t n)
{
	int returned = atomic_load(&s->rank[rank].returned);
	if (WIFSIGNALED(how))
		snprintf(out, n, "rank %d was killed by signal %d (%s)", rank, WTERMSIG(how),
		         strsignal(WTERMSIG(how)));
	else if (!returned)
		snprintf(out, n, "rank %d ended with exit code %d before the program was over", rank,
		         WEXITSTATUS(how));
	else if (WEXITSTATUS(how) != returned - 1)
		snprintf(out, n, "rank %d ended with exit code %d after the program was over", rank,
		         WEXITSTATUS(how));
	else
		return false;
	return true;
}

/* Returns the status of a rank that has ended, and tells the job. */
static enum status ended(struct rt_launcher *l, int rank, int how)
{
	char text[160];
	if (!unexpected(l->shared, rank, how, text, sizeof text))
		return (enum status)WEXITSTATUS(how);
	rt_report(l->shared->board, -1, text, STATUS_INTERNAL);
	rt_job_fail(l->job, STATUS_INTERNAL);
	return STATUS_OK;
}

/* Records the ranks that have ended. Returns false if no more will end. */
static bool reap(struct rt_launcher *l, enum status *worst)
{
	for (;;) {
		int how, r = 0;
		pid_t p = waitpid(-1, &how, WNOHANG);
		if (p == 0)
			return true;
		if (p < 0 && errno == EINTR)
			continue;
		if (p < 0) {
			for (; r < l->n; r++)
				if (l->pid[r] > 0) { /* other code has waited for our ranks */
					*worst = STATUS_INTERNAL;
					l->pid[r] = 0;
				}
			return false;
		}
		while (r < l->n && l->pid[r] != p)
			r++;
		if (r == l->n)
			continue;
		l->pid[r] = 0;
		*worst = rt_status_worse(*worst, ended(l, r, how));
	}
}

/* Handles a signal that ends the job: prints where all ranks are, and ends them. */
static void told_to_end(struct rt_launcher *l, int signal)
{
	char text[96];
	snprintf(text, sizeof text, "ended by signal %d (%s)", signal, strsignal(signal));
	rt_report(l->shared->board, -1, text, STATUS_INTERNAL);
	rt_job_fail(l->job, STATUS_INTERNAL);
	l->kill_at = rt_clock_us();
	l->signal = signal;
}

/* Ends ranks that have not exited in time. Returns the time to sleep in us; -1: no limit; 0: waiting is
 * useless. */
static int64_t end_ranks(struct rt_launcher *l)
{
	int64_t now = rt_clock_us();
	if (rt_job_status(l->job) == STATUS_OK)
		return -1;
	if (!l->kill_at)
		l->kill_at = now + GRACE_US;
	if (now < l->kill_at)
		return l->kill_at - now;
	if (!l->leave_at) {
		for (int r = 0; r < l->n; r++)
			if (l->pid[r] > 0)
				kill(l->pid[r], SIGKILL);
		l->leave_at = now + LEAVE_US;
	}
	return now < l->leave_at ? l->leave_at - now : 0;
}

enum status rt_launcher_wait(struct rt_launcher *l)
{
	enum status worst = STATUS_OK;
	while (reap(l, &worst)) {
		int64_t us = end_ranks(l);
		if (us == 0)
			break;
		struct timespec limit = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
		int signal = sigtimedwait(&l->awaited, NULL, us < 0 ? NULL : &limit);
		if (!l->signal && signal > 0 && signal != SIGCHLD && signal != SIGUSR1)
			told_to_end(l, signal);
	}
	while (sigtimedwait(&l->awaited, NULL, &(struct timespec){0}) > 0)
		;
	if (l->signal) {
		signal(l->signal, SIG_DFL);
		raise(l->signal);
	}
	sigprocmask(SIG_SETMASK, &l->before, NULL); /* ends the process if it was told to end */
	return worst;
}
