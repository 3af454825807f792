/* test_cuda_cases: one task of every kind, with all types and layouts that change its kernel. */
#ifndef HIRC_TESTS_TEST_CUDA_CASES_H
#define HIRC_TESTS_TEST_CUDA_CASES_H
#include "test_cuda_scene.h"

static const int64_t shape[][3] = {{5, 7, 8}, {4, 6, 16}, {3, 0, 4}, {1, 1, 1}, {2, 3, 37}};

static inline struct rt_unit *unit_new(struct scene *s, unsigned steps, unsigned locals)
{
	struct rt_unit *u = mem_zalloc(sizeof *u + steps * sizeof *u->step);
	u->steps = steps;
	u->locals = locals;
	s->task = (struct rt_task){.kernel = RT_TASK_UNIT, .unit = u};
	return u;
}

static inline void cases_copy(void)
{
	for (int from = 0; from < DTYPE_COUNT; from++) {
		struct scene *s = scene_new("copy");
		struct rt_unit *u = unit_new(s, DTYPE_COUNT, 0);
		const int64_t n[] = {301};
		struct rt_view in = scene_view(s, from, 1, n, DENSE, true);
		for (int to = 0; to < DTYPE_COUNT; to++) {
			u->step[to].task = (struct rt_task){.kernel = RT_TASK_COPY, .in = {in}};
			u->step[to].task.out = scene_view(s, to, 1, n, DENSE, false);
		}
	}
	for (int in = 0; in < LAYOUTS; in++)
		for (int out = 0; out < LAYOUTS; out++)
			for (int k = 0; k < 5 && out != INNER_ONE && out != OUTER_ONE; k++) {
				struct scene *s = scene_new("copy, strided");
				enum dtype t = k & 1 ? DTYPE_BF16 : DTYPE_F32;
				s->task = (struct rt_task){.kernel = k & 2 ? RT_TASK_BITCAST : RT_TASK_COPY};
				s->task.in[0] = scene_view(s, t, 3, shape[k], (enum layout)in, true);
				s->task.out = scene_view(s, k & 2 && k & 1 ? DTYPE_F16 : t, 3, shape[k],
				                         (enum layout)out, false);
			}
	struct scene *s = scene_new("copy, many"); /* several vectors for each thread, many tiles */
	const int64_t many[] = {2500, 1000}, eight[] = {2, 3, 2, 3, 2, 3, 2, 5};
	s->task = (struct rt_task){.kernel = RT_TASK_COPY};
	s->task.in[0] = scene_view(s, DTYPE_U8, 2, many, DENSE, false);
	s->task.out = scene_view(s, DTYPE_U8, 2, many, GAPS, false);
	s = scene_new("copy, eight axes");
	s->task = (struct rt_task){.kernel = RT_TASK_COPY};
	s->task.in[0] = scene_view(s, DTYPE_F64, 8, eight, TURNED, false);
	s->task.out = scene_view(s, DTYPE_I32, 8, eight, GAPS, false);
	s = scene_new("copy, backwards");
	s->task = (struct rt_task){.kernel = RT_TASK_COPY};
	s->task.in[0] = scene_view(s, DTYPE_F32, 1, (const int64_t[]){100}, DENSE, false);
	s->task.out = scene_view(s, DTYPE_F32, 1, (const int64_t[]){100}, DENSE, false);
	s->task.in[0].data = (float *)s->task.in[0].data + 99;
	s->task.in[0].stride[0] = -1;
}

/* Copies through tiles: out[i, j, k] = in[i, j, k] where `in` lies as [i, k, j], or with all axes
 * reversed. */
static inline void cases_transpose(void)
{
	static const enum dtype type[][2] = {{DTYPE_F32, DTYPE_F32},  {DTYPE_BF16, DTYPE_BF16},
	                                     {DTYPE_U8, DTYPE_U8},    {DTYPE_F64, DTYPE_F64},
	                                     {DTYPE_F32, DTYPE_BF16}, {DTYPE_BF16, DTYPE_F64},
	                                     {DTYPE_I8, DTYPE_I64},   {DTYPE_F16, DTYPE_BF16}};
	static const int64_t extents[][3] = {{1, 64, 64}, {3, 100, 70}, {2, 16, 130}, {2, 65, 33}};
	for (int k = 0; k < 32; k++) {
		const enum dtype *t = type[k % 8];
		const int64_t *n = extents[k / 8], swapped[] = {n[0], n[2], n[1]};
		struct scene *s = scene_new("copy, tiles");
		s->task = (struct rt_task){.kernel = k % 8 == 7 ? RT_TASK_BITCAST : RT_TASK_COPY};
		s->task.in[0] = rt_view_swap(scene_view(s, t[0], 3, swapped, k & 8 ? OFF : GAPS, true), 1, 2);
		s->task.out = scene_view(s, t[1], 3, n, k & 1 ? GAPS : DENSE, false);
	}
	struct scene *s = scene_new("copy, tiles");
	s->task = (struct rt_task){.kernel = RT_TASK_COPY};
	s->task.in[0] = scene_view(s, DTYPE_BF16, 3, (const int64_t[]){80, 3, 90}, TURNED, true);
	s->task.out = scene_view(s, DTYPE_F32, 3, (const int64_t[]){80, 3, 90}, DENSE, false);
}

static inline void cases_fill(void)
{
	for (int t = 0; t < DTYPE_COUNT; t++)
		for (int l = 0; l < 3; l++) {
			struct scene *s = scene_new("fill");
			s->task =
			    (struct rt_task){.kernel = RT_TASK_FILL, .scalar = {{2.3, -7}}, .scalars = 1};
			s->task.out = scene_view(s, t, 3, shape[l], l ? GAPS : DENSE, false);
			for (unsigned axis = 0; axis < 3; axis++) {
				s = scene_new("iota");
				s->task = (struct rt_task){.kernel = RT_TASK_IOTA,
				                           .axes = axis,
				                           .scalar = {{0.1, 3}, {1.7, -2}},
				                           .scalars = 3};
				s->task.out = scene_view(s, t, 3, shape[l], (enum layout)l, false);
			}
		}
}

/* Random numbers of elements that are a block of a larger tensor. */
static inline void cases_uniform(void)
{
	for (int t = 0; t < DTYPE_COUNT; t++)
		for (int l = 0; l < 3 * DTYPE_COUNT && dtype_is_float(t); l++) {
			struct scene *s = scene_new("uniform");
			const int64_t *n = shape[l % 3];
			s->task = (struct rt_task){
			    .kernel = RT_TASK_UNIFORM,
			    .scalar = {{.i = (1ll << 33) + l}, {.i = -5 - l}, {.i = (1ll << 32) + 3}},
			    .scalars = 7};
			s->task.out = scene_view(s, t, 3, n, (enum layout)(l % 3), false);
			s->task.in[0] = s->task.out;
			s->task.in[0].data = NULL;
			s->task.in[0].dtype = DTYPE_I64;
			s->task.in[0].stride[0] = (n[1] + 2) * (n[2] + 1);
			s->task.in[0].stride[1] = n[2] + 1;
			s->task.in[0].stride[2] = l % 2 ? 1 : 7;
		}
}

/* Returns the error allowed for a function, in units in the last place. Both sides round: libm, or NVIDIA's
 * and hirc's functions. */
static inline double ulps_of(enum pointwise op)
{
	switch (op) {
	case POINTWISE_EXP:
	case POINTWISE_LOG:
	case POINTWISE_SIN:
	case POINTWISE_COS:
		return 2;
	case POINTWISE_EXP2:
	case POINTWISE_EXPM1:
	case POINTWISE_LOG2:
	case POINTWISE_LOG10:
	case POINTWISE_LOG1P:
	case POINTWISE_TAN:
	case POINTWISE_ASIN:
	case POINTWISE_ACOS:
	case POINTWISE_ATAN:
	case POINTWISE_SINH:
	case POINTWISE_COSH:
	case POINTWISE_ASINH:
	case POINTWISE_ACOSH:
	case POINTWISE_ATANH:
	case POINTWISE_ATAN2:
	case POINTWISE_ERFC:
	case POINTWISE_ERFINV:
	case POINTWISE_ERFCINV:
	case POINTWISE_LGAMMA:
	case POINTWISE_TANH:
	case POINTWISE_POW:
	case POINTWISE_SIGMOID:
	case POINTWISE_SILU:
		return 5;
	case POINTWISE_GELU_TANH:
		return 12; /* exp of a rounded argument */
	case POINTWISE_GELU:
		return 40; /* erfc of f64 at a rounded argument, far in the tail */
	default:
		return 0;
	}
}

static inline struct scene *pointwise(enum pointwise op, const enum dtype *type, const int64_t *n,
                                      const enum layout *l, unsigned scalars)
{
	struct scene *s = scene_new(pointwise_name(op));
	bool divides =
	    op == POINTWISE_DIV || op == POINTWISE_MOD || op == POINTWISE_FMOD || op == POINTWISE_POW;
	s->task = (struct rt_task){.kernel = RT_TASK_POINTWISE, .op = op, .scalars = scalars};
	s->ulps = ulps_of(op);
	for (int k = 0; k < pointwise_operands(op); k++) {
		s->task.scalar[k] = (struct rt_scalar){k ? 1.5 : -0.5, k ? 3 : -2};
		if (scalars >> k & 1)
			continue;
		struct rt_view *v = &s->task.in[k];
		*v = scene_view(s, type[k + 1], 3, n, l[k + 1], !ulps_of(op));
		for (char *at = v->data; divides && k == 1 && at < s->base + s->used;
		     at += dtype_bytes(v->dtype))
			if (!dtype_is_float(v->dtype) && rt_load_i64(v->dtype, at) <= 0)
				rt_store_i64(v->dtype, at, 3);
	}
	s->task.out = scene_view(s, type[0], 3, n, l[0], false);
	return s;
}

/* All operations as one unit with three operands; integer divisors are positive. Additions
 * replace operations that do not take the dtypes. */
static inline void pointwise_all(const enum dtype *type, const int64_t *n, const enum layout *l,
                                 unsigned scalars)
{
	struct scene *s = scene_new(l[0] == GAPS ? "pointwise, strided" : "pointwise");
	struct rt_unit *u = unit_new(s, POINTWISE_COUNT, 0);
	struct rt_view in[3];
	for (int k = 0; k < 3; k++) {
		in[k] = scene_view(s, type[k + 1], 3, n, l[k + 1], false);
		for (char *at = in[k].data; k == 1 && at < s->base + s->used; at += dtype_bytes(in[k].dtype))
			if (!dtype_is_float(in[k].dtype) && rt_load_i64(in[k].dtype, at) <= 0)
				rt_store_i64(in[k].dtype, at, 3);
	}
	for (int op = 0; op < POINTWISE_COUNT; op++) {
		struct rt_task *t = &u->step[op].task;
		*t = (struct rt_task){.kernel = RT_TASK_POINTWISE, .op = op, .scalars = scalars};
		for (int k = 1; k < 4; k++)
			if (pointwise_refuses(t->op, type[k]))
				t->op = POINTWISE_ADD;
		for (int k = 0; k < 3; k++) {
			t->in[k] = in[k];
			t->scalar[k] = (struct rt_scalar){k ? 1.5 : -0.5, k ? 3 : -2};
		}
		t->out = scene_view(s, type[0], 3, n, l[0], false);
	}
}

static inline void cases_pointwise(void)
{
	static const enum layout dense[4], mixed[4] = {GAPS, TURNED, INNER_ONE, OUTER_ONE},
	                                   rows[4] = {DENSE, DENSE, OUTER_ONE, INNER_ONE};
	static const enum dtype of[][4] = {{DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},
	                                   {DTYPE_F64, DTYPE_F64, DTYPE_F64, DTYPE_F64},
	                                   {DTYPE_I32, DTYPE_I32, DTYPE_I32, DTYPE_I32},
	                                   {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
	                                   {DTYPE_F16, DTYPE_I8, DTYPE_F32, DTYPE_BOOL},
	                                   {DTYPE_BOOL, DTYPE_BOOL, DTYPE_U8, DTYPE_I64},
	                                   {DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_F16, DTYPE_BF16},
	                                   {DTYPE_I64, DTYPE_I64, DTYPE_I64, DTYPE_I64}};
	for (int op = 0; op < POINTWISE_COUNT; op++)
		pointwise(op, of[pointwise_refuses(op, DTYPE_F32) ? 2 : 0], shape[4], dense, 0);
	for (int k = 0; k < 8; k++) {
		pointwise_all(of[k], shape[4], dense, 0);
		pointwise_all(of[k], shape[0], mixed, 0);
		pointwise_all(of[k], shape[1], rows, 0);
		pointwise_all(of[k], shape[k % 5], dense, 2);
		pointwise_all(of[k], shape[2], rows, 5);
	}
	struct scene *s = pointwise(POINTWISE_ADD, (enum dtype[]){DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},
	                            shape[1], dense, 0);
	s->name = "add in place";
	s->task.out = s->task.in[0];
}

static inline void cases_faults(void)
{
	static const enum layout dense[4];
	static const struct {
		enum pointwise op;
		unsigned fault;
		int64_t a, b;
	} of[] = {{POINTWISE_DIV, RT_FAULT_DIVISION, 7, 0},
	          {POINTWISE_MOD, RT_FAULT_DIVISION, 7, 0},
	          {POINTWISE_FMOD, RT_FAULT_DIVISION, 7, 0},
	          {POINTWISE_POW, RT_FAULT_POWER, 0, -1}};
	for (int k = 0; k < (int)(sizeof of / sizeof *of); k++) {
		struct scene *s =
		    pointwise(of[k].op, (enum dtype[]){DTYPE_I32, DTYPE_I32, DTYPE_I32}, shape[4], dense, 0);
		rt_store_i64(DTYPE_I32, (int32_t *)s->task.in[0].data + 200, of[k].a);
		rt_store_i64(DTYPE_I32, (int32_t *)s->task.in[1].data + 200, of[k].b);
		s->fault = of[k].fault;
	}
}

/* ---- units */

/* b1 = a * 0.5 + y; memory m = gelu or relu of b1; sums of m and m * m along axes, if there are any; m is
 * read again. */
static inline void chain(enum dtype t, const int64_t *n, enum layout in, enum layout out, unsigned axes,
                         enum reduce_op op)
{
	struct scene *s = scene_new(axes ? "unit with sums" : "unit");
	struct rt_unit *u = unit_new(s, axes ? 6 : 4, 2);
	struct rt_view a = scene_view(s, t, 3, n, in, false), y = scene_view(s, t, 3, n, OUTER_ONE, false);
	struct rt_view m = scene_view(s, t, 3, n, out, false), block = m;
	s->ulps = axes ? 1 : 0;
	block.data = NULL;
	memset(block.stride, 0, sizeof block.stride);
	struct rt_step *p = u->step;
	p[0].task = (struct rt_task){
	    .kernel = RT_TASK_POINTWISE, .op = POINTWISE_MUL, .in = {a}, .out = block, .scalars = 2};
	p[0].task.scalar[1] = (struct rt_scalar){0.5, 3};
	p[0].local[0] = 1;
	p[1].task = (struct rt_task){
	    .kernel = RT_TASK_POINTWISE, .op = POINTWISE_ADD, .in = {block, y}, .out = block};
	p[1].local[0] = 2, p[1].local[1] = 1;
	p[2].task =
	    (struct rt_task){.kernel = RT_TASK_POINTWISE, .op = POINTWISE_RELU, .in = {block}, .out = m};
	p[2].local[1] = 2;
	p[3].task =
	    (struct rt_task){.kernel = RT_TASK_POINTWISE, .op = POINTWISE_MUL, .in = {m, m}, .out = block};
	p[3].local[0] = 1;
	if (!axes) {
		p[3].task.out = scene_view(s, t, 3, n, DENSE, false);
		p[3].local[0] = 0;
		return;
	}
	int64_t one[3];
	for (int d = 0; d < 3; d++)
		one[d] = axes >> d & 1 ? 1 : n[d];
	for (int k = 4; k < 6; k++) {
		p[k].task = (struct rt_task){
		    .kernel = RT_TASK_REDUCE, .reduce = k == 4 ? REDUCE_SUM : op, .axes = axes};
		p[k].task.in[0] = k == 4 ? m : block;
		p[k].local[1] = k == 4 ? 0 : 1;
		p[k].task.out = scene_view(s, k == 4 ? t : DTYPE_F32, 3, one, k == 4 ? DENSE : GAPS, false);
	}
}

/* A unit with the most steps; each reads the result of the one before it. */
static inline void long_chain(void)
{
	enum { STEPS = 255 };
	struct scene *s = scene_new("unit of 255 steps");
	struct rt_unit *u = unit_new(s, STEPS, 2);
	const int64_t n[] = {100};
	struct rt_view in = scene_view(s, DTYPE_F32, 1, n, DENSE, false), block = in;
	block.data = NULL;
	block.stride[0] = 0;
	for (int k = 0; k < STEPS; k++) {
		u->step[k].task = (struct rt_task){.kernel = RT_TASK_POINTWISE,
		                                   .op = k & 1 ? POINTWISE_NEG : POINTWISE_RELU,
		                                   .in = {k ? block : in},
		                                   .out = block};
		u->step[k].local[0] = (uint8_t)(k == STEPS - 1 ? 0 : 1 + k % 2);
		u->step[k].local[1] = (uint8_t)(k ? 2 - k % 2 : 0);
	}
	u->step[STEPS - 1].task.out = scene_view(s, DTYPE_F32, 1, n, DENSE, false);
}

static inline void cases_units(void)
{
	long_chain();
	for (int k = 0; k < 5; k++) {
		chain(DTYPE_F32, shape[k], DENSE, DENSE, 0, REDUCE_SUM);
		chain(DTYPE_BF16, shape[k], TURNED, GAPS, 0, REDUCE_SUM);
		chain(DTYPE_I32, shape[k], DENSE, OFF, 0, REDUCE_SUM);
		for (unsigned axes = 1; axes < 8; axes += 1 + (k > 0)) {
			chain(DTYPE_F32, shape[k], DENSE, DENSE, axes, REDUCE_MAX);
			chain(DTYPE_BF16, shape[k], GAPS, TURNED, axes, REDUCE_SUM);
		}
	}
	chain(DTYPE_F32, (const int64_t[]){80, 100, 64}, DENSE, DENSE, 7, REDUCE_SUM);
	chain(DTYPE_BF16, (const int64_t[]){80, 100, 64}, DENSE, DENSE, 3, REDUCE_SUM);
}

/* ---- reductions */

static inline void reduce(enum reduce_op op, enum dtype t, enum dtype to, const int64_t *n, enum layout in,
                          unsigned axes)
{
	struct scene *s = scene_new(reduce_op_name(op));
	int64_t one[3];
	for (int d = 0; d < 3; d++)
		one[d] = axes >> d & 1 ? 1 : n[d];
	s->task = (struct rt_task){.kernel = RT_TASK_REDUCE, .reduce = op, .axes = axes};
	s->task.in[0] = scene_view(s, t, 3, n, in, op == REDUCE_MIN || op == REDUCE_MAX);
	s->task.out = scene_view(s, to, 3, one, in == GAPS ? GAPS : DENSE, false);
	s->ulps = op == REDUCE_SUM || op == REDUCE_AVG || op == REDUCE_PROD
	              ? 1
	              : 0; /* f64 added in another order, rounded once */
	if (to == DTYPE_F64)
		s->ulps = 256;
	if (op == REDUCE_AVG && !dtype_is_float(t) && rt_view_count(&s->task.out) &&
	    !rt_view_count(&s->task.in[0]))
		s->task.reduce = REDUCE_SUM;
}

static inline void cases_reduce(void)
{
	for (int op = 0; op < REDUCE_COUNT; op++) {
		enum reduce_op o = op;
		for (int t = 0; t < DTYPE_COUNT; t++)
			reduce(o, t, t, shape[1], DENSE, 4);
		for (int k = 0; k < 5; k++)
			for (unsigned axes = 1; axes < 8; axes += 1 + (op > 0)) {
				reduce(o, DTYPE_F32, DTYPE_F32, shape[k], k & 1 ? GAPS : DENSE, axes);
				reduce(o, DTYPE_I32, DTYPE_I64, shape[k], k & 1 ? TURNED : INNER_ONE, axes);
			}
	}
	const int64_t large[][3] = {{1, 1, 300007}, {1, 1, 400000}, {3, 5000, 8},
	                            {2000, 3, 33},  {1, 20, 9000},  {3000, 1, 48}};
	for (int k = 0; k < 6; k++)
		for (unsigned axes = 1; axes < 8; axes++) {
			if (axes != 4 && axes != 7 && axes != 1 && axes != 3)
				continue;
			reduce(REDUCE_SUM, k & 1 ? DTYPE_BF16 : DTYPE_F32, DTYPE_F32, large[k], DENSE, axes);
			reduce(REDUCE_MAX, DTYPE_F32, DTYPE_F32, large[k], k & 1 ? TURNED : DENSE, axes);
		}
}

static inline void cases_arrays(void)
{
	for (int op = 0; op < REDUCE_COUNT; op++)
		for (int t = 0; t < DTYPE_COUNT; t++) {
			struct scene *s = scene_new("arrays");
			s->arrays = (t + 2 * op) % 5 == 4 ? 66 : 1 + (t + op) % 4;
			s->op = op;
			s->type = t;
			s->count = 1000 + t;
			for (int k = 0; k < s->arrays; k++)
				s->in[k] = scene_view(s, s->type, 1, &s->count, t == 3 ? OFF : DENSE,
				                      op != REDUCE_PROD)
				               .data;
			s->out = t & 1 ? (void *)s->in[0]
			               : scene_view(s, s->type, 1, &s->count, DENSE, false).data;
		}
}

/* ---- the others */

static inline void softmax(enum dtype t, const int64_t *n, enum layout in, unsigned axis)
{
	struct scene *s = scene_new("softmax");
	s->task = (struct rt_task){.kernel = RT_TASK_SOFTMAX, .axes = axis};
	s->task.in[0] = scene_view(s, t, 3, n, in, false);
	s->task.out = scene_view(s,
	                         t == DTYPE_F64   ? DTYPE_F64
	                         : t == DTYPE_F32 ? DTYPE_F32
	                                          : DTYPE_F32,
	                         3, n, DENSE, false);
	s->ulps = 16;
}

static inline void cases_softmax(void)
{
	for (int k = 0; k < 5; k++)
		for (unsigned axis = 0; axis < 3; axis++) {
			softmax(DTYPE_F32, shape[k], DENSE, axis);
			softmax(k & 1 ? DTYPE_F64 : DTYPE_BF16, shape[k], k & 1 ? GAPS : TURNED, axis);
		}
	softmax(DTYPE_F32, (const int64_t[]){2, 3, 10000}, DENSE, 2);
	softmax(DTYPE_BF16, (const int64_t[]){2, 40, 1000}, DENSE, 2);
	softmax(DTYPE_BF16, (const int64_t[]){1, 3, 20000}, DENSE, 2);
	softmax(DTYPE_F16, (const int64_t[]){3, 5, 1004}, OFF, 2);
	softmax(DTYPE_F8E4M3, (const int64_t[]){3, 5, 64}, DENSE, 2);
	softmax(DTYPE_F64, (const int64_t[]){3, 5, 102}, DENSE, 2);
	softmax(DTYPE_F32, (const int64_t[]){1, 300, 300}, DENSE, 2);
	softmax(DTYPE_BF16, (const int64_t[]){2, 700, 40}, DENSE, 1);
}

static inline void norm(enum dtype t, enum dtype out, const int64_t *n, enum layout in, enum rt_norm kind,
                        unsigned numbers)
{
	struct scene *s = scene_new("norm");
	s->task = (struct rt_task){.kernel = RT_TASK_NORM, .axes = 2, .norm = kind, .scalars = numbers};
	s->task.in[0] = scene_view(s, t, 3, n, in, false);
	for (unsigned k = 1; k < 3; k++)
		if (!(numbers >> k & 1))
			s->task.in[k] = scene_view(s, k == 1 ? t : DTYPE_F32, 3, n,
			                           k == 1 ? OUTER_ONE : INNER_ONE, false);
	s->task.out = scene_view(s, out, 3, n, DENSE, false);
	s->task.scalar[0].f = 1e-5;
	s->ulps = 16;
	s->least = t == DTYPE_F64 ? 1e-15 : 1e-6; /* the addend may cancel most of a number */
}

static inline void cases_norm(void)
{
	for (int k = 0; k < 5; k++)
		for (unsigned numbers = 0; numbers < 8; numbers += 2) {
			norm(DTYPE_F32, DTYPE_F32, shape[k], DENSE, RT_NORM_LAYER, numbers);
			norm(k & 1 ? DTYPE_F64 : DTYPE_BF16, k & 1 ? DTYPE_F64 : DTYPE_F32, shape[k],
			     k & 1 ? GAPS : TURNED, RT_NORM_RMS, numbers);
		}
	norm(DTYPE_BF16, DTYPE_F32, (const int64_t[]){2, 3, 4096}, DENSE, RT_NORM_LAYER, 0);
	norm(DTYPE_F16, DTYPE_F32, (const int64_t[]){3, 5, 1004}, OFF, RT_NORM_LAYER, 4);
	norm(DTYPE_F32, DTYPE_F32, (const int64_t[]){1, 3, 8192}, DENSE, RT_NORM_RMS, 4);
	norm(DTYPE_F8E4M3, DTYPE_F32, (const int64_t[]){3, 5, 64}, DENSE, RT_NORM_LAYER, 6);
	norm(DTYPE_F32, DTYPE_F32, (const int64_t[]){1, 2, 20000}, DENSE, RT_NORM_LAYER, 0); /* read again */
	norm(DTYPE_BF16, DTYPE_F32, (const int64_t[]){1, 2, 40000}, TURNED, RT_NORM_RMS, 2);
}

/* n: batches, rows, keys, elements of a key, elements of a value. layout: of q, k and v. Batches share k. */
static inline struct scene *attention(enum dtype t, const int64_t *n, enum layout layout, bool causal,
                                      int64_t first)
{
	struct scene *s = scene_new("attention");
	s->task =
	    (struct rt_task){.kernel = RT_TASK_ATTENTION,
	                     .scalars = 1u << RT_ATTENTION_SCALE | (unsigned)causal << RT_ATTENTION_FIRST};
	s->task.in[0] = scene_view(s, t, 3, (const int64_t[]){n[0], n[1], n[3]}, layout, false);
	s->task.in[1] = scene_view(s, t, 3, (const int64_t[]){n[0], n[2], n[3]}, layout, false);
	s->task.in[2] = scene_view(s, t, 3, (const int64_t[]){n[0], n[2], n[4]}, layout, false);
	s->task.out = scene_view(s, t, 3, (const int64_t[]){n[0], n[1], n[4]}, DENSE, false);
	s->task.scalar[RT_ATTENTION_SCALE].f = 0.02;
	s->task.scalar[RT_ATTENTION_FIRST].i = first;
	s->task.scalars |= 1u << RT_ATTENTION_MASK | 1u << RT_ATTENTION_LOGS;
	s->task.in[1].stride[0] = 0;
	s->least = t == DTYPE_F64 ? 1e-13 : t == DTYPE_F32 ? 1e-4 : t == DTYPE_F16 ? 4e-3 : 3e-2;
	return s;
}

static inline void masked(enum dtype t, enum dtype mask, const int64_t *n, enum layout layout, bool causal)
{
	struct scene *s = attention(t, n, DENSE, causal, 5);
	s->task.scalars &= ~(1u << RT_ATTENTION_MASK);
	s->task.scalar[RT_ATTENTION_SCALE].f = mask == DTYPE_F32 ? -0.02 : 0.02;
	s->task.in[RT_ATTENTION_MASK] = scene_view(s, mask, 3, n, layout, false);
}

static inline void cases_attention(void)
{
	for (int causal = 0; causal < 2; causal++) {
		attention(DTYPE_BF16, (const int64_t[]){2, 200, 300, 128, 128}, DENSE, causal, 0);
		attention(DTYPE_F16, (const int64_t[]){3, 130, 270, 64, 128}, DENSE, causal, 37);
		attention(DTYPE_BF16, (const int64_t[]){1, 60, 200, 128, 192}, DENSE, causal, 140);
		attention(DTYPE_BF16, (const int64_t[]){1, 30, 140, 256, 256}, DENSE, causal, 3);
		attention(DTYPE_F16, (const int64_t[]){2, 40, 90, 80, 48}, DENSE, causal, 0);
		attention(DTYPE_BF16, (const int64_t[]){2, 40, 90, 64, 64}, TURNED, causal, 0);
		attention(DTYPE_BF16, (const int64_t[]){2, 40, 90, 24, 70}, DENSE, causal, 20);
		attention(DTYPE_F32, (const int64_t[]){3, 70, 50, 20, 130}, GAPS, causal, 0);
		/* keys are split: causal rows see all splits but some keys, a few splits, or one of them */
		attention(DTYPE_BF16, (const int64_t[]){2, 40, 1400, 64, 32}, DENSE, causal, 1340);
		attention(DTYPE_F16, (const int64_t[]){1, 300, 1200, 16, 16}, DENSE, causal, 330);
		attention(DTYPE_BF16, (const int64_t[]){1, 600, 600, 16, 16}, DENSE, causal, 0);
		attention(DTYPE_F64, (const int64_t[]){2, 33, 65, 33, 17}, DENSE, causal, 1000);
		masked(DTYPE_BF16, DTYPE_BOOL, (const int64_t[]){2, 150, 200, 64, 64}, TURNED, causal);
		masked(DTYPE_F16, DTYPE_F16, (const int64_t[]){2, 130, 90, 48, 64}, OUTER_ONE, causal);
		masked(DTYPE_F32, DTYPE_F32, (const int64_t[]){2, 70, 60, 12, 64}, INNER_ONE, causal);
		masked(DTYPE_F64, DTYPE_BOOL, (const int64_t[]){1, 20, 40, 8, 8}, GAPS, causal);
	}
}

static inline struct scene *gather(enum dtype t, enum dtype index, bool rows, int64_t first)
{
	struct scene *s = scene_new("gather");
	const int64_t n[] = {6, 9, 16}, table[] = {6, 9, 16, 5};
	s->task = (struct rt_task){.kernel = RT_TASK_GATHER};
	s->task.in[1] = scene_view(s, index, 3, n, rows ? INNER_ONE : DENSE, false);
	for (char *at = s->task.in[1].data; at < s->base + s->used - SCENE_GAP; at += dtype_bytes(index))
		rt_store_i64(index, at, next() % 5);
	s->task.in[0] = scene_view(s, t, 4, table, DENSE, true);
	if (rows) /* a table of rows, the same for all tokens */
		for (int d = 0; d < 4; d++)
			s->task.in[0].stride[d] = d == 2 ? 1 : d == 3 ? 16 : 0;
	if (first) {
		s->task.scalars = 4;
		s->task.scalar[2].i = first;
		s->task.axes = 5;
		s->task.in[0].n[3] = 2;
	}
	s->task.out = scene_view(s, t, 3, n, DENSE, false);
	return s;
}

static inline void cases_index(void)
{
	for (int t = 0; t < DTYPE_COUNT; t++) {
		gather(t, DTYPE_I64, false, 0);
		gather(t, DTYPE_I32, true, t % 3);
		for (int l = 0; l < 3; l++) {
			struct scene *s = scene_new("topk");
			unsigned axis = (unsigned)(t + l) % 3;
			int64_t n[] = {5, 6, 70}, k[3];
			memcpy(k, n, sizeof k);
			k[axis] = 1 + t % 5;
			s->task = (struct rt_task){.kernel = RT_TASK_TOPK, .axes = axis};
			s->task.in[0] = scene_view(s, t, 3, n, (enum layout)l, true);
			s->task.out =
			    scene_view(s, t & 1 ? DTYPE_I32 : DTYPE_I64, 3, k, l ? GAPS : DENSE, false);
		}
	}
	struct scene *s = gather(DTYPE_F32, DTYPE_I32, false, 0);
	rt_store_i64(DTYPE_I32, s->task.in[1].data, 5);
	s->fault = RT_FAULT_INDEX;
}

static inline void cases_scan(void)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F64,
	                                   DTYPE_I32, DTYPE_I64,  DTYPE_BOOL};
	for (unsigned axis = 0; axis < 3; axis++)
		for (unsigned k = 0; k < 24; k++) {
			int64_t n[] = {5, 6, 3};
			struct scene *s = scene_new("scan");
			n[axis] = k % 4 == 3 ? 3000 : 40;
			s->task = (struct rt_task){.kernel = RT_TASK_SCAN, .axes = axis, .reduce = k % 4};
			s->task.in[0] = scene_view(s, types[k / 4], 3, n, axis ? GAPS : TURNED, true);
			s->task.out = scene_view(s, types[k / 4], 3, n, k & 1 ? DENSE : GAPS, false);
			s->ulps = s->task.reduce == REDUCE_SUM || s->task.reduce == REDUCE_PROD ? 64 : 0;
			s->least = s->task.reduce == REDUCE_SUM ? 1e-4 : 0;
		}
}

static inline void cases_put(void)
{
	for (unsigned axis = 0; axis < 3; axis++)
		for (unsigned k = 0; k < 8; k++) {
			int64_t n[] = {5, 6, 3}, to[3];
			enum dtype t = k & 1 ? DTYPE_BF16 : DTYPE_F64, of = k & 2 ? DTYPE_I32 : DTYPE_I64;
			struct scene *s = scene_new(k & 4 ? "put a number" : "put");
			n[axis] = k & 1 ? 700 : 9;
			memcpy(to, n, sizeof n);
			to[axis] = 10;
			s->task =
			    (struct rt_task){.kernel = RT_TASK_PUT, .axes = axis, .scalars = k & 4 ? 2 : 0};
			s->task.scalar[1] = (struct rt_scalar){1.5, 3};
			s->task.in[0] = scene_view(s, of, 3, n, axis ? GAPS : TURNED, false);
			for (char *at = s->task.in[0].data; at < s->base + s->used; at += dtype_bytes(of))
				rt_store_i64(of, at, next() % 10);
			s->task.in[1] = scene_view(s, t, 3, n, DENSE, true);
			s->task.out = scene_view(s, t, 3, to, k & 2 ? DENSE : GAPS, true);
		}
	struct scene *s = scenes.at[scenes.n - 1];
	rt_store_i64(s->task.in[0].dtype, s->task.in[0].data, 10);
	s->fault = RT_FAULT_INDEX;
}

static inline void cases_grouped(void)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F64, DTYPE_I32};
	static const int64_t ends[] = {3, 3, 2, 9, 40};
	for (unsigned k = 0; k < 8; k++) {
		struct scene *s = scene_new("grouped");
		const int64_t rows[] = {12, 20}, matrices[] = {5, 20, 7}, out[] = {12, 7}, groups = 5;
		s->task = (struct rt_task){.kernel = RT_TASK_GROUPED, .scalars = 8};
		s->task.scalar[3].i = k & 4 ? 2 : 0;
		s->task.in[0] = scene_view(s, types[k % 4], 2, rows, k & 1 ? TURNED : GAPS, false);
		s->task.in[1] = scene_view(s, types[k % 4], 3, matrices, k & 4 ? TURNED : DENSE, false);
		s->task.in[2] = scene_view(s, DTYPE_I64, 1, &groups, DENSE, false);
		memcpy(s->task.in[2].data, ends, sizeof ends);
		s->task.out = scene_view(s, types[k % 4], 2, out, k & 4 ? GAPS : DENSE, false);
		s->ulps = 32;
		s->least = 1e-3;
	}
}

static inline void cases_accumulate(void)
{
	for (unsigned axis = 0; axis < 3; axis++)
		for (unsigned k = 0; k < 16; k++) {
			int64_t n[] = {5, 6, 3}, to[3];
			enum dtype t = k & 4 ? DTYPE_I32 : k & 1 ? DTYPE_F32 : DTYPE_F64;
			struct scene *s = scene_new(k & 8 ? "accumulate a number" : "accumulate");
			n[axis] = k & 1 ? 700 : 9;
			memcpy(to, n, sizeof n);
			to[axis] = 10;
			s->task = (struct rt_task){.kernel = RT_TASK_ACCUMULATE,
			                           .axes = axis,
			                           .scalars = k & 8 ? 2 : 0,
			                           .reduce = k % 4};
			s->task.scalar[1] = (struct rt_scalar){1.5, 3};
			s->task.in[0] = scene_view(s, DTYPE_I64, 3, n, axis ? GAPS : TURNED, false);
			for (char *at = s->task.in[0].data; at < s->base + s->used; at += sizeof(int64_t))
				rt_store_i64(DTYPE_I64, at, next() % 10);
			s->task.in[1] = scene_view(s, k == 1 ? DTYPE_BF16 : t, 3, n, DENSE, true);
			s->task.out = scene_view(s, t, 3, to, k & 2 ? DENSE : GAPS, true);
		}
}

static inline void cases_experts(void)
{
	for (int64_t n = 0; n < 2000; n = n * 3 + 1)
		for (int kind = 0; kind < 4; kind++) {
			bool routes = kind & 1;
			int64_t each = kind & 2 ? 4 : 1, buckets = 24 / each;
			struct scene *s = scene_new(routes ? "route" : "count");
			s->task = (struct rt_task){.kernel = routes ? RT_TASK_ROUTE : RT_TASK_COUNT};
			s->task.scalar[1].i = each;
			s->task.scalar[2].i = 24;
			s->task.in[0] = scene_view(s, kind & 2 ? DTYPE_I64 : DTYPE_I32, 1, &n, GAPS, false);
			for (int64_t i = 0; i < n; i++)
				rt_store_i64(s->task.in[0].dtype,
				             (char *)s->task.in[0].data +
				                 (size_t)i * dtype_bytes(s->task.in[0].dtype),
				             next() % 24);
			s->task.out = scene_view(s, DTYPE_I32, 1, routes ? &n : &buckets, DENSE, false);
		}
	for (int k = 0; k < 4; k++) {
		struct scene *s = scene_new("scatter");
		const int64_t out[] = {30, 3, 20}, rows = k & 1 ? 1500 : 40, in[] = {rows, 3, 20};
		s->task = (struct rt_task){.kernel = RT_TASK_SCATTER};
		s->task.out =
		    scene_view(s, k & 1 ? DTYPE_F64 : DTYPE_F32, 3, out, k & 2 ? GAPS : DENSE, false);
		s->task.in[0] =
		    scene_view(s, k & 2 ? DTYPE_BF16 : DTYPE_F32, 3, in, k & 2 ? TURNED : DENSE, false);
		s->task.in[1] = scene_view(s, DTYPE_F32, 1, &rows, DENSE, false);
		s->task.in[2] = scene_view(s, DTYPE_I32, 1, &rows, DENSE, false);
		for (int64_t i = 0; i < rows; i++)
			((int32_t *)s->task.in[2].data)[i] = (int32_t)(next() % 31) - 1;
	}
	struct scene *s = scene_new("count of a wrong expert");
	s->task = (struct rt_task){.kernel = RT_TASK_COUNT, .scalar = {{0}, {0, 1}, {0, 4}}};
	s->task.in[0] = scene_view(s, DTYPE_I32, 1, (const int64_t[]){9}, DENSE, false);
	memset(s->task.in[0].data, 0, 9 * sizeof(int32_t));
	((int32_t *)s->task.in[0].data)[7] = 4;
	s->task.out = scene_view(s, DTYPE_I32, 1, (const int64_t[]){4}, DENSE, false);
	s->fault = RT_FAULT_EXPERT;
}

static inline void gemm(const enum dtype *type, int64_t m, int64_t n, int64_t k, enum layout l, int more)
{
	struct scene *s = scene_new("gemm");
	const int64_t a[] = {3, m, k}, b[] = {3, k, n}, c[] = {3, m, n};
	s->task = (struct rt_task){.kernel = RT_TASK_GEMM, .has_bias = more == 1, .accumulate = more == 2};
	s->task.in[0] = scene_view(s, type[1], 3, a, l, false);
	s->task.in[1] = scene_view(s, type[2], 3, b, l == DENSE ? TURNED : OUTER_ONE, false);
	if (more == 1)
		s->task.in[2] = scene_view(s, type[3], 3, c, INNER_ONE, false);
	s->task.out = scene_view(s, type[0], 3, c, l == TURNED ? GAPS : DENSE, false);
	s->ulps = type[0] == DTYPE_F64 ? 64 : 4; /* because of the order and of fused additions; products of
	                                            eighths are exact */
}

static inline void cases_gemm(void)
{
	static const enum dtype type[][4] = {
	    {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},    {DTYPE_F64, DTYPE_F64, DTYPE_F32, DTYPE_F32},
	    {DTYPE_I64, DTYPE_I32, DTYPE_I8, DTYPE_I32},     {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, DTYPE_F32},
	    {DTYPE_F32, DTYPE_F16, DTYPE_F8E4M3, DTYPE_F16}, {DTYPE_F64, DTYPE_F32, DTYPE_F32, DTYPE_F32},
	    {DTYPE_I32, DTYPE_I32, DTYPE_I32, DTYPE_I64},    {DTYPE_F32, DTYPE_F32, DTYPE_I32, DTYPE_I32}};
	for (int k = 0; k < 8; k++)
		for (int more = 0; more < 3; more++) {
			gemm(type[k], 70, 65, 37, more == 1 ? TURNED : DENSE, more);
			gemm(type[k], 3, 130, 5, GAPS, more);
			gemm(type[k], 4, 5, 0, DENSE, more);
		}
}

static inline void all_cases(void)
{
	cases_copy();
	cases_transpose();
	cases_fill();
	cases_uniform();
	cases_pointwise();
	cases_faults();
	cases_units();
	cases_reduce();
	cases_arrays();
	cases_softmax();
	cases_norm();
	cases_attention();
	cases_index();
	cases_scan();
	cases_put();
	cases_accumulate();
	cases_grouped();
	cases_experts();
	cases_gemm();
	for (uint32_t k = 0; k < scenes.n; k++) {
		const struct scene *s = scenes.at[k];
		scene_write(scenes.at[k]);
		CHECK_EQ(s->kernel >= 0 && strstr(sources.at[s->kernel], "tile[") != NULL,
		         strcmp(s->name, "copy, tiles") == 0);
	}
}

#endif
