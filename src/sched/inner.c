/* inner: see inner.h. */
#include "sched/inner.h"
#include "sched/role.h"
#include <stdlib.h>

/* Returns, by node, the most comms on a path to it. */
static uint32_t *find_ways(const struct sched_problem *p)
{
	uint32_t *way = mem_zalloc(sizeof *way * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++) {
			uint32_t y = p->pred.item[i], w = way[y] + (p->node[y].kind == SCHED_COMM);
			way[x] = w > way[x] ? w : way[x];
		}
	return way;
}

struct key {
	uint32_t family, way, comm;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->way != y->way)
		return x->way < y->way ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

static bool are_alike(const struct key *x, const struct key *y)
{
	return x->family == y->family && x->way == y->way;
}

void sched_inners(const struct sched_problem *p, const uint8_t *role, struct sched_inners *out)
{
	VEC(struct key) key = {0};
	uint32_t *way = find_ways(p);
	*out = (struct sched_inners){0};
	for (uint32_t x = 0; x < p->n; x++)
		if (role[x] == SCHED_INNER && sched_transfer(p, x)->family != SCHED_NONE)
			vec_push(&key, (struct key){sched_transfer(p, x)->family, way[x], x});
	if (key.n > 1)
		qsort(key.at, key.n, sizeof *key.at, by_key);
	for (uint32_t i = 0; i < key.n; i++)
		if ((i && are_alike(&key.at[i - 1], &key.at[i])) ||
		    (i + 1 < key.n && are_alike(&key.at[i], &key.at[i + 1])))
			vec_push(out, (struct sched_inner){key.at[i].comm, key.at[i].way});
	vec_free(&key);
	free(way);
}

void sched_inner_buckets(const struct sched_problem *p, const struct sched_inners *inner, int64_t most,
                         uint32_t *bucket, uint32_t *bucket_n)
{
	const struct sched_inner *first = NULL; /* the first comm of this family and way */
	for (uint32_t i = 0; i < inner->n; i++) {
		const struct sched_inner *x = &inner->at[i];
		if (sched_transfer(p, x->comm)->in > most)
			continue;
		if (!first || first->way != x->way ||
		    sched_transfer(p, first->comm)->family != sched_transfer(p, x->comm)->family) {
			first = x;
			continue;
		}
		uint32_t *b = &bucket[p->node[first->comm].transfer];
		if (*b == SCHED_NONE)
			*b = (*bucket_n)++;
		bucket[p->node[x->comm].transfer] = *b;
	}
}
