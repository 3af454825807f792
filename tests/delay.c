/* delay: a library to be preloaded. It makes ranks late, so that code that relies on luck fails.
 *
 *     DELAY_US=n        every thread stops now and then, wherever it is, for up to n microseconds
 *     DELAY_RANK=r      only rank r sleeps, at one place:
 *     DELAY_MS=n        how long
 *     DELAY_MAP=k         at its k-th mapping of shared memory, from 0: in an exchange of memory
 *     DELAY_MAP unset     before its first exchange with other ranks
 *
 * Ranks are counted in the order in which `hirc run` forks them, or numbered by Open MPI. If ranks are
 * threads, all are rank 0. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static long longest_us, late_rank = -1, late_ms, late_map = -1, rank = -1, forks;
static atomic_long maps;
static _Thread_local timer_t timer;
static _Thread_local uint64_t state;

static void sleep_us(long us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	while (nanosleep(&t, &t) != 0)
		;
}

static uint32_t draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33);
}

/* Sets the time of the next stop: on average after five times the length of a stop. */
static void set_timer(void)
{
	long us = 1 + (long)(draw() % (uint64_t)(5 * longest_us));
	struct itimerspec at = {.it_value = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}};
	timer_settime(timer, 0, &at, NULL);
}

static void stop(int signal)
{
	(void)signal;
	sleep_us((long)(draw() % (uint64_t)longest_us));
	set_timer();
}

static void start_thread(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX};
	if (longest_us <= 0)
		return;
	e.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	state = (uint64_t)e.sigev_notify_thread_id * 2654435761u + (uint64_t)time(NULL);
	if (timer_create(CLOCK_MONOTONIC, &e, &timer) == 0)
		set_timer();
}

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);
	return text ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void start(void)
{
	struct sigaction on = {.sa_handler = stop, .sa_flags = SA_RESTART};
	longest_us = number("DELAY_US", 0);
	late_rank = number("DELAY_RANK", -1);
	late_ms = number("DELAY_MS", 0);
	late_map = number("DELAY_MAP", -1);
	rank = number("OMPI_COMM_WORLD_RANK", -1);
	sigaction(SIGRTMAX, &on, NULL);
	start_thread();
	if (rank >= 0 && rank == late_rank && late_map < 0)
		sleep_us(late_ms * 1000);
}

pid_t fork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	pid_t child = next();
	if (child != 0) {
		forks++;
		return child;
	}
	rank = rank < 0 ? forks : rank;
	start_thread(); /* timers are not inherited */
	if (rank == late_rank && late_map < 0)
		sleep_us(late_ms * 1000);
	return 0;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	long shared = (flags & MAP_TYPE) == MAP_SHARED && file >= 0 && rank >= 0 ? 1 : 0;
	if (shared && rank == late_rank && atomic_fetch_add(&maps, 1) == late_map)
		sleep_us(late_ms * 1000);
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

struct begin {
	void *(*run)(void *);
	void *argument;
};

static void *begin(void *at)
{
	struct begin b = *(struct begin *)at;
	free(at);
	start_thread();
	return b.run(b.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
	    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
	                                                                                   "pthread_create");
	struct begin *b = malloc(sizeof *b);
	if (longest_us <= 0 || !b) {
		free(b);
		return next(thread, attributes, run, argument);
	}
	*b = (struct begin){.run = run, .argument = argument};
	return next(thread, attributes, begin, b);
}
