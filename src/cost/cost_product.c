/* cost_product: finds the time of products, from measured times or from the peak rate.
 *
 * A measured product takes its measured time. If the dtype has a grid, other products are interpolated
 * between the eight products around them, linearly in m, n and k. This is exact for a sum of terms that
 * grow with m n k, with the size of an operand, or with one extent, and of a constant. Below the least
 * extent the time of the least is used; above the largest the last slope continues.
 *
 * Without a grid, other products are interpolated linearly by their number of operations, 2 m n k. Below
 * the smallest and above the largest measured product, the rate of that product is used. Among products
 * with the same number the fastest counts. If none was measured, the peak rate is used. No product takes
 * less time than reading and writing its bytes. */
#include "cost/model.h"
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	const struct cluster_point *x = a, *y = b;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static cost_amount operations(int64_t m, int64_t n, int64_t k)
{
	return 2 * (cost_amount)m * (cost_amount)n * (cost_amount)k;
}

/* Limits a number of operations to 64 bits, the type of points; nothing larger is measured. */
static int64_t point_size(cost_amount n)
{
	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

void product_prepare(struct cost *c)
{
	const struct cluster *x = c->cluster;
	for (unsigned t = 0; t < DTYPE_COUNT; t++) {
		struct cluster_point *point = arena_new_array(c->arena, struct cluster_point, x->product_n);
		uint32_t n = 0, kept = 0;
		for (uint32_t k = 0; k < x->product_n; k++) {
			const struct cluster_product *p = &x->product[k];
			if (p->dtype == t)
				point[n++] =
				    (struct cluster_point){point_size(operations(p->m, p->n, p->k)), p->time};
		}
		qsort(point, n, sizeof *point, by_size);
		for (uint32_t k = 0; k < n; k++)
			if (!kept || point[k].size > point[kept - 1].size)
				point[kept++] = point[k];
		c->product[t] = (struct cluster_points){point, kept};
	}
}

static int64_t measured(const struct cost *c, enum dtype t, int64_t m, int64_t n, int64_t k)
{
	const struct cluster *x = c->cluster;
	for (uint32_t i = 0; i < x->product_n && c->product[t].n; i++) {
		const struct cluster_product *q = &x->product[i];
		if (q->dtype == t && q->m == m && q->n == n && q->k == k)
			return q->time;
	}
	return 0;
}

static int64_t interpolate_time(const struct cost *c, enum dtype t, int64_t m, int64_t n, int64_t k)
{
	const struct cluster_points *p = &c->product[t];
	cost_amount work = operations(m, n, k),
	            huge = (cost_amount)1 << 76; /* small enough to be multiplied by a time */
	int64_t size = point_size(work);
	if (work > huge)
		return CLUSTER_MAX_TIME;
	const struct cluster_point *least = p->at, *last = p->at + p->n - 1;
	if (size < least->size || size > last->size) {
		const struct cluster_point *as = size < least->size ? least : last;
		/* work / as->size of its time */
		return curve_rate_time(work * (cost_amount)as->time, as->size, 1000000000);
	}
	return curve_time(p, size);
}

const struct cluster_grid *product_grid(const struct cost *c, enum dtype t)
{
	for (uint32_t k = 0; k < c->cluster->grid_n; k++)
		if (c->cluster->grid[k].dtype == t)
			return &c->cluster->grid[k];
	return NULL;
}

/* Returns the time of a product, interpolated among the entries from `at` on, whose first extents are
 * fixed. axis: the first extent that is still free. */
static int64_t in_grid(const struct cluster_grid *g, unsigned axis, size_t at, const int64_t *extent)
{
	if (axis == 3)
		return g->time[at];
	const struct cluster_extents *x = &g->axis[axis];
	size_t step = 1;
	uint32_t high = 1;
	for (unsigned a = axis + 1; a < 3; a++)
		step *= g->axis[a].n;
	while (high + 1 < x->n && x->at[high] < extent[axis])
		high++;
	int64_t low = in_grid(g, axis + 1, at + (high - 1) * step, extent);
	if (x->n == 1 || extent[axis] <= x->at[high - 1])
		return low;
	return curve_line((struct cluster_point){x->at[high - 1], low},
	                  (struct cluster_point){x->at[high], in_grid(g, axis + 1, at + high * step, extent)},
	                  extent[axis]);
}

int64_t product_measured_bytes(const struct cost *c, enum dtype t, int64_t m, int64_t n, int64_t k)
{
	const struct cluster_grid *g = product_grid(c, t);
	int64_t extent[] = {m, n, k};
	for (unsigned a = 0; a < 3 && g; a++) {
		int64_t last = g->axis[a].at[g->axis[a].n - 1];
		extent[a] = extent[a] < last ? extent[a] : last;
	}
	cost_amount bytes = (cost_amount)extent[0] * (cost_amount)extent[1] +
	                    (cost_amount)extent[1] * (cost_amount)extent[2] +
	                    (cost_amount)extent[0] * (cost_amount)extent[2];
	bytes *= dtype_bytes(t);
	return g && bytes < LOCAL_MAX_BYTES ? (int64_t)bytes : LOCAL_MAX_BYTES;
}

static int64_t repeat_product(int64_t time, int64_t batch)
{
	cost_amount all = (cost_amount)batch * (cost_amount)time;
	return all < CLUSTER_MAX_TIME ? (int64_t)all : CLUSTER_MAX_TIME;
}

int64_t product_time(const struct cost *c, enum dtype t, int64_t batch, int64_t m, int64_t n, int64_t k,
                     int64_t bytes)
{
	int64_t time = measured(c, t, m, n, k), moved = touch_time(c, bytes);
	if (time)
		return repeat_product(time, batch);
	const struct cluster_grid *g = product_grid(c, t);
	if (g)
		return m && n && k ? repeat_product(in_grid(g, 0, 0, (const int64_t[]){m, n, k}), batch) : 0;
	if (c->product[t].n)
		time = repeat_product(interpolate_time(c, t, m, n, k), batch);
	else
		time =
		    curve_rate_time((cost_amount)batch * operations(m, n, k), 1, c->cluster->flops_rate[t]);
	return time > moved ? time : moved;
}
