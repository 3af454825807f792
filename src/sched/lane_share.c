/* lane_share: sizes are counted in units of some bytes, rounded down. At first each byte has the same share,
 * or a part of it. Then one size after the other gets the largest share that the others leave it in any bucket:
 * the largest sizes first, or those with most bytes. The best of these trials is taken. */
#include "sched/lane_share.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_SIZES = 32,   /* with more distinct sizes, bytes have equal shares */
	MOST_UNITS = 4096, /* units in a bucket */
	MOST_CUTS = 64,    /* most times that a share is cut; then it is 0 */
	PARTS = 2,
};

static const double ROUNDING = 1e-3 /* ns */, SLACK = 1e-9;

struct size {
	int64_t bytes;
	uint32_t units, n;  /* n: comms of the size */
	double share, best; /* best: of all trials */
};

struct family {
	const struct sched_problem *p;
	struct size size[MOST_SIZES];
	uint32_t size_n, units;
	double *time; /* by units: the least time of a bucket of at least so many */
	double *sum;  /* by units: the largest sum of shares of a bucket of at most so many */
	double *more; /* likewise with the size whose share is sought */
	uint32_t *n;  /* comms of this size in it */
};

static bool is_shared(const struct sched_problem *p, const bool *alone, uint32_t x)
{
	const struct sched_transfer *c = sched_transfer(p, x);
	return c->family != SCHED_NONE && !alone[x] && c->in > 0;
}

static int64_t divisor_of(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Lists the sizes of the comms of a family. Returns the bytes of all comms, or 0 if it has too many sizes. */
static int64_t list_sizes(struct family *f, uint32_t family, const bool *alone)
{
	int64_t bytes = 0;
	f->size_n = 0;
	for (uint32_t x = 0; x < f->p->n; x++) {
		const struct sched_transfer *c = sched_transfer(f->p, x);
		if (!is_shared(f->p, alone, x) || c->family != family)
			continue;
		uint32_t k = 0;
		while (k < f->size_n && f->size[k].bytes != c->in)
			k++;
		if (k == MOST_SIZES)
			return 0;
		if (k == f->size_n)
			f->size[f->size_n++] = (struct size){.bytes = c->in};
		f->size[k].n++;
		bytes += c->in;
	}
	return bytes;
}

/* Finds the units of sizes and the times of buckets. */
static void find_times(struct family *f, const struct sched_family *table, int64_t most)
{
	int64_t unit = 0;
	for (uint32_t k = 0; k < f->size_n; k++)
		unit = divisor_of(f->size[k].bytes, unit);
	while (most / unit >= MOST_UNITS)
		unit *= 2;
	f->units = (uint32_t)(most / unit);
	for (uint32_t k = 0; k < f->size_n; k++)
		f->size[k].units = (uint32_t)(f->size[k].bytes / unit);
	double least = INFINITY;
	for (uint32_t k = f->units + 1; k-- > 0;) {
		int64_t from = k ? k * unit : 1, to = (k + 1) * unit < most ? (k + 1) * unit : most;
		double here = (double)(sched_family_floor(table, from, to) + f->p->launch) - ROUNDING;
		least = here < least ? here : least;
		f->time[k] = least;
	}
}

/* Finds the sums with the size and its share. Returns the largest share of the size that no bucket forbids,
 * at most the present one. */
static double add_size(struct family *f, const struct size *s)
{
	double most = s->share;
	for (uint32_t k = 0; k <= f->units; k++) {
		f->more[k] = f->sum[k];
		f->n[k] = 0;
		if (k >= s->units && f->more[k - s->units] + s->share > f->more[k]) {
			f->more[k] = f->more[k - s->units] + s->share;
			f->n[k] = f->n[k - s->units] + 1;
		}
		if (f->more[k] > f->time[k] && f->n[k]) {
			double others = f->more[k] - f->n[k] * s->share, left = f->time[k] - others;
			most = left / f->n[k] < most ? left / f->n[k] : most;
		}
	}
	return most;
}

/* Gives the size its share. */
static void choose_share(struct family *f, struct size *s)
{
	s->share = s->units && s->units <= f->units ? f->time[s->units] : 0;
	for (unsigned k = 0; s->share > 0; k++) {
		double most = k < MOST_CUTS ? add_size(f, s) : 0;
		if (most == s->share)
			break;
		s->share = fmax(0, most - ROUNDING);
	}
	if (s->share > 0)
		memcpy(f->sum, f->more, sizeof *f->sum * (f->units + 1));
}

static int by_size(const void *a, const void *b)
{
	const struct size *x = a, *y = b;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int by_total(const void *a, const void *b)
{
	const struct size *x = a, *y = b;
	double l = (double)x->bytes * x->n, r = (double)y->bytes * y->n;
	return (l < r) - (l > r);
}

/* Adds a size to the sums. A sum depends on one that is the size's units before it, so as many are independent. */
static void add_share(double *sum, uint32_t sums, uint32_t units, double share)
{
	for (uint32_t from = units; from < sums; from += units) {
		uint32_t n = sums - from < units ? sums - from : units;
		const double *restrict before = sum + from - units;
		double *restrict here = sum + from;
		for (uint32_t k = 0; k < n; k++) {
			double with = before[k] + share;
			here[k] = with > here[k] ? with : here[k];
		}
	}
}

/* Finds the sums for the shares of all sizes but one. */
static void sum_others(struct family *f, const struct size *but)
{
	memset(f->sum, 0, sizeof *f->sum * (f->units + 1));
	for (uint32_t i = 0; i < f->size_n; i++) {
		const struct size *s = &f->size[i];
		if (s != but && s->share > 0)
			add_share(f->sum, f->units + 1, s->units, s->share);
	}
}

/* Raises the shares of all sizes from `least` a unit, one after the other. Returns their sum over all
 * comms. */
static double raise_shares(struct family *f, double least)
{
	double sum = 0;
	for (uint32_t k = 0; k < f->size_n; k++)
		f->size[k].share = least * f->size[k].units;
	for (uint32_t k = 0; k < f->size_n; k++) {
		sum_others(f, &f->size[k]);
		choose_share(f, &f->size[k]);
		sum += f->size[k].share * f->size[k].n;
	}
	return sum;
}

/* Finds the shares. Returns their sum over all comms, or 0 if there are too many sizes. */
static double divide_times(struct family *f, uint32_t family, const bool *alone, int64_t most)
{
	if (!list_sizes(f, family, alone))
		return 0;
	find_times(f, &f->p->family[family], most);
	double best = 0, least = INFINITY; /* least: ns a unit */
	for (uint32_t k = 1; k <= f->units; k++)
		least = fmin(least, f->time[k] / k);
	least = f->units ? least * (1 - SLACK) : 0;
	for (unsigned k = 0; k < 2 * (PARTS + 1); k++) {
		if (k % (PARTS + 1) == 0)
			qsort(f->size, f->size_n, sizeof *f->size, k ? by_total : by_size);
		double sum = raise_shares(f, least * (k % (PARTS + 1)) / PARTS);
		for (uint32_t i = 0; sum > best && i < f->size_n; i++)
			f->size[i].best = f->size[i].share;
		best = fmax(best, sum);
	}
	return best;
}

/* Returns the share of a comm with so many bytes. */
static double share_of(const struct family *f, int64_t bytes)
{
	uint32_t k = 0;
	while (f->size[k].bytes != bytes)
		k++;
	return f->size[k].best;
}

void sched_lane_shares(const struct sched_problem *p, const int64_t *most, const bool *alone, double *share)
{
	struct arena *a = arena_new();
	struct family f = {.p = p};
	int64_t *bytes = arena_new_array(a, int64_t, p->family_n);
	f.time = arena_new_array(a, double, MOST_UNITS + 1);
	f.sum = arena_new_array(a, double, MOST_UNITS + 1);
	f.more = arena_new_array(a, double, MOST_UNITS + 1);
	f.n = arena_new_array(a, uint32_t, MOST_UNITS + 1);
	for (uint32_t x = 0; x < p->n; x++)
		if (is_shared(p, alone, x))
			bytes[sched_transfer(p, x)->family] += sched_transfer(p, x)->in;
	for (uint32_t k = 0; k < p->family_n; k++) {
		int64_t largest = bytes[k] < most[k] ? bytes[k] : most[k];
		if (largest <= 0)
			continue;
		double least = sched_family_least(&p->family[k], largest);
		bool divided = divide_times(&f, k, alone, largest) > least * (double)bytes[k];
		for (uint32_t x = 0; x < p->n; x++)
			if (is_shared(p, alone, x) && sched_transfer(p, x)->family == k)
				share[x] = divided ? share_of(&f, sched_transfer(p, x)->in)
				                   : least * (double)sched_transfer(p, x)->in;
	}
	arena_free(a);
}
