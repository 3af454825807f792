/* inner: see inner.h. */
#include "sched/inner.h"
#include "sched/role.h"
#include <stdlib.h>

/* Returns, by node, the most comms on a path to it. */
static uint32_t *find_ways(const struct sched_problem *p)
{
	uint32_t *way = mem_zalloc(sizeof *way * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
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
	for (uint32_t i = 0, end; i < key.n; i = end) {
		for (end = i + 1; end < key.n && are_alike(&key.at[i], &key.at[end]); end++)
			;
		for (uint32_t k = i; end - i > 1 && k < end; k++)
			vec_push(out, (struct sched_inner){key.at[k].comm, key.at[k].way});
		out->most = end - i > 1 && end - i > out->most ? end - i : out->most;
	}
	vec_free(&key);
	free(way);
}

/* Puts some comms, which are in no bucket, into one. */
static void join(const struct sched_problem *p, const uint32_t *comm, uint32_t n, uint32_t *bucket,
                 uint32_t *bucket_n)
{
	for (uint32_t i = 0; n > 1 && i < n; i++)
		bucket[p->node[comm[i]].transfer] = *bucket_n;
	*bucket_n += n > 1;
}

static bool are_of_a_way(const struct sched_problem *p, const struct sched_inner *x,
                         const struct sched_inner *y)
{
	return x->way == y->way && sched_transfer(p, x->comm)->family == sched_transfer(p, y->comm)->family;
}

void sched_inner_buckets(const struct sched_problem *p, const struct sched_inners *inner, int64_t most,
                         uint32_t parts, uint32_t *bucket, uint32_t *bucket_n)
{
	uint32_t *comm = mem_alloc(sizeof *comm * ((size_t)inner->n + 1));
	for (uint32_t i = 0, end; i < inner->n; i = end) {
		uint32_t n = 0;
		for (end = i; end < inner->n && are_of_a_way(p, &inner->at[i], &inner->at[end]); end++)
			if (sched_transfer(p, inner->at[end].comm)->in <= most)
				comm[n++] = inner->at[end].comm;
		for (uint64_t k = 0; k < parts; k++) {
			uint32_t from = (uint32_t)(k * n / parts), to = (uint32_t)((k + 1) * n / parts);
			join(p, comm + from, to - from, bucket, bucket_n);
		}
	}
	free(comm);
}
