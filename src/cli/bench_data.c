/* bench_data: see bench_data.h. */
#include "cli/bench_data.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 11 /* number of values of an element: 0 … 10 */ };

/* Returns element i of member r. values below 2: one member has 1, and all others have 0. */
static int64_t make_element(enum reduce_op op, int64_t values, int members, int64_t i, int r)
{
	if (op == REDUCE_PROD)
		return 1 + (i % (members + 1) == r);
	if (values < 2)
		return i % members == r;
	return (i * 7 + (int64_t)r * 13) % values;
}

static double reduce_element(enum reduce_op op, double a, int64_t b)
{
	double x = (double)b;
	switch (op) {
	case REDUCE_PROD:
		return a * x;
	case REDUCE_MIN:
		return a < x ? a : x;
	case REDUCE_MAX:
		return a > x ? a : x;
	default:
		return a + x;
	}
}

void bench_data_make(enum dtype t, enum reduce_op op, int members, struct bench_data *out)
{
	int64_t values = dtype_exact(t) / members;
	values = values > MOST ? MOST : values;
	*out = (struct bench_data){.size = dtype_bytes(t), .members = members};
	out->period = op == REDUCE_PROD ? members + 1 : values < 2 ? members : values;
	out->table = mem_zalloc((size_t)(members + 1) * (size_t)out->period * out->size);
	for (int64_t i = 0; i < out->period; i++) {
		double all = (double)make_element(op, values, members, i, 0);
		for (int r = 0; r < members; r++) {
			int64_t x = make_element(op, values, members, i, r);
			rt_store_i64(t, out->table + (size_t)(r * out->period + i) * out->size, x);
			all = r ? reduce_element(op, all, x) : all;
		}
		rt_store_f64(t, out->table + (size_t)(members * out->period + i) * out->size,
		             op == REDUCE_AVG ? all / members : all);
	}
}

void bench_data_free(struct bench_data *d)
{
	free(d->table);
	d->table = NULL;
}

static const char *expected(const struct bench_data *d, int source, int64_t index)
{
	int row = source == BENCH_REDUCED ? d->members : source;
	return d->table + (size_t)(row * d->period + index % d->period) * d->size;
}

void bench_data_fill(const struct bench_data *d, int source, int64_t first, int64_t n, void *at)
{
	size_t bytes = (size_t)n * d->size, done = 0;
	for (int64_t i = 0; i < n && i < d->period; i++, done += d->size)
		memcpy((char *)at + done, expected(d, source, first + i), d->size);
	while (done < bytes) { /* `done` bytes are a whole number of periods */
		size_t more = done < bytes - done ? done : bytes - done;
		memcpy((char *)at + done, at, more);
		done += more;
	}
}

int64_t bench_data_wrong(const struct bench_data *d, int source, int64_t first, int64_t n, const void *at)
{
	int64_t wrong = 0;
	const char *x = at;
	for (int64_t i = 0; i < n && i < d->period; i++)
		wrong += memcmp(x + (size_t)i * d->size, expected(d, source, first + i), d->size) != 0;
	size_t period = (size_t)d->period * d->size;
	if (!wrong && (n <= d->period || !memcmp(x + period, x, (size_t)(n - d->period) * d->size)))
		return 0;
	for (int64_t i = d->period; i < n; i++)
		wrong += memcmp(x + (size_t)i * d->size, expected(d, source, first + i), d->size) != 0;
	return wrong;
}
