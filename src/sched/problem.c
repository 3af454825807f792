/* problem: makes the lists of a problem, and finds the times of comms. */
#include "sched/problem.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first pass over the items of n lists counts those of list k in at[k]. Makes it the end of the list, which the
 * second pass lowers to its begin, as it puts the items in from the last one on. */
static void sum_counts(uint32_t *at, uint32_t n)
{
	for (uint32_t k = 1; k <= n; k++)
		at[k] += at[k - 1];
}

struct sched_lists sched_lists_new(struct arena *a, uint32_t n, uint32_t items)
{
	uint32_t *at = arena_new_array(a, uint32_t, (size_t)n + 1);
	return (struct sched_lists){at, at + 1, arena_new_array(a, uint32_t, items)};
}

/* Transposes m lists into n lists. Each result is ascending, since the m lists are walked in order. */
static struct sched_lists transposed(struct arena *a, const struct sched_lists *l, uint32_t m, uint32_t n)
{
	struct sched_lists t = sched_lists_new(a, n, l->at[m]);
	for (uint32_t i = 0; i < l->at[m]; i++)
		t.at[l->item[i]]++;
	sum_counts(t.at, n);
	for (uint32_t k = m, i = l->at[m]; k-- > 0;)
		while (i > l->at[k])
			t.item[--t.at[l->item[--i]]] = k;
	return t;
}

struct sched_lists sched_lists_to(struct arena *a, const struct sched_pair *pair, uint32_t pair_n, uint32_t n)
{
	struct sched_lists l = sched_lists_new(a, n, pair_n);
	for (uint32_t i = 0; i < pair_n; i++)
		l.at[pair[i].to]++;
	sum_counts(l.at, n);
	for (uint32_t i = pair_n; i-- > 0;)
		l.item[--l.at[pair[i].to]] = pair[i].from;
	return l;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Sorts the items of a list. Most lists are short and nearly ascending. */
static void sort_items(uint32_t *item, uint32_t n)
{
	enum { SHORT = 16 };
	for (uint32_t i = 1; i < n; i++) {
		uint32_t x = item[i], k = i;
		if (item[i - 1] <= x)
			continue;
		if (n > SHORT) {
			qsort(item, n, sizeof *item, by_number);
			return;
		}
		for (; k && item[k - 1] > x; k--)
			item[k] = item[k - 1];
		item[k] = x;
	}
}

uint32_t sched_list_tidy(uint32_t *item, uint32_t n)
{
	uint32_t kept = 0;
	sort_items(item, n);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || item[kept - 1] != item[i])
			item[kept++] = item[i];
	return kept;
}

static void tidy_lists(struct sched_lists *l, uint32_t n)
{
	uint32_t kept = 0, from = 0;
	for (uint32_t x = 0; x < n; x++) {
		uint32_t to = l->at[x + 1], m = sched_list_tidy(l->item + from, to - from);
		memmove(l->item + kept, l->item + from, sizeof *l->item * m);
		l->at[x + 1] = kept += m;
		from = to;
	}
}

/* Finds the storages that are live to the end, and the bytes that are live all the time. Removes the users of the
 * former. */
static void drop_kept(struct sched_problem *p)
{
	struct sched_lists *l = &p->users;
	uint32_t kept = 0, i = 0;
	p->fixed = 0;
	for (uint32_t s = 0; s < p->storage_n; s++) {
		struct sched_storage *t = &p->storage[s];
		t->kept |= i == l->at[s + 1] || t->def == SCHED_NONE;
		p->fixed += t->def == SCHED_NONE ? t->bytes : 0;
		for (; i < l->at[s + 1]; i++)
			if (!t->kept)
				l->item[kept++] = l->item[i];
		l->at[s + 1] = kept;
	}
}

static bool is_result(const struct sched_storage *s)
{
	return s->def != SCHED_NONE && s->bytes;
}

/* Lists the results of each node. */
static struct sched_lists list_made(const struct sched_problem *p, struct arena *a)
{
	struct sched_lists l = {.at = arena_new_array(a, uint32_t, (size_t)p->n + 1)};
	l.end = l.at + 1;
	for (uint32_t s = 0; s < p->storage_n; s++)
		if (is_result(&p->storage[s]))
			l.at[p->storage[s].def]++;
	sum_counts(l.at, p->n);
	l.item = arena_new_array(a, uint32_t, l.at[p->n]);
	for (uint32_t s = p->storage_n; s-- > 0;)
		if (is_result(&p->storage[s]))
			l.item[--l.at[p->storage[s].def]] = s;
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
	p->pred = sched_lists_to(a, edge, edge_n, p->n);
	p->users = sched_lists_to(a, use, use_n, p->storage_n);
	tidy_lists(&p->pred, p->n);
	tidy_lists(&p->users, p->storage_n);
	sched_problem_complete(p, a);
}

void sched_problem_complete(struct sched_problem *p, struct arena *a)
{
	assert(p->lane_n <= SCHED_MAX_LANES);
	p->numbers = p->n;
	p->succ = transposed(a, &p->pred, p->n, p->n);
	p->makes = list_made(p, a);
	drop_kept(p);
	p->uses = transposed(a, &p->users, p->storage_n, p->n);
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

int64_t sched_family_time_near(const struct sched_family *f, int64_t bytes, unsigned *near)
{
	const struct sched_point *p = f->point;
	double size = (double)bytes, whole = (double)(bytes - bytes % MEBI);
	if (f->n == 1 || size <= p[0].bytes || (f->stepped && whole < MEBI))
		return rounded(p[0].time);
	unsigned low = *near; /* first point from 1 on with at least this size, or the last */
	while (low < f->n - 1 && p[low].bytes < size)
		low++;
	while (low > 1 && p[low - 1].bytes >= size)
		low--;
	*near = low;
	for (unsigned i = low + 1; f->stepped && i-- > 0 && p[i].bytes >= whole;)
		if (p[i].bytes == whole)
			return rounded(p[i].time);
	return rounded(interpolated(&p[low - 1], &p[low], size));
}

/* Returns the first point from 1 on with at least this size, or the last one. */
static unsigned find_point(const struct sched_family *f, int64_t bytes)
{
	unsigned low = 1, high = f->n - 1;
	while (low < high) {
		unsigned mid = (low + high) / 2;
		if (f->point[mid].bytes < (double)bytes)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int64_t sched_family_time(const struct sched_family *f, int64_t bytes)
{
	unsigned near = find_point(f, bytes);
	return sched_family_time_near(f, bytes, &near);
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

/* Times rise or fall between points, so the least and the most are at an end or at a point. */
int64_t sched_family_floor(const struct sched_family *f, int64_t from, int64_t most)
{
	unsigned first = find_point(f, from), near = first;
	int64_t least = sched_family_time_near(f, from, &near);
	int64_t here = sched_family_time_near(f, most > from ? most : from, &near);
	least = here < least ? here : least;
	for (unsigned i = first - 1; i < f->n && f->point[i].bytes < (double)most; i++)
		if (f->point[i].bytes > (double)from) {
			here = rounded(f->point[i].time);
			least = here < least ? here : least;
		}
	return least;
}

int64_t sched_family_ceiling(const struct sched_family *f, int64_t from, int64_t most)
{
	int64_t top = sched_family_time(f, from), here = sched_family_time(f, most > from ? most : from);
	top = here > top ? here : top;
	for (unsigned i = 0; i < f->n; i++)
		if (f->point[i].bytes > (double)from && f->point[i].bytes < (double)most) {
			here = rounded(f->point[i].time);
			top = here > top ? here : top;
		}
	return top;
}

int64_t sched_copy_time(const struct sched_problem *p, int64_t bytes)
{
	return p->grouped ? 0 : rounded(2 * (double)bytes / p->bytes_per_ns);
}
