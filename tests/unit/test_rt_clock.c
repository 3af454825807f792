/* The clock of the machine is set back while ranks run: no wait of hirc takes longer for it. This file's
 * clock_gettime stands in for the system's. Its date is an hour ahead, as of a machine whose clock is set back by
 * an hour just after it was read. Its monotonic clock runs a hundred times as fast, so that the test is short. */
#include "test_rt.h"
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { FASTER = 100, HOUR = 3600 };

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static long first;
	long code = syscall(SYS_clock_gettime, clock, t);
	if (code == 0 && clock == CLOCK_REALTIME)
		t->tv_sec += HOUR;
	if (code == 0 && clock == CLOCK_MONOTONIC) {
		if (!first)
			first = t->tv_sec;
		long long ns = ((t->tv_sec - first) * 1000000000LL + t->tv_nsec) * FASTER;
		t->tv_sec = first + (time_t)(ns / 1000000000);
		t->tv_nsec = (long)(ns % 1000000000);
	}
	return (int)code;
}

/* Rank 0 fails, and the others do not stop. */
static int fail(struct rt_job *job, void *arg)
{
	(void)arg;
	if (job->rank == 0)
		return rt_job_fail(job, STATUS_WRONG);
	for (;;)
		pause();
}

int main(void)
{
	int how;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		launch(RT_BOOT_THREAD, 2, 0, fail, NULL);
		_exit(99); /* the ranks have not returned */
	}
	waitpid(child, &how, 0);
	CHECK(WIFEXITED(how));
	CHECK_EQ(WEXITSTATUS(how), STATUS_WRONG);
	return check_result();
}
