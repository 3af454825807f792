/* test_cuda_gemm: random contractions, each operand a window on its own buffer, and their results by the
 * device "cpu". */
#ifndef HIRC_TESTS_TEST_CUDA_GEMM_H
#define HIRC_TESTS_TEST_CUDA_GEMM_H
#include "rt/device.h"
#include "test_rt.h"

/* in[0], in[1], in[2] and out of a task. */
enum { TEST_OUT = 3, TEST_OPERANDS = 4 };

struct product {
	struct rt_task task;
	char *buffer[TEST_OPERANDS]; /* host memory of the views */
	size_t bytes[TEST_OPERANDS];
	char *want; /* out's buffer with the expected result */
};

static uint32_t seed = 1;

static inline uint32_t next(void)
{
	return (seed = seed * 1664525 + 1013904223) >> 8;
}

static inline bool one_in(uint32_t n)
{
	return next() % n == 0;
}

static inline struct rt_view *view_of(struct rt_task *t, int o)
{
	return o == TEST_OUT ? &t->out : &t->in[o];
}

/* Layout of an operand. */
enum lie { LIE_DENSE, LIE_SLICE, LIE_SWAPPED, LIE_INTERLEAVED, LIE_ANY, LIES };

/* Orders axes from the largest stride to stride 1. */
static inline void order_axes(enum lie lie, int nd, int *order)
{
	for (int i = 0; i < nd; i++)
		order[i] = i;
	if (lie == LIE_SWAPPED)
		order[nd - 1] = nd - 2, order[nd - 2] = nd - 1;
	if (lie == LIE_INTERLEAVED && nd > 2) /* m before the last batch axis, as in heads */
		order[nd - 3] = nd - 2, order[nd - 2] = nd - 3;
	for (int i = nd - 1; lie == LIE_ANY && i > 0; i--) {
		int j = (int)(next() % (uint32_t)(i + 1)), at = order[i];
		order[i] = order[j], order[j] = at;
	}
}

/* Fills memory with small multiples of 1/8, so that all sums are exact. */
static inline void fill(enum dtype type, char *at, int64_t count)
{
	enum { VALUES = 17 };
	char value[VALUES][8];
	size_t size = dtype_bytes(type);
	for (int k = 0; k < VALUES; k++)
		rt_store_f64(type, value[k], (double)k / 8 - 1);
	for (int64_t i = 0; i < count; i++)
		memcpy(at + (size_t)i * size, value[next() % VALUES], size);
}

/* Makes a view of new memory. A slice leaves out `unit` elements at each end of an axis of the matrix, and one
 * at each end of an axis of the batch: more would only make the memory larger. */
static inline void place(struct product *p, int o, enum dtype type, int nd, const int64_t *n, enum lie lie,
                         int unit)
{
	struct rt_view v = {.dtype = type, .nd = nd};
	int order[RT_MAX_DIMS];
	int64_t stride = 1, start = 0;
	order_axes(lie, nd, order);
	for (int i = nd - 1; i >= 0; i--) {
		int64_t most = order[i] < nd - 2 ? 1 : unit;
		int64_t cut = lie == LIE_SLICE || (lie == LIE_ANY && one_in(3)) ? most * (next() % 2) : 0;
		v.n[order[i]] = n[order[i]];
		v.stride[order[i]] = stride;
		start += cut * stride;
		stride *= (n[order[i]] ? n[order[i]] : 1) + 2 * cut;
	}
	size_t size = dtype_bytes(type);
	p->bytes[o] = (size_t)stride * size;
	p->buffer[o] = malloc(p->bytes[o]);
	fill(type, p->buffer[o], stride);
	v.data = p->buffer[o] + (size_t)start * size;
	*view_of(&p->task, o) = v;
}

/* Draws a product; extents are multiples of unit. kind: 0 plain, 1 a bias along n, 2 accumulated. */
static inline struct product product_new(const enum dtype type[TEST_OPERANDS], int unit, int kind)
{
	struct product p = {.task = {.kernel = RT_TASK_GEMM, .has_bias = kind == 1, .accumulate = kind == 2}};
	int batch = (int)(next() % 4), nd = batch + 2;
	int64_t n[TEST_OPERANDS][RT_MAX_DIMS], m[3];
	for (int i = 0; i < 3; i++)
		m[i] = unit * (one_in(5) ? 1 : 1 + next() % (unit > 1 ? 2 : 7));
	for (int o = 0; o < TEST_OPERANDS; o++) {
		n[o][batch] = o == 1 ? m[2] : m[0];
		n[o][batch + 1] = o == 0 ? m[2] : m[1];
	}
	for (int d = 0; d < batch; d++) {
		int64_t extent = 1 + next() % (unit > 1 ? 3 : 4);
		for (int o = 0; o < TEST_OPERANDS; o++)
			n[o][d] = extent;
	}
	enum lie all = (enum lie)(next() % LIES);
	for (int o = 0; o < TEST_OPERANDS; o++)
		if (o != 2 || p.task.has_bias)
			place(&p, o, type[o], nd, n[o],
			      o == 2      ? LIE_DENSE
			      : one_in(2) ? all
			                  : next() % LIES,
			      unit);
	unsigned left = next(), right = next();
	for (int d = 0; d < batch; d++) {
		if (one_in(2) && all != LIE_INTERLEAVED ? true : right >> d & 1)
			p.task.in[1].stride[d] = 0;
		if ((left >> d & 3) == 0)
			p.task.in[0].stride[d] = 0;
	}
	for (int d = 0; p.task.has_bias && d <= batch; d++)
		if (d == batch || !one_in(4))
			p.task.in[2].stride[d] = 0;
	if (p.task.has_bias && one_in(8))
		p.task.in[2].stride[batch + 1] = 0;
	if (one_in(16) && p.task.in[0].n[nd - 1] > 0) { /* backwards */
		struct rt_view *v = &p.task.in[0];
		v->data =
		    (char *)v->data + (v->n[nd - 2] - 1) * v->stride[nd - 2] * (int64_t)dtype_bytes(v->dtype);
		v->stride[nd - 2] = -v->stride[nd - 2];
	}
	return p;
}

/* Computes want. */
static inline void product_compute(struct product *p, struct rt_device *cpu)
{
	char why[RT_WHY_BYTES];
	struct rt_task t = p->task;
	p->want = malloc(p->bytes[TEST_OUT]);
	memcpy(p->want, p->buffer[TEST_OUT], p->bytes[TEST_OUT]);
	t.out.data = p->want + ((char *)t.out.data - p->buffer[TEST_OUT]);
	CHECK_EQ(rt_device_run(cpu, 0, &t, why), STATUS_OK);
}

/* Compares the whole buffer: memory beside the result must not change. Zeros may differ in their signs. */
static inline bool product_is(const struct product *p, const char *got)
{
	enum dtype type = p->task.out.dtype;
	if (!memcmp(got, p->want, p->bytes[TEST_OUT]))
		return true;
	for (size_t i = 0; i < p->bytes[TEST_OUT]; i += dtype_bytes(type))
		if (rt_load_f64(type, got + i) != rt_load_f64(type, p->want + i))
			return false;
	return true;
}

static inline void product_free(struct product *p)
{
	for (int o = 0; o < TEST_OPERANDS; o++)
		free(p->buffer[o]);
	free(p->want);
}

#endif
