/* Fusion-level programs: operations on logical tensors. */
#include "test_ref_program.h"

/* Runs one program; returns its first output. */
static struct ran one(const char *text, const char *file, int line)
{
	struct ran r = run(text);
	check_runs(&r, file, line);
	return r;
}
#define ONE(text) one((text), __FILE__, __LINE__)

static void check_values(const char *text, const double *want, int64_t n, const char *file, int line)
{
	struct ran r = one(text, file, line);
	if (r.n)
		check_equal(count_of(&r.out[0]), n, file, line, "elements");
	for (int64_t i = 0; r.n && i < n && i < count_of(&r.out[0]); i++) {
		bool ok =
		    fabs(r.out[0].data[i] - want[i]) <= 1e-6 * fabs(want[i]) || r.out[0].data[i] == want[i];
		check_that(ok && r.out[0].state[i] == REF_DEFINED, file, line, "value");
		if (!ok)
			printf("    element %lld: got %.9g, want %.9g\n", (long long)i, r.out[0].data[i],
			       want[i]);
	}
	ran_free(&r);
}
#define CHECK_VALUES(text, ...)                                                                              \
	check_values((text), (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8,       \
	             __FILE__, __LINE__)

/* Returns true if every run must give these elements. */
static bool is_exact(const struct ref_array *a)
{
	int64_t count = 1;
	for (int k = 0; k < a->nd; k++)
		count *= a->n[k];
	for (int64_t i = 0; i < count; i++)
		if (a->error[i] > 0)
			return false;
	return true;
}

static void contractions(void)
{
	struct ran r = ONE("mesh m(x = 2)\nprogram p on m {\n  input A: f32[3, 4@x]\n  input B: f32[4@x, 5]\n"
	                   "  C: f32[3, 5] partial(x) = matmul(A, B)\n  output D: f32[3@x, 5] = C\n}\n");
	for (int64_t i = 0; r.n && i < 15; i++) {
		double want = 0;
		for (int64_t k = 0; k < 4; k++)
			want += test_value(0, i / 5 * 4 + k) * test_value(1, k * 5 + i % 5);
		CHECK(r.out[0].data[i] == want);
	}
	CHECK(r.n && is_exact(&r.out[0])); /* the parts of the sums are exact, too */
	ran_free(&r);
	r = ONE("program p {\n  input X: bf16[2, 3]\n  input W: bf16[4, 3]\n  input B: bf16[4]\n  output Y: "
	        "bf16[2, 4] = linear(X, W, B)\n}\n");
	for (int64_t i = 0; r.n && i < 8; i++) {
		double want = test_value(2, i % 4);
		for (int64_t k = 0; k < 3; k++)
			want += test_value(0, i / 4 * 3 + k) * test_value(1, i % 4 * 3 + k);
		CHECK(r.out[0].data[i] == want);
	}
	ran_free(&r);
	/* batches broadcast */
	r = ONE("program p {\n  input A: f32[2, 1, 2, 3]\n  input B: f32[4, 3, 2]\n  output C: f32[2, 4, 2, "
	        "2] = matmul(A, B)\n}\n");
	for (int64_t i = 0; r.n && i < 32; i++) {
		int64_t b = i / 16, c = i / 4 % 4, row = i / 2 % 2, column = i % 2;
		double want = 0;
		for (int64_t k = 0; k < 3; k++)
			want +=
			    test_value(0, (b * 2 + row) * 3 + k) * test_value(1, (c * 3 + k) * 2 + column);
		CHECK(r.out[0].data[i] == want);
	}
	ran_free(&r);
}

static void pointwise(void)
{
	CHECK_VALUES("program p {\n  input X: f32[4]\n  output Y = (X + 1.0) * 2.0\n}\n", -6, 8, 4, 2);
	CHECK_VALUES("program p {\n  input X: i32[4]\n  output Y = div(X, 2)\n}\n", -2, 1, 0, 0);
	CHECK_VALUES("program p {\n  input X: i32[4]\n  output Y = mod(X, 3)\n}\n", 2, 0, 1, 0);
	CHECK_VALUES("program p {\n  input X: f32[4]\n  output Y = maximum(relu(X), abs(X))\n}\n", 4, 3, 1,
	             0);
	CHECK_VALUES(
	    "program p {\n  input X: f32[4]\n  input Z: f32[4]\n  output Y = where(X < Z, X, Z)\n}\n", -4, -1,
	    -3, -4);
	CHECK_VALUES("program p {\n  input X: f32[4]\n  output Y: i8[4] = cast(X * 0.5)\n}\n", -2, 1, 0, 0);
	CHECK_VALUES("program p {\n  X: f32[2, 3] = iota()\n  R: f32[3] = iota()\n  output Y = X * R\n}\n", 0,
	             1, 4, 0, 1, 4);
	CHECK_VALUES("program p {\n  output Y: bf16[2] = full(0.1)\n}\n", 0.10009765625, 0.10009765625);
}

static void shapes(void)
{
	CHECK_VALUES(
	    "program p {\n  X: f32[6] = iota()\n  output Y = permute(reshape(X, [2, 3]), (1, 0))\n}\n", 0, 3,
	    1, 4, 2, 5);
	CHECK_VALUES("program p {\n  X: f32[4] = iota()\n  output Y = cat(slice(X, axis=0, start=2, stop=4), "
	             "X, axis=0)\n}\n",
	             2, 3, 0, 1, 2, 3);
	CHECK_VALUES(
	    "program p {\n  X: f32[2] = iota()\n  output Y = pad(X + 1.0, axis=0, before=1, after=2)\n}\n", 0,
	    1, 2, 0, 0);
	CHECK_VALUES("program p {\n  X: f32[2] = iota()\n  output Y = broadcast(X, shape=[2, 2])\n}\n", 0, 1,
	             0, 1);
	CHECK_VALUES("program p {\n  X: f32[2, 3] = iota()\n  output Y = sum(X, axis=0)\n}\n", 0, 2, 4);
	CHECK_VALUES("program p {\n  X: f32[2, 3] = iota()\n  output Y = mean(X, axis=1, keepdims=true)\n}\n",
	             1, 1);
	CHECK_VALUES("program p {\n  X: i32[2, 3] = iota()\n  output Y = prod(X + 1, axis=(0, 1))\n}\n", 36);
	CHECK_VALUES("program p {\n  X: f32[2, 3] = iota()\n  output Y = max(neg(X))\n}\n", 0);
}

static void norms(void)
{
	double e = exp(1), z = 1 + e + e * e;
	CHECK_VALUES("program p {\n  X: f32[3] = iota()\n  output Y = softmax(X)\n}\n", 1 / z, e / z,
	             e * e / z);
	CHECK_VALUES("program p {\n  X: f32[2, 2] = iota()\n  output Y = softmax(X, axis=0)\n}\n", 0.5, 0.5,
	             0.5, 0.5);
	double n = 1 / sqrt(2.0 / 3 + 1e-5), q = 1 / sqrt(5.0 / 3 + 1e-5);
	CHECK_VALUES("program p {\n  X: f32[3] = iota()\n  output Y = layernorm(X)\n}\n", -n, 0, n);
	CHECK_VALUES(
	    "program p {\n  X: f32[3] = iota()\n  W: f32[3] = full(2.0)\n  output Y = rmsnorm(X, W)\n}\n", 0,
	    2 * q, 4 * q);
	/* causal: the first row uses only the first value; with equal keys the others are averages */
	CHECK_VALUES("program p {\n  Q: f32[1, 1, 2, 2] = full(1.0)\n  V: f32[1, 1, 2, 2] = full(3.0)\n  "
	             "output Y = sdpa(Q, Q, V, causal=true)\n}\n",
	             3, 3, 3, 3);
}

static void collectives(void)
{
	CHECK_VALUES("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4@x]\n  output Y: f32[4] = "
	             "allgather(X, axis=x)\n}\n",
	             -4, 3, 1, 0);
	CHECK_VALUES(
	    "mesh m(x = 2)\nprogram p on m {\n  input X: f32[4]\n  output Y = allreduce(X, axis=x)\n}\n", -8,
	    6, 2, 0);
	CHECK_FAILS("mesh m(x = 2)\nprogram p on m {\n  input X: f32[4@x]\n  output Y: f32[4@x] = "
	            "allreduce(X, axis=x)\n}\n",
	            STATUS_DIAGNOSTICS, "allreduce of a tensor that is spread over its team");
	/* a pending input is the sum of its parts, which are the last dimension of its data */
	CHECK_VALUES(
	    "mesh m(x = 2)\nprogram p on m {\n  input X: f32[2] partial(x)\n  output Y: f32[2] = X\n}\n", -1,
	    1);
	CHECK_FAILS("program p {\n  input X: f32[4]\n  output Y: f32[4] = extern \"f\"(X)\n}\n",
	            STATUS_DIAGNOSTICS, "3:3: error: extern \"f\" cannot be evaluated");
	CHECK_VALUES("program p {\n  inout X: f32[2]\n  X <- add(X, 1.0)\n}\n", -3, 4);
}

static void exactness(void)
{
	struct ran r = ONE("mesh m(x = 2)\nprogram p on m {\n  input A: bf16[2, 4096@x]\n  input B: "
	                   "bf16[4096@x, 2]\n  output C: bf16[2, 2] = matmul(A, B)\n}\n");
	CHECK(r.n && !is_exact(&r.out[0])); /* the parts of the sum do not fit in bf16 */
	ran_free(&r);
	r = ONE("program p {\n  input A: bf16[2, 16]\n  input B: bf16[16, 2]\n  output C: bf16[2, 2] = "
	        "matmul(A, B)\n}\n");
	CHECK(r.n && is_exact(&r.out[0]));
	ran_free(&r);
	r = ONE("program p {\n  input A: f32[4]\n  output C = exp(A)\n}\n");
	CHECK(r.n && !is_exact(&r.out[0]));
	ran_free(&r);
	r = ONE("program p {\n  input A: f32[4]\n  output C = A / 3.0\n}\n");
	CHECK(r.n && is_exact(&r.out[0]));
	ran_free(&r);
}

int main(void)
{
	contractions();
	pointwise();
	shapes();
	norms();
	collectives();
	exactness();
	return check_result();
}
