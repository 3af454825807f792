/* regroup: see regroup.h. */
#include "sched/regroup.h"
#include "sched/role.h"
#include <stdlib.h>

enum { NEAR = 4 }; /* largest distance of a neighbour */

static void number_comm(struct sched_rows *rows, const struct sched_problem *p, uint32_t *next, uint32_t comm)
{
	if (rows->at[comm] == SCHED_NONE)
		return;
	rows->at[comm] = next[p->node[comm].family]++;
	rows->comm[rows->at[comm]] = comm;
}

void sched_rows(const struct sched_problem *p, const uint8_t *role, const struct sched_sources *source,
                const struct sched_inners *inner, struct arena *a, struct sched_rows *out)
{
	uint32_t *next = mem_alloc(sizeof *next * ((size_t)p->family_n + 1));
	*out = (struct sched_rows){.family = arena_new_array(a, uint32_t, p->family_n + 1),
	                           .at = arena_new_array(a, uint32_t, p->n)};
	for (uint32_t x = 0; x < p->n; x++)
		out->at[x] =
		    p->node[x].family != SCHED_NONE && (role[x] == SCHED_SOURCE || role[x] == SCHED_SINK)
		        ? 0
		        : SCHED_NONE;
	for (uint32_t i = 0; i < inner->n; i++)
		out->at[inner->at[i].comm] = 0;
	for (uint32_t x = 0; x < p->n; x++)
		if (out->at[x] != SCHED_NONE) {
			out->family[p->node[x].family + 1]++;
			out->n++;
		}
	out->comm = arena_new_array(a, uint32_t, out->n);
	for (uint32_t f = 0; f < p->family_n; f++) {
		out->family[f + 1] += out->family[f];
		next[f] = out->family[f];
	}
	for (uint32_t i = 0; i < source->first[p->lane_n]; i++)
		number_comm(out, p, next, source->at[i].comm);
	for (uint32_t i = 0; i < inner->n; i++)
		number_comm(out, p, next, inner->at[i].comm);
	for (uint32_t x = 0; x < p->n; x++)
		if (role[x] == SCHED_SINK)
			number_comm(out, p, next, x);
	free(next);
}

/* Draws a neighbour in the row that is in another bucket; returns the comm itself if it finds none. */
static uint32_t neighbour(const struct sched_rows *rows, struct sched_random *r, uint32_t family,
                          uint32_t comm, const uint32_t *bucket)
{
	uint32_t first = rows->family[family], end = rows->family[family + 1], at = rows->at[comm];
	bool before = sched_draw(r, 2);
	for (uint32_t k = 1 + sched_draw(r, 2); k <= NEAR; k++) {
		if (before ? at < first + k : at + k >= end)
			break;
		uint32_t x = rows->comm[before ? at - k : at + k];
		if (bucket[x] == SCHED_NONE || bucket[x] != bucket[comm])
			return x;
	}
	return comm;
}

/* Numbers the buckets in the order of the rows. A comm that is alone in its bucket leaves it. */
static uint32_t renumber_buckets(const struct sched_rows *rows, uint32_t *bucket, uint32_t bucket_n)
{
	uint32_t *members = mem_zalloc(sizeof *members * ((size_t)bucket_n + 1)), n = 0;
	uint32_t *number = mem_alloc(sizeof *number * ((size_t)bucket_n + 1));
	for (uint32_t i = 0; i < rows->n; i++)
		if (bucket[rows->comm[i]] != SCHED_NONE)
			members[bucket[rows->comm[i]]]++;
	for (uint32_t k = 0; k < bucket_n; k++)
		number[k] = SCHED_NONE;
	for (uint32_t i = 0; i < rows->n; i++) {
		uint32_t *b = &bucket[rows->comm[i]];
		if (*b == SCHED_NONE)
			continue;
		if (members[*b] > 1 && number[*b] == SCHED_NONE)
			number[*b] = n++;
		*b = number[*b];
	}
	free(members);
	free(number);
	return n;
}

void sched_regroup(const struct sched_problem *p, const struct sched_rows *rows, struct sched_random *r,
                   uint32_t comm, uint32_t *bucket, uint32_t *bucket_n)
{
	uint32_t family = p->node[comm].family, old = bucket[comm], n = *bucket_n;
	uint32_t other = neighbour(rows, r, family, comm, bucket), way = sched_draw(r, 4);
	if (way < 2 && other != comm) { /* the comm joins the neighbour, or its whole bucket does */
		uint32_t into = bucket[other] == SCHED_NONE ? n++ : bucket[other];
		for (uint32_t i = rows->family[family]; i < rows->family[family + 1]; i++)
			if (way == 1 && old != SCHED_NONE && bucket[rows->comm[i]] == old)
				bucket[rows->comm[i]] = into;
		bucket[comm] = bucket[other] = into;
	} else if (way == 2) { /* cut the bucket before the comm */
		for (uint32_t i = rows->at[comm]; old != SCHED_NONE && i < rows->family[family + 1]; i++)
			if (bucket[rows->comm[i]] == old)
				bucket[rows->comm[i]] = n;
		n++;
	} else {
		bucket[comm] = SCHED_NONE;
	}
	*bucket_n = renumber_buckets(rows, bucket, n);
}
