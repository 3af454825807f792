/* Accuracy of the functions of the CPU device, for values of all magnitudes. */
#include "rt/device.h"
#include "test_rt.h"
#include <float.h>
#include <math.h>

enum { N = 4000 };

static uint32_t seed = 1;

static uint32_t next(void)
{
	return (seed = seed * 1664525 + 1013904223) >> 8;
}

static struct rt_device *device;

static void run(enum pointwise op, enum dtype t, int64_t n, void *out, void *a, void *b)
{
	char why[RT_WHY_BYTES];
	struct rt_task task = {.kernel = RT_TASK_POINTWISE,
	                       .op = op,
	                       .out = rt_view_dense(out, t, 1, &n),
	                       .in = {rt_view_dense(a, t, 1, &n), rt_view_dense(b, t, 1, &n)}};
	CHECK_EQ(rt_device_run(device, 0, &task, why), STATUS_OK);
}

static long double function(enum pointwise op, long double x)
{
	return op == POINTWISE_EXP    ? expl(x)
	       : op == POINTWISE_LOG  ? logl(x)
	       : op == POINTWISE_SIN  ? sinl(x)
	       : op == POINTWISE_COS  ? cosl(x)
	       : op == POINTWISE_TANH ? tanhl(x)
	       : op == POINTWISE_GELU ? 0.5L * x * erfcl(-x * sqrtl(0.5L))
	       : op == POINTWISE_GELU_TANH
	           ? x / (1 + expl(-2 * sqrtl(2 / 3.14159265358979323846L) * (x + 0.044715L * x * x * x)))
	       : op == POINTWISE_SILU ? x / (1 + expl(-x))
	                              : 1 / (1 + expl(-x));
}

/* Returns the error in units in the last place of the value. */
static double error_of(enum dtype t, double got, long double want)
{
	int digits = t == DTYPE_F64 ? 53 : 24, least = t == DTYPE_F64 ? -1021 : -125, e;
	long double rounded = t == DTYPE_F64 ? (double)want : (float)want; /* infinity if it is too large */
	frexpl(want, &e);
	if (isnan(want))
		return isnan(got) ? 0 : INFINITY;
	if (isinf(rounded))
		return got == rounded ? 0 : INFINITY;
	return (double)fabsl((got - want) / ldexpl(1, (e < least ? least : e) - digits));
}

/* f32 is exact to ten digits before it is rounded; f64 has an error of a few units. */
static void test_functions(void)
{
	static const struct {
		enum pointwise op;
		enum dtype t;
		double least, most; /* exponents of operands */
		double error;
	} of[] = {
	    {POINTWISE_LOG, DTYPE_F32, -149, 128, 0.501}, {POINTWISE_SIN, DTYPE_F32, -149, 128, 0.501},
	    {POINTWISE_COS, DTYPE_F32, -149, 128, 0.501}, {POINTWISE_EXP, DTYPE_F32, -60, 8, 0.501},
	    {POINTWISE_TANH, DTYPE_F32, -60, 8, 0.501},   {POINTWISE_SILU, DTYPE_F32, -60, 6, 0.501},
	    {POINTWISE_GELU, DTYPE_F32, -60, 2, 0.501},   {POINTWISE_GELU_TANH, DTYPE_F32, -60, 2, 0.501},
	    {POINTWISE_GELU_TANH, DTYPE_F64, -80, 2, 60}, {POINTWISE_EXP, DTYPE_F64, -80, 11, 1.5},
	    {POINTWISE_TANH, DTYPE_F64, -80, 11, 3},      {POINTWISE_SILU, DTYPE_F64, -80, 9, 3},
	    {POINTWISE_SIGMOID, DTYPE_F64, -80, 9, 3},    {POINTWISE_GELU, DTYPE_F64, -80, 5, 7}};
	static union {
		float f32[N];
		double f64[N];
	} in, out;
	for (unsigned k = 0; k < sizeof of / sizeof *of; k++) {
		enum dtype t = of[k].t;
		double worst = 0;
		for (int i = 0; i < N; i++) {
			double u = next() / 0x1p24, x = exp2(of[k].least + (of[k].most - of[k].least) * u);
			x = (i % 2 ? x : 8 * u) * (next() % 2 ? 1 : -1);
			rt_store_f64(t, t == DTYPE_F64 ? (void *)&in.f64[i] : &in.f32[i], x);
		}
		run(of[k].op, t, N, &out, &in, &in);
		for (int i = 0; i < N; i++) {
			double x = t == DTYPE_F64 ? in.f64[i] : in.f32[i],
			       y = t == DTYPE_F64 ? out.f64[i] : out.f32[i];
			worst = fmax(worst, error_of(t, y, function(of[k].op, x)));
		}
		if (t == DTYPE_F32 || LDBL_MANT_DIG > DBL_MANT_DIG)
			CHECK(worst <= of[k].error);
	}
}

static void test_powers(void)
{
	static const float special[] = {0,      -0.0f, 1,    -1,    2,        -2,        0.5f,     -0.5f,
	                                3,      -3,    2.5f, -2.5f, 1e30f,    -7,        1e-42f,   -1e-42f,
	                                -1e30f, 1e38f, 1.1f, NAN,   INFINITY, -INFINITY, 16777215, -16777216};
	enum { SPECIAL = sizeof special / sizeof *special, COUNT = N + SPECIAL * SPECIAL };
	static float a[COUNT], b[COUNT], out[COUNT];
	for (int i = 0; i < COUNT; i++) {
		double drawn = exp2(next() / 0x1p20 - 8) * (next() % 2 ? 1 : -1);
		a[i] = i >= N ? special[(i - N) % SPECIAL] : (float)drawn;
		b[i] = i >= N  ? special[(i - N) / SPECIAL]
		       : i % 2 ? (float)(i % 41 - 20)
		               : (float)(drawn / 9);
	}
	run(POINTWISE_POW, DTYPE_F32, COUNT, out, a, b);
	for (int i = 0; i < COUNT; i++) {
		double want = pow(a[i], b[i]);
		CHECK(error_of(DTYPE_F32, out[i], want) <= 0.501);
		CHECK(isnan(want) || !signbit(want) == !signbit(out[i]));
	}
}

static int rank_main(struct rt_job *job, void *arg)
{
	(void)arg;
	if (rt_device_open(job, "cpu", &device) != STATUS_OK)
		return STATUS_ABSENT;
	test_functions();
	test_powers();
	rt_device_close(device);
	return 0;
}

int main(void)
{
	CHECK_EQ(launch(RT_BOOT_THREAD, 1, 0, rank_main, NULL), STATUS_OK);
	return check_result();
}
