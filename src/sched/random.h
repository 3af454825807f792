/* random: Marsaglia's xorshift64, which gives the same numbers on every machine. */
#ifndef HIRC_SCHED_RANDOM_H
#define HIRC_SCHED_RANDOM_H
#include <stdint.h>

struct sched_random {
	uint64_t state; /* never 0 */
};

static inline struct sched_random sched_random_from(uint64_t seed)
{
	return (struct sched_random){(seed + 1) * 0x9e3779b97f4a7c15u | 1};
}

/* Returns a number below n. */
static inline uint32_t sched_draw(struct sched_random *r, uint32_t n)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return (uint32_t)((r->state >> 11) % n);
}

#endif
