/* bell: how a thread sleeps until another thread or process has news for it.
 *
 * A bell is two words, in private or in shared memory, zero at first. The waiter reads the bell,
 * looks for work, and if there is none sleeps until the bell differs from what it read:
 *
 *     uint32_t seen = rt_bell_read(&bell);
 *     if (!work())
 *             rt_bell_wait(&bell, seen, microseconds);
 *
 * The other side makes the work visible, then rings. No ring between read and wait is lost. */
#ifndef HIRC_RT_BELL_H
#define HIRC_RT_BELL_H
#include <stdatomic.h>
#include <stdint.h>

struct rt_bell {
	_Atomic uint32_t count;    /* rings so far */
	_Atomic uint32_t sleepers; /* threads in rt_bell_wait's system call */
};

uint32_t rt_bell_read(struct rt_bell *b);
void rt_bell_ring(struct rt_bell *b);
/* Returns once the bell was rung since `seen` was read, after the time (-1: none), or spuriously.
 * Spins for about 2 µs, then yields, then sleeps. */
void rt_bell_wait(struct rt_bell *b, uint32_t seen, int64_t microseconds);

int64_t rt_clock_us(void); /* monotonic clock, microseconds */

#endif
