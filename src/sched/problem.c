/* problem: makes the lists of a problem, and finds the times of comms. */
#include "sched/problem.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sched_lists lists_new(struct arena *a, uint32_t n, uint32_t items)
{
	return (struct sched_lists){arena_new_array(a, uint32_t, (size_t)n + 1),
	                            arena_new_array(a, uint32_t, items)};
}

/* Transposes m lists into n lists. Each result is ascending, since the m lists are walked in order. */
static struct sched_lists transposed(struct arena *a, const struct sched_lists *l, uint32_t m, uint32_t n)
{
	struct sched_lists t = lists_new(a, n, l->at[m]);
	uint32_t *next = mem_zalloc(sizeof *next * ((size_t)n + 1));
	for (uint32_t i = 0; i < l->at[m]; i++)
		t.at[l->item[i] + 1]++;
	for (uint32_t k = 0; k < n; k++)
		t.at[k + 1] += t.at[k];
	memcpy(next, t.at, sizeof *next * n);
	for (uint32_t k = 0; k < m; k++)
		for (uint32_t i = l->at[k]; i < l->at[k + 1]; i++)
			t.item[next[l->item[i]]++] = k;
	free(next);
	return t;
}

struct sched_lists sched_lists_to(struct arena *a, const struct sched_pair *pair, uint32_t pair_n, uint32_t n)
{
	struct sched_lists l = lists_new(a, n, pair_n);
	uint32_t *next = mem_alloc(sizeof *next * ((size_t)n + 1));
	for (uint32_t i = 0; i < pair_n; i++)
		l.at[pair[i].to + 1]++;
	for (uint32_t k = 0; k < n; k++)
		l.at[k + 1] += l.at[k];
	memcpy(next, l.at, sizeof *next * n);
	for (uint32_t i = 0; i < pair_n; i++)
		l.item[next[pair[i].to]++] = pair[i].from;
	free(next);
	return l;
}

/* Lists for each `from` < n its distinct `to` < m, ascending. */
static struct sched_lists listed(struct arena *a, const struct sched_pair *pair, uint32_t pair_n, uint32_t n,
                                 uint32_t m)
{
	struct arena *scratch = arena_new();
	struct sched_lists by_to = sched_lists_to(scratch, pair, pair_n, m);
	struct sched_lists l = transposed(a, &by_to, m, n);
	arena_free(scratch);
	uint32_t kept = 0, i = 0;
	for (uint32_t x = 0; x < n; x++) {
		uint32_t begin = kept;
		for (; i < l.at[x + 1]; i++)
			if (kept == begin || l.item[kept - 1] != l.item[i])
				l.item[kept++] = l.item[i];
		l.at[x + 1] = kept;
	}
	return l;
}

/* Removes storages that are never freed from the lists of n nodes. */
static void drop_kept(struct sched_lists *uses, uint32_t n, const struct sched_storage *storage)
{
	uint32_t kept = 0, i = 0;
	for (uint32_t x = 0; x < n; x++) {
		for (; i < uses->at[x + 1]; i++)
			if (!storage[uses->item[i]].kept)
				uses->item[kept++] = uses->item[i];
		uses->at[x + 1] = kept;
	}
}

static struct sched_lists list_made(const struct sched_problem *p, struct arena *a)
{
	struct sched_pair *pair = mem_alloc(sizeof *pair * ((size_t)p->storage_n + 1));
	uint32_t n = 0;
	for (uint32_t s = 0; s < p->storage_n; s++)
		if (p->storage[s].def != SCHED_NONE && p->storage[s].bytes)
			pair[n++] = (struct sched_pair){p->storage[s].def, s};
	struct sched_lists l = listed(a, pair, n, p->n, p->storage_n);
	free(pair);
	return l;
}

const char *sched_problem_excess(const struct sched_problem *p)
{
	/* limits the values, so that sums fit in 64 bits, even with headroom's mark of issued nodes */
	static const int64_t most = (int64_t)1 << 56;
	int64_t time = p->launch, bytes = 0;
	if (p->lane_n > SCHED_MAX_LANES)
		return "more than 64 lanes";
	if (p->n > SCHED_MAX_NODES || p->storage_n > SCHED_MAX_NODES)
		return "more than 2^28 nodes or storages";
	for (uint32_t x = 0; x < p->n; x++) {
		if (p->node[x].time > most - p->launch - time)
			return "more than 2^56 ns in all";
		time += p->node[x].time + p->launch;
	}
	for (uint32_t s = 0; s < p->storage_n; s++) {
		if (p->storage[s].bytes > most - bytes)
			return "more than 2^56 bytes in all";
		bytes += p->storage[s].bytes;
	}
	return NULL;
}

void sched_problem_finish(struct sched_problem *p, struct arena *a, const struct sched_pair *edge,
                          uint32_t edge_n, const struct sched_pair *use, uint32_t use_n)
{
	assert(p->lane_n <= SCHED_MAX_LANES);
	p->succ = listed(a, edge, edge_n, p->n, p->n);
	p->pred = transposed(a, &p->succ, p->n, p->n);
	bool *read = mem_zalloc((size_t)p->storage_n + 1);
	for (uint32_t i = 0; i < use_n; i++)
		read[use[i].to] = true;
	p->fixed = 0;
	for (uint32_t s = 0; s < p->storage_n; s++) {
		struct sched_storage *t = &p->storage[s];
		t->kept |= !read[s] || t->def == SCHED_NONE;
		p->fixed += t->def == SCHED_NONE ? t->bytes : 0;
	}
	free(read);
	p->makes = list_made(p, a);
	p->uses = listed(a, use, use_n, p->n, p->storage_n);
	drop_kept(&p->uses, p->n, p->storage);
	p->users = transposed(a, &p->uses, p->n, p->storage_n);
}

enum { MEBI = 1 << 20 };

/* Returns llround(t), without a call: the search for buckets asks for very many times. */
static int64_t rounded(double t)
{
	int64_t whole = (int64_t)t;
	double rest = t - (double)whole;
	return whole + (rest >= 0.5) - (rest <= -0.5);
}

static double interpolated(const struct sched_point *a, const struct sched_point *b, double bytes)
{
	return a->time + (b->time - a->time) * (bytes - a->bytes) / (b->bytes - a->bytes);
}

int64_t sched_family_time(const struct sched_family *f, int64_t bytes)
{
	const struct sched_point *p = f->point;
	double size = (double)bytes, whole = (double)(bytes - bytes % MEBI);
	if (f->n == 1 || size <= p[0].bytes || (f->stepped && whole < MEBI))
		return rounded(p[0].time);
	unsigned low = 1, high = f->n - 1; /* first point from 1 on with at least this size, or the last */
	while (low < high) {
		unsigned mid = (low + high) / 2;
		if (p[mid].bytes < size)
			low = mid + 1;
		else
			high = mid;
	}
	for (unsigned i = low + 1; f->stepped && i-- > 0 && p[i].bytes >= whole;)
		if (p[i].bytes == whole)
			return rounded(p[i].time);
	return rounded(interpolated(&p[low - 1], &p[low], size));
}

/* Checks points only: between them the ratio has no minimum, apart from the rounding of times. For
 * stepped tables it checks whole MiB. */
double sched_family_least(const struct sched_family *f, int64_t most)
{
	double least = (double)(sched_family_time(f, most) - 1) / (double)most;
	for (unsigned i = 0; i < f->n; i++) {
		double bytes = f->point[i].bytes + (f->stepped ? MEBI : 0);
		double here = (floor(f->point[i].time) - 1) / (bytes < (double)most ? bytes : (double)most);
		if (f->point[i].bytes < (double)most && here < least)
			least = here;
	}
	return least > 0 ? least : 0;
}

/* Times rise or fall between points, so the least is at an end or at a point. */
int64_t sched_family_floor(const struct sched_family *f, int64_t from, int64_t most)
{
	int64_t least = sched_family_time(f, from), here = sched_family_time(f, most > from ? most : from);
	least = here < least ? here : least;
	for (unsigned i = 0; i < f->n; i++)
		if (f->point[i].bytes > (double)from && f->point[i].bytes < (double)most) {
			here = rounded(f->point[i].time);
			least = here < least ? here : least;
		}
	return least;
}

int64_t sched_copy_time(const struct sched_problem *p, int64_t bytes)
{
	return p->grouped ? 0 : rounded(2 * (double)bytes / p->bytes_per_ns);
}
