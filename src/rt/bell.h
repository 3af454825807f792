/* bell: lets a thread sleep until another thread or process has news for it.
 *
 * A bell is two words, in private or in shared memory, zero at first. The waiter reads the bell,
 * looks for work, and if there is none sleeps until the bell differs from the value read:
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
/* Returns after the bell was rung since `seen` was read, after the time (-1: no limit), or spuriously.
 * Spins for about 2 µs, then yields, then sleeps. */
void rt_bell_wait(struct rt_bell *b, uint32_t seen, int64_t microseconds);

/* For threads that look for work before they sleep and are rung often. The waiter announces itself, looks
 * once more, and sleeps unless there is work. A nudge costs nothing if nobody sleeps.
 *
 *     uint32_t seen = rt_bell_announce(&bell);
 *     if (work())
 *             rt_bell_withdraw(&bell);
 *     else
 *             rt_bell_sleep(&bell, seen, microseconds);       also withdraws */
uint32_t rt_bell_announce(struct rt_bell *b);
void rt_bell_withdraw(struct rt_bell *b);
void rt_bell_sleep(struct rt_bell *b, uint32_t seen, int64_t microseconds);
/* A fence must be between the work and the nudge: then either the sleeper sees the work, or the caller
 * sees the sleeper. */
static inline void rt_bell_fence(void)
{
#ifdef __SANITIZE_THREAD__ /* the thread sanitizer does not support fences */
	static _Thread_local _Atomic int word;
	atomic_fetch_add(&word, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}
static inline void rt_bell_nudge(struct rt_bell *b)
{
	if (atomic_load(&b->sleepers) > 0)
		rt_bell_ring(b);
}

/* Pauses for a moment in a loop that looks for something. */
static inline void rt_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

int64_t rt_clock_us(void); /* monotonic clock, microseconds */

#endif
