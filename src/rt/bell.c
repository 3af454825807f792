/* bell: see bell.h. A bell is a futex word. The counter of sleepers saves the system call if nobody
 * waits. Both words are accessed sequentially consistent: either the ringer sees the sleeper, or the
 * kernel sees the new count and does not put it to sleep. */
#include "rt/bell.h"
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 40 /* pauses, about 2 µs */, YIELDS = 2 };

uint32_t rt_bell_read(struct rt_bell *b)
{
	return atomic_load(&b->count);
}

void rt_bell_ring(struct rt_bell *b)
{
	atomic_fetch_add(&b->count, 1);
	if (atomic_load(&b->sleepers) > 0)
		syscall(SYS_futex, &b->count, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void rt_bell_wait(struct rt_bell *b, uint32_t seen, int64_t microseconds)
{
	if (microseconds == 0)
		return;
	for (int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&b->count, memory_order_acquire) != seen)
			return;
		rt_pause();
	}
	for (int i = 0; i < YIELDS; i++) {
		sched_yield();
		if (atomic_load_explicit(&b->count, memory_order_acquire) != seen)
			return;
	}
	atomic_fetch_add(&b->sleepers, 1);
	rt_bell_sleep(b, seen, microseconds);
}

uint32_t rt_bell_announce(struct rt_bell *b)
{
	atomic_fetch_add(&b->sleepers, 1);
	rt_bell_fence();
	return atomic_load(&b->count);
}

void rt_bell_withdraw(struct rt_bell *b)
{
	atomic_fetch_sub(&b->sleepers, 1);
}

void rt_bell_sleep(struct rt_bell *b, uint32_t seen, int64_t microseconds)
{
	struct timespec limit = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
	/* returns when woken, when the word has changed, after the time, or when interrupted: in each
	 * case the caller looks again */
	syscall(SYS_futex, &b->count, FUTEX_WAIT, seen, microseconds < 0 ? NULL : &limit, NULL, 0);
	atomic_fetch_sub(&b->sleepers, 1);
}

int64_t rt_clock_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
