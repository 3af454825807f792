/* partner: see partner.h. Each node has a set of the comms of a family that it needs, as bits. */
#include "sched/partner.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1 << 22 }; /* of all sets of a family */

static unsigned count_bits(uint64_t x)
{
	unsigned n = 0;
	for (; x; x &= x - 1)
		n++;
	return n;
}

/* Finds the comms that each node needs; of a comm, with itself. */
static void find_needs(const struct sched_problem *p, const uint32_t *number, uint32_t words, uint64_t *set)
{
	for (uint32_t x = 0; x < p->n; x++) {
		uint64_t *own = set + (size_t)x * words;
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			const uint64_t *other = set + (size_t)p->pred.item[i] * words;
			for (uint32_t w = 0; w < words; w++)
				own[w] |= other[w];
		}
		if (number[x] != SCHED_NONE)
			own[number[x] / 64] |= (uint64_t)1 << number[x] % 64;
	}
}

/* Marks the comms of a family that all others of it need, or that need them. comm: the n comms. */
static void mark_alone(const struct sched_problem *p, const uint32_t *comm, uint32_t n, uint32_t *number,
                       bool *alone)
{
	uint32_t words = n / 64 + 1, *related = mem_zalloc(sizeof *related * ((size_t)n + 1));
	uint64_t *set = mem_zalloc(sizeof *set * ((size_t)p->n + 1) * words);
	for (uint32_t k = 0; k < n; k++)
		number[comm[k]] = k;
	find_needs(p, number, words, set);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t w = 0; w < words; w++) {
			uint64_t needs = set[(size_t)comm[k] * words + w];
			related[k] += count_bits(needs);
			for (uint32_t i = 0; needs; i++, needs >>= 1)
				if (needs & 1)
					related[64 * w + i] += 64 * w + i != k;
		}
	for (uint32_t k = 0; k < n; k++) {
		alone[comm[k]] = related[k] == n; /* itself is one of them */
		number[comm[k]] = SCHED_NONE;
	}
	free(related);
	free(set);
}

void sched_partners(const struct sched_problem *p, bool *alone)
{
	uint32_t *number = mem_alloc(sizeof *number * ((size_t)p->n + 1)); /* by node: its place in comm */
	uint32_t *comm = mem_alloc(sizeof *comm * ((size_t)p->n + 1));
	memset(number, 0xff, sizeof *number * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		alone[x] = p->node[x].kind == SCHED_COMM && sched_transfer(p, x)->family == SCHED_NONE;
	for (uint32_t f = 0; f < p->family_n; f++) {
		uint32_t n = 0;
		for (uint32_t x = 0; x < p->n; x++)
			if (p->node[x].kind == SCHED_COMM && sched_transfer(p, x)->family == f)
				comm[n++] = x;
		if ((uint64_t)p->n * (n / 64 + 1) <= MOST_WORDS)
			mark_alone(p, comm, n, number, alone);
	}
	free(comm);
	free(number);
}
