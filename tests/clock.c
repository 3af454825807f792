/* clock: a library to be preloaded; time passes CLOCK_SLOW times slower for the program, so that it seems to
 * compute so many times faster. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
	const char *slow = getenv("CLOCK_SLOW");
	long code = syscall(SYS_clock_gettime, clock, t);
	if (code == 0 && slow && clock == CLOCK_MONOTONIC) {
		long long ns = ((long long)t->tv_sec * 1000000000 + t->tv_nsec) / atoll(slow);
		t->tv_sec = (time_t)(ns / 1000000000);
		t->tv_nsec = (long)(ns % 1000000000);
	}
	return (int)code;
}
