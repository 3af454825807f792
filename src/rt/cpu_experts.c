/* cpu_experts: the kernels of dispatch and combine.
 *
 *     experts 3 0 1 2, two a rank     count  2 2           rank 0 has experts 0 and 1
 *                                     route  1 2 0 3       places 1 and 2 go to rank 0, in order
 *     scatter                         each row, times its weight, is added to the row of its token */
#include "rt/cpu.h"
#include "rt/fault.h"
#include "rt/rows.h"
#include <assert.h>
#include <string.h>

/* Returns the bucket of element i, or -1. */
static int64_t bucket_of(const struct rt_task *t, int64_t i, char *why)
{
	const struct rt_view *v = &t->in[0];
	const char *at = (const char *)v->data + i * v->stride[0] * (int64_t)dtype_bytes(v->dtype);
	int64_t expert = rt_load_i64(v->dtype, at);
	if (expert >= 0 && expert < t->scalar[2].i)
		return expert / t->scalar[1].i;
	rt_fault_text(RT_FAULT_EXPERT, expert, t->scalar[2].i, why);
	return -1;
}

/* Counts the elements in each bucket, in scratch memory. Returns NULL with a reason. */
static int64_t *count_buckets(struct cpu_lane *lane, const struct rt_task *t, int64_t buckets, char *why)
{
	int64_t *n = cpu_scratch(lane, 0, (size_t)buckets * sizeof *n, why);
	if (!n)
		return NULL;
	memset(n, 0, (size_t)buckets * sizeof *n);
	for (int64_t i = 0; i < t->in[0].n[0]; i++) {
		int64_t b = bucket_of(t, i, why);
		if (b < 0)
			return NULL;
		n[b]++;
	}
	return n;
}

static void store_index(const struct rt_view *out, int64_t i, int64_t x)
{
	rt_store_i64(out->dtype, (char *)out->data + i * out->stride[0] * (int64_t)dtype_bytes(out->dtype),
	             x);
}

enum status cpu_count(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	int64_t buckets = t->out.n[0];
	int64_t *n = count_buckets(lane, t, buckets, why);
	assert(t->out.nd == 1 && t->in[0].nd == 1 && t->scalar[1].i * buckets == t->scalar[2].i);
	for (int64_t b = 0; n && b < buckets; b++)
		store_index(&t->out, b, n[b]);
	return n ? STATUS_OK : STATUS_DIAGNOSTICS;
}

enum status cpu_route(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	int64_t buckets = t->scalar[2].i / t->scalar[1].i, next = 0;
	int64_t *place = count_buckets(lane, t, buckets, why);
	assert(t->out.nd == 1 && t->in[0].nd == 1 && t->out.n[0] == t->in[0].n[0]);
	if (!place)
		return STATUS_DIAGNOSTICS;
	for (int64_t b = 0; b < buckets; b++) {
		int64_t n = place[b];
		place[b] = next;
		next += n;
	}
	for (int64_t i = 0; i < t->in[0].n[0]; i++)
		store_index(&t->out, place[bucket_of(t, i, why)]++, i);
	return STATUS_OK;
}

struct scatter {
	enum dtype sum, row;
	double weight;
};

static enum status add_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	const struct scatter *s = arg;
	int64_t out = stride[0] / (int64_t)dtype_bytes(s->sum), in = stride[1] / (int64_t)dtype_bytes(s->row);
	if (s->sum == DTYPE_F64) {
		double sum[RT_ROW], row[RT_ROW];
		rt_row_load_f64(s->sum, at[0], out, sum, n);
		rt_row_load_f64(s->row, at[1], in, row, n);
		for (size_t i = 0; i < n; i++)
			sum[i] += s->weight * row[i];
		rt_row_store_f64(s->sum, at[0], out, sum, n);
	} else {
		float sum[RT_ROW], row[RT_ROW], weight = (float)s->weight;
		rt_row_load_f32(s->sum, at[0], out, sum, n);
		rt_row_load_f32(s->row, at[1], in, row, n);
		for (size_t i = 0; i < n; i++)
			sum[i] += weight * row[i];
		rt_row_store_f32(s->sum, at[0], out, sum, n);
	}
	return STATUS_OK;
}

enum status cpu_scatter(const struct rt_task *t, char *why)
{
	const struct rt_view *to = &t->in[2], *weight = &t->in[1];
	struct scatter s = {.sum = t->out.dtype, .row = t->in[0].dtype};
	assert(s.sum == DTYPE_F64 || s.sum == DTYPE_F32);
	for (int64_t j = 0; j < t->in[0].n[0]; j++) {
		int64_t k = rt_load_i64(to->dtype, (const char *)to->data +
		                                       j * to->stride[0] * (int64_t)dtype_bytes(to->dtype));
		struct cpu_walk w;
		if (k < 0)
			continue;
		if (k >= t->out.n[0]) {
			rt_fault_text(RT_FAULT_TOKEN, k, t->out.n[0], why);
			return STATUS_DIAGNOSTICS;
		}
		s.weight = rt_load_f64(weight->dtype,
		                       (const char *)weight->data +
		                           j * weight->stride[0] * (int64_t)dtype_bytes(weight->dtype));
		struct rt_view out = rt_view_slice(t->out, 0, k, 1), row = rt_view_slice(t->in[0], 0, j, 1);
		cpu_walk_start(&w, 2, (const struct rt_view *const[]){&out, &row});
		if (cpu_walk_rows(&w, RT_ROW, add_row, &s) != STATUS_OK)
			return STATUS_INTERNAL;
	}
	return STATUS_OK;
}
