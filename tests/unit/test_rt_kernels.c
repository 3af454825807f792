/* Kernels of the cpu device against naive loops on random strided views. */
#include "rt/bell.h"
#include "rt/convert_bits.h"
#include "rt/device.h"
#include "test_rt.h"
#include <math.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static uint32_t seed = 1;

static uint32_t next(void)
{
	return (seed = seed * 1664525 + 1013904223) >> 8;
}

static struct rt_device *device;

static enum status run(const struct rt_task *t, char *why)
{
	return rt_device_run(device, 0, t, why);
}

static void ok(const struct rt_task *t)
{
	char why[RT_WHY_BYTES];
	CHECK_EQ(run(t, why), STATUS_OK);
}

/* A view of the extents in fresh memory, axes in random memory order with gaps. */
static struct rt_view random_view(enum dtype t, int nd, const int64_t *n, bool negative)
{
	struct rt_view v = {.dtype = t, .nd = nd};
	int order[RT_MAX_DIMS] = {0};
	for (int i = 0; i < nd; i++) {
		int j = (int)(next() % (uint32_t)(i + 1));
		order[i] = order[j];
		order[j] = i;
	}
	int64_t stride = 1;
	for (int i = 0; i < nd; i++) {
		v.n[order[i]] = n[order[i]];
		v.stride[order[i]] = stride;
		stride = stride * (n[order[i]] ? n[order[i]] : 1) + (next() % 3 == 0);
	}
	void *data;
	CHECK_EQ(rt_device_alloc(device, (size_t)stride * dtype_bytes(t) + 64, "it", &data), STATUS_OK);
	v.data = data;
	if (negative && nd > 0 && v.n[0] > 0) {
		v.data = (char *)data + (v.n[0] - 1) * v.stride[0] * (int64_t)dtype_bytes(t);
		v.stride[0] = -v.stride[0];
	}
	return v;
}

static void free_view(const struct rt_view *v)
{
	char *data = v->data;
	for (int i = 0; i < v->nd; i++)
		if (v->stride[i] < 0)
			data += v->stride[i] * (v->n[i] - 1) * (int64_t)dtype_bytes(v->dtype);
	rt_device_free(device, data);
}

static void *at(const struct rt_view *v, const int64_t *index)
{
	int64_t offset = 0;
	for (int i = 0; i < v->nd; i++)
		offset += index[i] * v->stride[i];
	return (char *)v->data + offset * (int64_t)dtype_bytes(v->dtype);
}

static double get(const struct rt_view *v, const int64_t *index)
{
	return rt_load_f64(v->dtype, at(v, index));
}

static bool step(const struct rt_view *v, int64_t *index)
{
	for (int d = v->nd - 1; d >= 0; d--) {
		if (++index[d] < v->n[d])
			return true;
		index[d] = 0;
	}
	return false;
}

static void fill_random(const struct rt_view *v, int range)
{
	int64_t index[RT_MAX_DIMS] = {0};
	if (rt_view_count(v) == 0)
		return;
	do
		rt_store_f64(v->dtype, at(v, index), (double)(next() % (uint32_t)(2 * range + 1)) - range);
	while (step(v, index));
}

static void random_extents(int64_t *n, int nd)
{
	for (int i = 0; i < nd; i++)
		n[i] = next() % 12 == 0 ? 0 : 1 + next() % (i == nd - 1 && next() % 4 == 0 ? 600 : 6);
}

static void test_copy(void)
{
	for (int round = 0; round < 300; round++) {
		int nd = (int)(next() % 5);
		int64_t n[RT_MAX_DIMS], index[RT_MAX_DIMS] = {0};
		random_extents(n, nd);
		enum dtype from = (next() % DTYPE_COUNT), to = next() % 2 ? from : (next() % DTYPE_COUNT);
		struct rt_view in = random_view(from, nd, n, next() % 2),
		               out = random_view(to, nd, n, next() % 2);
		fill_random(&in, 100);
		ok(&(struct rt_task){.kernel = RT_TASK_COPY, .out = out, .in = {in}});
		if (rt_view_count(&out))
			do {
				uint64_t want = 0, got = 0;
				if (dtype_is_float(from))
					rt_store_f64(to, &want, get(&in, index));
				else
					rt_store_i64(to, &want, rt_load_i64(from, at(&in, index)));
				memcpy(&got, at(&out, index), dtype_bytes(to));
				if (got != want)
					CHECK_EQ(got, want);
			} while (step(&out, index));
		free_view(&in);
		free_view(&out);
	}
}

static double reference(enum pointwise op, double a, double b, double c)
{
	switch (op) {
	case POINTWISE_ADD:
		return a + b;
	case POINTWISE_SUB:
		return a - b;
	case POINTWISE_MUL:
		return a * b;
	case POINTWISE_DIV:
		return a / b;
	case POINTWISE_MOD:
		return a - b * floor(a / b);
	case POINTWISE_NEG:
		return -a;
	case POINTWISE_ABS:
		return fabs(a);
	case POINTWISE_EXP:
		return exp(a);
	case POINTWISE_LOG:
		return log(a);
	case POINTWISE_SQRT:
		return sqrt(a);
	case POINTWISE_RSQRT:
		return 1 / sqrt(a);
	case POINTWISE_SIN:
		return sin(a);
	case POINTWISE_COS:
		return cos(a);
	case POINTWISE_TANH:
		return tanh(a);
	case POINTWISE_ERF:
		return erf(a);
	case POINTWISE_EXP2:
		return exp2(a);
	case POINTWISE_EXPM1:
		return expm1(a);
	case POINTWISE_LOG2:
		return log2(a);
	case POINTWISE_LOG10:
		return log10(a);
	case POINTWISE_LOG1P:
		return log1p(a);
	case POINTWISE_TAN:
		return tan(a);
	case POINTWISE_ASIN:
		return asin(a);
	case POINTWISE_ACOS:
		return acos(a);
	case POINTWISE_ATAN:
		return atan(a);
	case POINTWISE_SINH:
		return sinh(a);
	case POINTWISE_COSH:
		return cosh(a);
	case POINTWISE_ASINH:
		return asinh(a);
	case POINTWISE_ACOSH:
		return acosh(a);
	case POINTWISE_ATANH:
		return atanh(a);
	case POINTWISE_ERFC:
		return erfc(a);
	case POINTWISE_ERFINV: /* of integers */
		return a == 0 ? 0 : fabs(a) == 1 ? a * INFINITY : NAN;
	case POINTWISE_ERFCINV:
		return a == 1 ? 0 : a == 0 ? INFINITY : a == 2 ? -INFINITY : NAN;
	case POINTWISE_LGAMMA:
		return lgamma(a);
	case POINTWISE_NEXTAFTER:
		return a; /* nearly */
	case POINTWISE_ATAN2:
		return atan2(a, b);
	case POINTWISE_CEIL:
		return ceil(a);
	case POINTWISE_FLOOR:
		return floor(a);
	case POINTWISE_ROUND:
		return a - remainder(a, 1);
	case POINTWISE_TRUNC:
		return a < 0 ? ceil(a) : floor(a);
	case POINTWISE_FMOD:
		return fmod(a, b);
	case POINTWISE_GCD:
		for (a = fabs(a), b = fabs(b); b != 0;) {
			double rest = fmod(a, b);
			a = b;
			b = rest;
		}
		return a;
	case POINTWISE_ISNAN:
		return isnan(a);
	case POINTWISE_ISINF:
		return isinf(a) != 0;
	case POINTWISE_ISPOSINF:
		return a == INFINITY;
	case POINTWISE_ISNEGINF:
		return a == -INFINITY;
	case POINTWISE_ISFINITE:
		return isfinite(a);
	case POINTWISE_SIGNBIT:
		return signbit(a) && !isnan(a);
	case POINTWISE_RELU:
		return a > 0 ? a : 0;
	case POINTWISE_GELU:
		return a * 0.5 * (1 + erf(a / sqrt(2)));
	case POINTWISE_GELU_TANH:
		return 0.5 * a * (1 + tanh(sqrt(M_2_PI) * (a + 0.044715 * a * a * a)));
	case POINTWISE_SILU:
		return a / (1 + exp(-a));
	case POINTWISE_SIGMOID:
		return 1 / (1 + exp(-a));
	case POINTWISE_POW:
		return pow(a, b);
	case POINTWISE_MAXIMUM:
		return fmax(a, b);
	case POINTWISE_MINIMUM:
		return fmin(a, b);
	case POINTWISE_WHERE:
		return a != 0 ? b : c;
	case POINTWISE_EQ:
		return a == b;
	case POINTWISE_NE:
		return a != b;
	case POINTWISE_LT:
		return a < b;
	case POINTWISE_LE:
		return a <= b;
	case POINTWISE_GT:
		return a > b;
	case POINTWISE_GE:
		return a >= b;
	case POINTWISE_AND:
		return a != 0 && b != 0;
	case POINTWISE_OR:
		return a != 0 || b != 0;
	case POINTWISE_NOT:
		return a == 0;
	case POINTWISE_BITWISE_AND:
		return (double)((int64_t)a & (int64_t)b);
	case POINTWISE_BITWISE_OR:
		return (double)((int64_t)a | (int64_t)b);
	case POINTWISE_BITWISE_XOR:
		return (double)((int64_t)a ^ (int64_t)b);
	case POINTWISE_BITWISE_NOT:
		return -1 - a;
	case POINTWISE_SHIFT_LEFT:
		return b < 0 || b >= 64 ? 0 : ldexp(a, (int)b);
	case POINTWISE_SHIFT_RIGHT:
		return b < 0 || b >= 64 ? -(a < 0) : floor(ldexp(a, -(int)b));
	case POINTWISE_COUNT:
		break;
	}
	return 0;
}

static bool is_logical(enum pointwise op)
{
	return pointwise_class(op) == CLASS_COMPARE || pointwise_class(op) == CLASS_LOGICAL;
}

static bool near_to(double got, double want, double relative)
{
	return got == want || (isnan(got) && isnan(want)) ||
	       fabs(got - want) <= relative * (fabs(want) + 1e-2);
}

static void pointwise_case(enum pointwise op, enum dtype t)
{
	int nd = (int)(next() % 4), operands = pointwise_operands(op);
	int64_t n[RT_MAX_DIMS], index[RT_MAX_DIMS] = {0};
	random_extents(n, nd);
	struct rt_task task = {.kernel = RT_TASK_POINTWISE, .op = op};
	task.out = random_view(is_logical(op) ? DTYPE_BOOL : t, nd, n, false);
	struct rt_view memory[3];
	for (int k = 0; k < operands; k++) {
		bool condition = op == POINTWISE_WHERE && k == 0;
		memory[k] = random_view(condition ? DTYPE_BOOL : t, nd, n, next() % 2);
		fill_random(&memory[k], condition ? 1 : 3);
		task.in[k] = memory[k];
		if (next() % 4 == 0) {
			task.scalars |= 1u << k;
			task.scalar[k] = (struct rt_scalar){.f = 2, .i = 2};
		} else if (nd > 0 && next() % 4 == 0) {
			task.in[k].stride[nd - 1] = 0; /* broadcast */
		}
	}
	bool integer = !dtype_is_float(t);
	if (integer &&
	    (op == POINTWISE_DIV || op == POINTWISE_MOD || op == POINTWISE_FMOD || op == POINTWISE_POW)) {
		task.scalars |= 2;
		task.scalar[1] = (struct rt_scalar){.f = 2, .i = 2};
	}
	ok(&task);
	double relative = t == DTYPE_F64 ? 1e-12 : t == DTYPE_F32 ? 1e-5 : 8e-3;
	if (rt_view_count(&task.out))
		do {
			double x[3] = {0};
			for (int k = 0; k < operands; k++)
				x[k] = task.scalars >> k & 1 ? task.scalar[k].f : get(&task.in[k], index);
			double want = reference(op, x[0], x[1], x[2]);
			if (integer)
				want = trunc(want);
			if (t == DTYPE_BOOL || t == DTYPE_U8)
				break; /* wrapping is checked by hand */
			if (!near_to(get(&task.out, index), want, relative)) {
				printf("%s %s: %g %g %g\n", pointwise_name(op), dtype_name(t), x[0], x[1],
				       x[2]);
				CHECK(get(&task.out, index) == want);
			}
		} while (step(&task.out, index));
	for (int k = 0; k < operands; k++)
		free_view(&memory[k]);
	free_view(&task.out);
}

static void test_pointwise(void)
{
	for (int op = 0; op < POINTWISE_COUNT; op++)
		for (int t = 0; t < DTYPE_COUNT; t++) {
			bool float_only = pointwise_class(op) == CLASS_REAL;
			bool is_float = dtype_is_float(t);
			if (t == DTYPE_F8E4M3 || t == DTYPE_F8E5M2 || (float_only && !is_float) ||
			    pointwise_refuses(op, t))
				continue;
			for (int round = 0; round < 4; round++)
				pointwise_case(op, t);
		}
}

static int64_t integers(enum pointwise op, int64_t a, int64_t b, enum status *status, char *why)
{
	int64_t r = 0, n = 1;
	struct rt_task t = {
	    .kernel = RT_TASK_POINTWISE, .op = op, .out = rt_view_dense(&r, DTYPE_I64, 1, &n)};
	t.in[0] = rt_view_dense(&a, DTYPE_I64, 1, &n);
	t.in[1] = rt_view_dense(&b, DTYPE_I64, 1, &n);
	*status = run(&t, why);
	return r;
}

static void test_integers(void)
{
	enum status s;
	char why[RT_WHY_BYTES];
	CHECK_EQ(integers(POINTWISE_DIV, -7, 2, &s, why), -3);
	CHECK_EQ(integers(POINTWISE_MOD, -7, 2, &s, why), 1);
	CHECK_EQ(integers(POINTWISE_MOD, 7, -2, &s, why), -1);
	CHECK_EQ(integers(POINTWISE_DIV, INT64_MIN, -1, &s, why), INT64_MIN);
	CHECK_EQ(integers(POINTWISE_MOD, INT64_MIN, -1, &s, why), 0);
	CHECK_EQ(integers(POINTWISE_ADD, INT64_MAX, 1, &s, why), INT64_MIN);
	CHECK_EQ(integers(POINTWISE_POW, -3, 3, &s, why), -27);
	CHECK_EQ(integers(POINTWISE_POW, -1, -3, &s, why), -1);
	CHECK_EQ(integers(POINTWISE_MAXIMUM, INT64_MAX, INT64_MAX - 1, &s, why), INT64_MAX);
	CHECK_EQ(s, STATUS_OK);
	integers(POINTWISE_DIV, 1, 0, &s, why);
	CHECK_EQ(s, STATUS_DIAGNOSTICS);
	CHECK_STR(why, "integer division by zero");
	CHECK_EQ(integers(POINTWISE_FMOD, -7, 2, &s, why), -1);
	CHECK_EQ(integers(POINTWISE_FMOD, INT64_MIN, -1, &s, why), 0);
	CHECK_EQ(integers(POINTWISE_GCD, INT64_MIN, 12, &s, why), 4);
	integers(POINTWISE_MOD, 1, 0, &s, why);
	CHECK_EQ(s, STATUS_DIAGNOSTICS);
	integers(POINTWISE_POW, 0, -1, &s, why);
	CHECK_EQ(s, STATUS_DIAGNOSTICS);
	/* u8 wraps on store; a mean in bf16 rounds once; NaN wins. */
	uint8_t u[2] = {200, 100}, v[2];
	int64_t n = 2;
	struct rt_task t = {
	    .kernel = RT_TASK_POINTWISE, .op = POINTWISE_ADD, .out = rt_view_dense(v, DTYPE_U8, 1, &n)};
	t.in[0] = t.in[1] = rt_view_dense(u, DTYPE_U8, 1, &n);
	ok(&t);
	CHECK(v[0] == 144 && v[1] == 200);
	float x[2] = {NAN, 1}, y[2] = {1, NAN}, z[2];
	t = (struct rt_task){
	    .kernel = RT_TASK_POINTWISE, .op = POINTWISE_MAXIMUM, .out = rt_view_dense(z, DTYPE_F32, 1, &n)};
	t.in[0] = rt_view_dense(x, DTYPE_F32, 1, &n);
	t.in[1] = rt_view_dense(y, DTYPE_F32, 1, &n);
	ok(&t);
	CHECK(isnan(z[0]) && isnan(z[1]));
}

static void test_reduce(void)
{
	static const enum dtype types[] = {DTYPE_F64, DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_I64, DTYPE_I32};
	for (int round = 0; round < 400; round++) {
		int nd = 1 + (int)(next() % 4);
		int64_t n[RT_MAX_DIMS], m[RT_MAX_DIMS], index[RT_MAX_DIMS] = {0};
		random_extents(n, nd);
		enum dtype t = types[next() % 6];
		enum reduce_op op = (next() % REDUCE_COUNT);
		unsigned axes = next() % (1u << nd);
		int64_t removed = 1;
		for (int d = 0; d < nd; d++) {
			m[d] = axes >> d & 1 ? 1 : n[d];
			removed *= axes >> d & 1 ? n[d] : 1;
		}
		if (removed == 0 || (op == REDUCE_PROD && removed > 30))
			continue;
		struct rt_view in = random_view(t, nd, n, next() % 2), out = random_view(t, nd, m, false);
		fill_random(&in, 2);
		ok(&(struct rt_task){
		    .kernel = RT_TASK_REDUCE, .reduce = op, .axes = axes, .out = out, .in = {in}});
		if (rt_view_count(&out))
			do {
				double acc = 0;
				int64_t inner[RT_MAX_DIMS];
				struct rt_view sub = in;
				bool first = true;
				for (int d = 0; d < nd; d++)
					sub.n[d] = axes >> d & 1 ? n[d] : 1;
				memset(inner, 0, sizeof inner);
				do {
					int64_t full[RT_MAX_DIMS] = {0};
					for (int d = 0; d < nd; d++)
						full[d] = inner[d] + index[d];
					double x = get(&in, full);
					acc = first               ? x
					      : op == REDUCE_PROD ? acc * x
					      : op == REDUCE_MIN  ? fmin(acc, x)
					      : op == REDUCE_MAX  ? fmax(acc, x)
					                          : acc + x;
					first = false;
				} while (step(&sub, inner));
				if (op == REDUCE_AVG)
					acc = dtype_is_float(t) ? acc / (double)removed
					                        : trunc(acc / (double)removed);
				uint64_t want = 0;
				rt_store_f64(t, &want, acc);
				if (get(&out, index) != rt_load_f64(t, &want))
					CHECK(!"reduction");
			} while (step(&out, index));
		free_view(&in);
		free_view(&out);
	}
	/* Over no elements. */
	int64_t none[2] = {2, 0}, one[2] = {2, 1};
	float r[2];
	struct rt_task t = {.kernel = RT_TASK_REDUCE, .axes = 2, .out = rt_view_dense(r, DTYPE_F32, 2, one)};
	t.in[0] = rt_view_dense(NULL, DTYPE_F32, 2, none);
	t.reduce = REDUCE_SUM;
	ok(&t);
	CHECK(r[0] == 0 && r[1] == 0);
	t.reduce = REDUCE_MAX;
	ok(&t);
	CHECK(r[0] == -INFINITY);
	t.reduce = REDUCE_AVG;
	ok(&t);
	CHECK(isnan(r[1]));
}

/* Returns the elements of v, in order. */
static double *contents(const struct rt_view *v)
{
	int64_t index[RT_MAX_DIMS] = {0}, at = 0;
	double *list = malloc(sizeof *list * (size_t)(rt_view_count(v) + 1));
	if (rt_view_count(v))
		do
			list[at++] = get(v, index);
		while (step(v, index));
	return list;
}

static void gemm_case(enum dtype t, enum dtype result)
{
	int batch = (int)(next() % 3), nd = batch + 2;
	int64_t an[RT_MAX_DIMS], bn[RT_MAX_DIMS], cn[RT_MAX_DIMS], index[RT_MAX_DIMS] = {0};
	int64_t m = next() % 10, n = next() % 10, k = next() % 12;
	for (int d = 0; d < batch; d++)
		an[d] = bn[d] = cn[d] = 1 + next() % 3;
	an[batch] = cn[batch] = m;
	an[batch + 1] = bn[batch] = k;
	bn[batch + 1] = cn[batch + 1] = n;
	bool dense = next() % 2;
	struct rt_view a = random_view(t, nd, an, !dense && next() % 4 == 0),
	               b = random_view(t, nd, bn, false);
	struct rt_view c = random_view(result, nd, cn, false), bias = random_view(t, nd, cn, false), ma = a,
	               mb = b, mbias = bias;
	if (dense) {
		ma = a = rt_view_dense(a.data, t, nd, an);
		mb = b = rt_view_dense(b.data, t, nd, bn);
		c = rt_view_dense(c.data, result, nd, cn);
	}
	fill_random(&a, 3);
	fill_random(&b, 3);
	fill_random(&bias, 3);
	for (int d = 0; d < batch; d++) {
		if (next() % 2)
			b.stride[d] = 0;
		if (next() % 4 == 0)
			a.stride[d] = 0;
	}
	for (int d = 0; d <= batch; d++) /* the bias is a vector of n */
		bias.stride[d] = 0;
	int kind = (int)(next() % 3);
	struct rt_task task = {.kernel = RT_TASK_GEMM,
	                       .out = c,
	                       .in = {a, b, bias},
	                       .has_bias = kind == 1,
	                       .accumulate = kind == 2};
	fill_random(&c, 3);
	double *before = contents(&c), *old = before;
	ok(&task);
	if (rt_view_count(&c))
		do {
			double want = task.has_bias ? get(&bias, index) : task.accumulate ? *old : 0;
			old++;
			for (int64_t l = 0; l < k; l++) {
				int64_t ai[RT_MAX_DIMS], bi[RT_MAX_DIMS];
				memcpy(ai, index, sizeof ai);
				memcpy(bi, index, sizeof bi);
				ai[batch + 1] = bi[batch] = l;
				want += get(&a, ai) * get(&b, bi);
			}
			uint64_t raw = 0;
			if (dtype_is_float(result))
				rt_store_f64(result, &raw, want);
			else
				rt_store_i64(result, &raw, (int64_t)want);
			if (get(&c, index) != rt_load_f64(result, &raw))
				CHECK(!"gemm");
		} while (step(&c, index));
	free(before);
	free_view(&ma);
	free_view(&mb);
	free_view(&mbias);
	free_view(&c);
}

/* Tests out += a * b where the type of out decides the result. */
static void gemm_accumulates(void)
{
	int64_t one[2] = {1, 1}, none[2] = {1, 0}, gone[2] = {0, 1};
	float a = 1, b = 0x1p-30f;
	double wide = 1;
	struct rt_task t = {.kernel = RT_TASK_GEMM, .accumulate = true};
	t.in[0] = rt_view_dense(&a, DTYPE_F32, 2, one);
	t.in[1] = rt_view_dense(&b, DTYPE_F32, 2, one);
	t.out = rt_view_dense(&wide, DTYPE_F64, 2, one);
	ok(&t);
	CHECK(wide == 1 + 0x1p-30); /* f64 keeps what f32 would lose */

	uint16_t half = bits_f32_to_bf16(1), ax = half, bx = bits_f32_to_bf16(0x1.8p-9f);
	t.in[0] = rt_view_dense(&ax, DTYPE_BF16, 2, one);
	t.in[1] = rt_view_dense(&bx, DTYPE_BF16, 2, one);
	t.out = rt_view_dense(&half, DTYPE_BF16, 2, one);
	ok(&t);
	CHECK(bits_bf16_to_f32(half) == 1);
	int64_t two[2] = {1, 2}, twice[2] = {2, 1};
	uint16_t pair[] = {ax, ax}, parts[] = {bx, bx};
	t.in[0] = rt_view_dense(pair, DTYPE_BF16, 2, two);
	t.in[1] = rt_view_dense(parts, DTYPE_BF16, 2, twice);
	ok(&t);
	CHECK(bits_bf16_to_f32(half) == 1.0078125f); /* rounded once: each part by itself would be lost */

	t.in[0] = rt_view_dense(NULL, DTYPE_BF16, 2, none);
	t.in[1] = rt_view_dense(NULL, DTYPE_BF16, 2, gone);
	ok(&t);
	CHECK(bits_bf16_to_f32(half) == 1.0078125f); /* a sum of nothing */
}

/* Tests products as large as those given to other libraries against f64. All sums are exact, results are
 * rounded once. */
static void large_gemm(int64_t m, enum dtype t, enum dtype result, bool swap_a, bool swap_b, int kind)
{
	int64_t n = 257, k = 260, mk[2] = {m, k}, kn[2] = {k, n}, mn[2] = {m, n}, index[2] = {0};
	int64_t km[2] = {k, m}, nk[2] = {n, k};
	struct rt_view a = random_view(t, 2, swap_a ? km : mk, false),
	               b = random_view(t, 2, swap_b ? nk : kn, false), c = random_view(result, 2, mn, false),
	               bias = random_view(t, 2, mn, false), wide = random_view(DTYPE_F64, 2, mn, false),
	               b_wide = random_view(DTYPE_F64, 2, kn, false);
	fill_random(&a, 3);
	fill_random(&b, 3);
	fill_random(&c, 3);
	fill_random(&bias, 300);
	ok(&(struct rt_task){.kernel = RT_TASK_COPY, .out = wide, .in = {c}});
	struct rt_task task = {
	    .kernel = RT_TASK_GEMM, .out = c, .has_bias = kind == 1, .accumulate = kind == 2};
	task.in[0] = swap_a ? rt_view_swap(a, 0, 1) : a;
	task.in[1] = swap_b ? rt_view_swap(b, 0, 1) : b;
	task.in[2] = bias;
	task.in[2].stride[0] = 0;
	ok(&task);
	ok(&(struct rt_task){.kernel = RT_TASK_COPY, .out = b_wide, .in = {task.in[1]}});
	task.in[1] = b_wide;
	task.out = wide;
	ok(&task);
	do {
		uint64_t raw = 0;
		rt_store_f64(result, &raw, get(&wide, index));
		if (get(&c, index) != rt_load_f64(result, &raw))
			CHECK(!"large gemm");
	} while (step(&c, index));
	free_view(&a);
	free_view(&b);
	free_view(&b_wide);
	free_view(&c);
	free_view(&bias);
	free_view(&wide);
}

static void test_gemm(void)
{
	static const enum dtype types[] = {DTYPE_F64,    DTYPE_F32,    DTYPE_BF16, DTYPE_F16,
	                                   DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_I64,  DTYPE_I32};
	for (int round = 0; round < 100; round++)
		for (size_t i = 0; i < sizeof types / sizeof *types; i++)
			gemm_case(types[i], types[i]);
	for (int round = 0; round < 100; round++)
		gemm_case(DTYPE_BF16, DTYPE_F32);
	gemm_accumulates();
	for (unsigned i = 0; i < 24; i++) {
		large_gemm(256, DTYPE_F32, DTYPE_F32, i & 1, i & 2, (int)(i >> 2) % 3);
		large_gemm(256, DTYPE_BF16, i & 4 ? DTYPE_BF16 : DTYPE_F32, i & 1, i & 2, (int)(i >> 3));
	}
	for (unsigned i = 0; i < 12; i++) /* sizes at which no operand is copied */
		large_gemm(96, DTYPE_F32, i & 8 ? DTYPE_BF16 : DTYPE_F32, false, i & 1, (int)(i >> 1) % 3);
	for (unsigned i = 0; i < 6; i++) { /* numbers of rows from which on b is copied into a better order */
		large_gemm(1024, DTYPE_F32, DTYPE_F32, false, i & 1, (int)(i >> 1));
		large_gemm(1024, DTYPE_BF16, DTYPE_BF16, false, i & 1, (int)(i >> 1));
	}
}

static size_t bytes_in_use(void)
{
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

/* Memory that a product keeps for the next one is allocated when it is prepared. */
static void test_prepared(void)
{
	enum { SIDE = 512 };
	static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
	for (unsigned i = 0; i < 8; i++) {
		enum dtype t = i & 1 ? DTYPE_BF16 : DTYPE_F32;
		int64_t rows[2] = {i & 2 ? SIDE : SIDE / 4, SIDE}, all[2] = {SIDE, SIDE};
		struct rt_task task = {.kernel = RT_TASK_GEMM, .out = rt_view_dense(NULL, t, 2, rows)};
		task.in[0] = rt_view_dense(NULL, t, 2, rows);
		task.in[1] = rt_view_dense(NULL, t, 2, all);
		if (i & 4)
			task.in[1] = rt_view_swap(task.in[1], 0, 1);
		rt_device_prepare(device, RT_COMPUTE_LANE, &task);
		task.out.data = c, task.in[0].data = a, task.in[1].data = b;
		size_t before = bytes_in_use();
		ok(&task);
		CHECK(bytes_in_use() <= before + 4096);
	}
}

/* special: the first element, if it is not 0. */
static void softmax_case(enum dtype t, int64_t rows, int64_t n, float special)
{
	int64_t extents[2] = {rows, n}, index[2] = {0};
	struct rt_view in = random_view(t, 2, extents, false), out = random_view(t, 2, extents, false);
	double sum = 0, most = 0;
	fill_random(&in, 9);
	if (special != 0)
		rt_store_f64(t, at(&in, index), special);
	ok(&(struct rt_task){.kernel = RT_TASK_SOFTMAX, .out = out, .in = {in}, .axes = 1});
	do {
		if (index[1] == 0) {
			most = -INFINITY, sum = 0;
			for (int64_t l = 0; l < n; l++) {
				double x = get(&in, (int64_t[]){index[0], l});
				most = x > most || x != x ? x : most;
			}
			for (int64_t l = 0; l < n; l++)
				sum += exp(get(&in, (int64_t[]){index[0], l}) - most);
		}
		double want = exp(get(&in, index) - most) / sum, got = get(&out, index);
		if (want != want ? got == got : !(fabs(got - want) <= (t == DTYPE_BF16 ? 1e-2 : 1e-6)))
			CHECK(!"softmax");
	} while (step(&out, index));
	free_view(&in);
	free_view(&out);
}

/* Attention of q [2, rows, e] to k [2, keys, e] and v [2, keys, f]; both batches share k if it is
 * broadcast. */
static void attention_case(enum dtype t, const int64_t *n, bool causal, int64_t first, bool broadcast)
{
	int64_t rows = n[0], keys = n[1], e = n[2], f = n[3], index[3] = {0};
	struct rt_view q = random_view(t, 3, (const int64_t[]){2, rows, e}, true),
	               k = random_view(t, 3, (const int64_t[]){2, keys, e}, true),
	               v = random_view(t, 3, (const int64_t[]){2, keys, f}, true),
	               out = random_view(t, 3, (const int64_t[]){2, rows, f}, false);
	double *weight = calloc((size_t)keys + 1, sizeof *weight), sum = 0, scale = -0.25;
	fill_random(&q, 9);
	fill_random(&k, 9);
	fill_random(&v, 9);
	struct rt_view seen = k;
	if (broadcast)
		seen.stride[0] = 0;
	ok(&(struct rt_task){
	    .kernel = RT_TASK_ATTENTION,
	    .out = out,
	    .in = {q, seen, v},
	    .scalars = 1u << RT_ATTENTION_MASK | 1u << RT_ATTENTION_LOGS | 1u << RT_ATTENTION_SCALE |
	               (unsigned)causal << RT_ATTENTION_FIRST,
	    .scalar = {[RT_ATTENTION_SCALE] = {.f = scale}, [RT_ATTENTION_FIRST] = {.i = first}}});
	do {
		int64_t sees = causal && first + index[1] + 1 < keys ? first + index[1] + 1 : keys;
		double want = 0, most = -INFINITY, got = get(&out, index);
		for (int64_t j = 0; j < sees && index[2] == 0; j++) {
			weight[j] = 0;
			for (int64_t l = 0; l < e; l++)
				weight[j] += scale * get(&q, (int64_t[]){index[0], index[1], l}) *
				             get(&seen, (int64_t[]){index[0], j, l});
			most = fmax(most, weight[j]);
		}
		for (int64_t j = 0; j < sees && index[2] == 0; j++)
			sum = (j ? sum : 0) + (weight[j] = exp(weight[j] - most));
		for (int64_t j = 0; j < sees; j++)
			want += weight[j] / sum * get(&v, (int64_t[]){index[0], j, index[2]});
		if (!(fabs(got - want) <= (t == DTYPE_BF16 ? 1e-2 : 1e-5) * fmax(1, fabs(want))))
			CHECK(!"attention");
	} while (step(&out, index));
	free(weight);
	free_view(&q);
	free_view(&k);
	free_view(&v);
	free_view(&out);
}

/* Blocks have 256 rows and 512 keys. */
static void test_attention(void)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16};
	for (int i = 0; i < 3; i++) {
		attention_case(types[i], (const int64_t[]){5, 7, 3, 4}, false, 0, false);
		attention_case(types[i], (const int64_t[]){260, 1030, 2, 3}, true, 300, true);
		attention_case(types[i], (const int64_t[]){300, 520, 4, 2}, true, 0, false);
		attention_case(types[i], (const int64_t[]){3, 600, 1, 1}, false, 0, true);
		attention_case(types[i], (const int64_t[]){3, 0, 5, 2}, false, 0, false);
	}
}

static void test_softmax(void)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16};
	for (int i = 0; i < 3; i++) {
		softmax_case(types[i], 11, 131, 0);
		softmax_case(types[i], 21, 70, -INFINITY);
		softmax_case(types[i], 3, 1, -INFINITY); /* the first row is all -inf */
		softmax_case(types[i], 3, 5, NAN);
	}
}

/* The first product by BLAS finds its pages present. */
static void test_warm(void)
{
	enum { SIDE = 256, MOST_FAULTS = 20 };
	static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
	const int64_t all[2] = {SIDE, SIDE};
	struct rusage before, after;
	struct rt_task task = {.kernel = RT_TASK_GEMM, .out = rt_view_dense(c, DTYPE_F64, 2, all)};
	task.in[0] = rt_view_dense(a, DTYPE_F64, 2, all);
	task.in[1] = rt_view_dense(b, DTYPE_F64, 2, all);
	memset(a, 0, sizeof a), memset(b, 0, sizeof b), memset(c, 0, sizeof c);
	rt_device_prepare(device, RT_COMPUTE_LANE, &task);
	getrusage(RUSAGE_SELF, &before);
	ok(&task);
	getrusage(RUSAGE_SELF, &after);
	CHECK(!TEST_FAULTS || after.ru_minflt - before.ru_minflt < MOST_FAULTS);
}

static double function(enum pointwise op, double x)
{
	if (x == -INFINITY && (op == POINTWISE_GELU || op == POINTWISE_GELU_TANH || op == POINTWISE_SILU))
		return -0.0;
	return op == POINTWISE_EXP         ? exp(x)
	       : op == POINTWISE_LOG       ? log(x)
	       : op == POINTWISE_SIN       ? sin(x)
	       : op == POINTWISE_COS       ? cos(x)
	       : op == POINTWISE_TANH      ? tanh(x)
	       : op == POINTWISE_GELU      ? 0.5 * x * (1 + erf(x * sqrt(0.5)))
	       : op == POINTWISE_GELU_TANH ? 0.5 * x * (1 + tanh(sqrt(M_2_PI) * (x + 0.044715 * x * x * x)))
	       : op == POINTWISE_SILU      ? x / (1 + exp(-x))
	       : op == POINTWISE_SIGMOID   ? 1 / (1 + exp(-x))
	       : op == POINTWISE_SQRT      ? sqrt(x)
	                                   : 1 / sqrt(x);
}

/* Functions of special and other values are right, and do not depend on the place in a row. */
static void test_functions(void)
{
	static const enum pointwise ops[] = {POINTWISE_EXP,   POINTWISE_LOG,      POINTWISE_SIN,
	                                     POINTWISE_COS,   POINTWISE_TANH,     POINTWISE_GELU,
	                                     POINTWISE_SILU,  POINTWISE_SIGMOID,  POINTWISE_SQRT,
	                                     POINTWISE_RSQRT, POINTWISE_GELU_TANH};
	static const double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 88.5, -80, 1e-30, 3e4};
	enum { SPECIAL = sizeof special / sizeof *special, MOST = 300 };
	for (int round = 0; round < 200; round++) {
		enum pointwise op = ops[round % 11];
		enum dtype t = round % 3 == 0 ? DTYPE_F64 : DTYPE_F32;
		int64_t n = round < 100 ? 1 + round % 40 : 1 + (int64_t)(next() % MOST);
		struct rt_view in = random_view(t, 1, &n, false), out = random_view(t, 1, &n, false);
		struct rt_view one = rt_view_slice(in, 0, 0, 1), alone = random_view(t, 1, one.n, false);
		for (int64_t i = 0; i < n; i++)
			rt_store_f64(t, at(&in, &i),
			             next() % 4 ? (next() % 4000) / 200.0 - 10 : special[next() % SPECIAL]);
		ok(&(struct rt_task){.kernel = RT_TASK_POINTWISE, .op = op, .out = out, .in = {in}});
		for (int64_t i = 0; i < n; i++) {
			double x = get(&in, &i), want = function(op, x), got = get(&out, &i);
			double most = 8 * (t == DTYPE_F64 ? 0x1p-53 : 0x1p-24) *
			              (op == POINTWISE_GELU || op == POINTWISE_GELU_TANH ? fabs(x)
			               : op == POINTWISE_SIN || op == POINTWISE_COS      ? 1
			                                                                 : fabs(want));
			CHECK(isnan(want)
			          ? isnan(got)
			          : got == want || fabs(got - want) <= most + (t == DTYPE_F64 ? 0 : 1e-44));
			CHECK(!isinf(x) || isnan(want) || !signbit(got) == !signbit(want));
			one = rt_view_slice(in, 0, i, 1);
			ok(&(struct rt_task){
			    .kernel = RT_TASK_POINTWISE, .op = op, .out = alone, .in = {one}});
			CHECK(!memcmp(alone.data, at(&out, &i), dtype_bytes(t)) || isnan(want));
		}
		free_view(&in);
		free_view(&out);
		free_view(&alone);
	}
}

/* Copies large enough for tiles, with all orders of axes. */
static void test_transposition(void)
{
	for (int round = 0; round < 60; round++) {
		int64_t n[3] = {1 + next() % 3, 1 + next() % 150, 1 + next() % 150}, index[3] = {0};
		enum dtype from = (next() % DTYPE_COUNT), to = next() % 2 ? from : (next() % DTYPE_COUNT);
		struct rt_view in = random_view(from, 3, n, next() % 2),
		               out = random_view(to, 3, n, next() % 2);
		fill_random(&in, 100);
		ok(&(struct rt_task){.kernel = RT_TASK_COPY, .out = out, .in = {in}});
		do {
			uint64_t want = 0;
			if (dtype_is_float(from))
				rt_store_f64(to, &want, get(&in, index));
			else
				rt_store_i64(to, &want, rt_load_i64(from, at(&in, index)));
			if (memcmp(&want, at(&out, index), dtype_bytes(to)) != 0)
				CHECK(!"transposition");
		} while (step(&out, index));
		free_view(&in);
		free_view(&out);
	}
}

static void test_fill(void)
{
	int64_t n[2] = {3, 5};
	struct rt_view v = random_view(DTYPE_BF16, 2, n, true);
	CHECK(isnan(get(&v, (int64_t[]){0, 0}))); /* fresh memory is poisoned */
	ok(&(struct rt_task){.kernel = RT_TASK_FILL, .out = v, .scalar = {{.f = 1.5}}});
	CHECK(get(&v, (int64_t[]){2, 4}) == 1.5);
	ok(&(struct rt_task){
	    .kernel = RT_TASK_IOTA, .out = v, .scalar = {{.f = 1, .i = 1}, {.f = 2, .i = 2}}, .axes = 1});
	CHECK(get(&v, (int64_t[]){2, 0}) == 1 && get(&v, (int64_t[]){0, 4}) == 9);
	free_view(&v);
	CHECK_EQ(device->bytes_now, 0);
	CHECK(device->bytes_peak > 0);
	void *big = NULL;
	CHECK_EQ(rt_device_alloc(device, 0, "it", &big), STATUS_OK);
	CHECK(big != NULL);
	rt_device_free(device, big);
}

/* Compares with the published numbers of Philox4x32-10 for the key and the counter 0. */
static void test_uniform(void)
{
	static const uint32_t word[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
	int64_t n[1] = {4};
	for (int type = 0; type < 2; type++) {
		struct rt_view v = random_view(type ? DTYPE_F64 : DTYPE_F32, 1, n, true);
		struct rt_task t = {.kernel = RT_TASK_UNIFORM,
		                    .out = v,
		                    .in = {{.nd = 1, .n = {4}, .stride = {1}}},
		                    .scalars = 7};
		ok(&t);
		for (int64_t i = 0; i < (type ? 2 : 4); i++) {
			double want =
			    type ? (double)(((uint64_t)word[2 * i + 1] << 32 | word[2 * i]) >> 11) * 0x1p-53
			         : (double)(word[i] >> 8) * 0x1p-24;
			CHECK(get(&v, &i) == want);
		}
		free_view(&v);
	}
}

static int rank_main(struct rt_job *job, void *arg)
{
	(void)arg;
	if (rt_device_open(job, "cpu", &device) != STATUS_OK)
		return STATUS_ABSENT;
	test_warm(); /* before any other product */
	test_copy();
	test_transposition();
	test_fill();
	test_uniform();
	test_pointwise();
	test_functions();
	test_integers();
	test_reduce();
	test_prepared();
	test_gemm();
	test_softmax();
	test_attention();
	rt_device_close(device);
	return 0;
}

int main(void)
{
	CHECK_EQ(launch(RT_BOOT_THREAD, 1, 0, rank_main, NULL), STATUS_OK);
	return check_result();
}
