/* Contractions as column-major products: loops compute the result of cuda_gemm_shape, compared with the
 * device "cpu"; and the shapes found for typical programs. */
#include "cuda/gemm_shape.h"
#include "test_cuda_gemm.h"
#include <stdarg.h>

static double element(enum dtype type, const char *at, int64_t i)
{
	return rt_load_f64(type, at + i * (int64_t)dtype_bytes(type));
}

/* Returns the offset of element (row, col) of op of a column-major matrix. */
static int64_t offset(int64_t lead, bool transposed, int64_t row, int64_t col)
{
	return transposed ? row * lead + col : row + col * lead;
}

static void multiply(const struct cuda_gemm_key *k, char *const at[], int64_t batch)
{
	int64_t first[CUDA_GEMM_OPERANDS];
	for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
		first[o] = batch * k->batch_stride[o];
	for (int64_t col = 0; col < k->cols; col++)
		for (int64_t row = 0; row < k->rows; row++) {
			int64_t d = first[CUDA_GEMM_D] + offset(k->lead[CUDA_GEMM_D], false, row, col);
			double sum = k->accumulate ? element(k->dtype[CUDA_GEMM_D], at[CUDA_GEMM_D], d) : 0;
			for (int64_t i = 0; i < k->inner; i++)
				sum +=
				    element(k->dtype[CUDA_GEMM_A], at[CUDA_GEMM_A],
				            first[CUDA_GEMM_A] + offset(k->lead[CUDA_GEMM_A],
				                                        k->transposed[CUDA_GEMM_A], row, i)) *
				    element(k->dtype[CUDA_GEMM_B], at[CUDA_GEMM_B],
				            first[CUDA_GEMM_B] + offset(k->lead[CUDA_GEMM_B],
				                                        k->transposed[CUDA_GEMM_B], i, col));
			if (k->bias)
				sum += element(k->dtype[CUDA_GEMM_BIAS], at[CUDA_GEMM_BIAS],
				               first[CUDA_GEMM_BIAS] + row);
			if (k->addend)
				sum += element(k->dtype[CUDA_GEMM_D], at[CUDA_GEMM_C], d);
			rt_store_f64(k->dtype[CUDA_GEMM_D],
			             at[CUDA_GEMM_D] + d * (int64_t)dtype_bytes(k->dtype[CUDA_GEMM_D]), sum);
		}
}

/* Checks the rules that cuBLASLt has for all products. */
static void check_key(const struct cuda_gemm_key *k)
{
	for (int o = 0; o < CUDA_GEMM_BIAS; o++) {
		int64_t down = o == CUDA_GEMM_B ? k->inner : k->rows,
		        across = o == CUDA_GEMM_A ? k->inner : k->cols;
		bool transposed = o != CUDA_GEMM_D && k->transposed[o];
		CHECK(k->lead[o] >= (transposed ? across : down));
		CHECK(k->batch_stride[o] >= 0);
	}
	CHECK(k->batch >= 1 && (k->batch == 1 || k->batch_stride[CUDA_GEMM_D] > 0));
}

/* Returns the number of launches; 0: cuBLASLt cannot compute it. */
static int64_t try(const enum dtype type[], int unit, struct rt_device *cpu)
{
	struct product p = product_new(type, unit, (int)(next() % 3));
	struct cuda_gemm_shape s = {0};
	char *at[CUDA_GEMM_OPERANDS];
	product_compute(&p, cpu);
	if (cuda_gemm_shape(&p.task, &s)) {
		check_key(&s.key);
		for (int64_t i = 0; i < s.launches; i++) {
			cuda_gemm_operands(&s, i, at);
			for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
				CHECK((uintptr_t)at[o] % s.key.aligned[o] == 0);
			for (int64_t b = 0; b < s.key.batch; b++)
				multiply(&s.key, at, b);
		}
		CHECK(product_is(&p, p.buffer[TEST_OUT]));
	}
	product_free(&p);
	return s.launches;
}

static void test_random(struct rt_device *cpu)
{
	static const enum dtype types[][TEST_OPERANDS] = {
	    {DTYPE_F64, DTYPE_F64, DTYPE_F64, DTYPE_F64},
	    {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},
	    {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
	    {DTYPE_F16, DTYPE_F16, DTYPE_F32, DTYPE_F32},
	    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_BF16, DTYPE_F32},
	    {DTYPE_F8E5M2, DTYPE_F8E4M3, DTYPE_F16, DTYPE_F16},
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		bool narrow = dtype_bytes(types[i][0]) == 1; /* f8 supports few layouts */
		int taken = 0, several = 0, rounds = getenv("HIRC_FEW") ? 150 : 600;
		for (int r = 0; r < rounds; r++) {
			int64_t launches = try(types[i], narrow ? 16 : 1, cpu);
			taken += launches > 0;
			several += launches > 1;
		}
		CHECK(taken > rounds / (narrow ? 30 : 3) && taken < rounds);
		CHECK(several > (narrow ? 0 : rounds / 50));
	}
}

/* ---- shapes by name */

static _Alignas(256) char memory[4096]; /* never read */

static struct rt_view dense(enum dtype t, int nd, ...)
{
	int64_t n[RT_MAX_DIMS];
	va_list list;
	va_start(list, nd);
	for (int i = 0; i < nd; i++)
		n[i] = va_arg(list, int);
	va_end(list);
	return rt_view_dense(memory, t, nd, n);
}

static struct rt_task gemm(struct rt_view out, struct rt_view a, struct rt_view b)
{
	return (struct rt_task){.kernel = RT_TASK_GEMM, .out = out, .in = {a, b}};
}

static bool takes(const struct rt_task *t, struct cuda_gemm_shape *s)
{
	return cuda_gemm_shape(t, s);
}

static void test_linear(void)
{
	struct cuda_gemm_shape s;
	/* linear(X[4, 16, 64], W[128, 64], bias[128]): the batch becomes rows; W in memory is transposed */
	struct rt_task t = gemm(dense(DTYPE_BF16, 3, 4, 16, 128), dense(DTYPE_BF16, 3, 4, 16, 64),
	                        rt_view_expand(rt_view_swap(dense(DTYPE_BF16, 2, 128, 64), 0, 1), 0, 4));
	t.has_bias = true;
	t.in[2] = rt_view_expand(rt_view_expand(dense(DTYPE_BF16, 1, 128), 0, 16), 0, 4);
	CHECK(takes(&t, &s) && s.launches == 1);
	CHECK_EQ(s.key.rows, 128);
	CHECK_EQ(s.key.cols, 64);
	CHECK_EQ(s.key.inner, 64);
	CHECK_EQ(s.key.batch, 1);
	CHECK(s.key.transposed[CUDA_GEMM_A] && !s.key.transposed[CUDA_GEMM_B]);
	CHECK(s.key.bias);
	CHECK_EQ(s.key.lead[CUDA_GEMM_D], 128);
	CHECK_EQ(s.key.aligned[CUDA_GEMM_A], 256);
	/* a bias of another type, with a stride, or not aligned to 16 bytes */
	t.in[2].dtype = DTYPE_F32;
	CHECK(!takes(&t, &s));
	t.in[2].dtype = DTYPE_BF16;
	t.in[2].stride[2] = 2;
	CHECK(!takes(&t, &s));
	t.in[2].stride[2] = 1;
	t.in[2].data = memory + 8;
	CHECK(!takes(&t, &s));
	t.in[2].data = memory + 16;
	CHECK(takes(&t, &s) && s.key.aligned[CUDA_GEMM_BIAS] == 16);
	/* a bias that differs from row to row; with one row it does not matter */
	t.in[2].stride[1] = 128;
	CHECK(!takes(&t, &s));
	t = gemm(dense(DTYPE_BF16, 2, 1, 128), dense(DTYPE_BF16, 2, 1, 64), dense(DTYPE_BF16, 2, 64, 128));
	t.has_bias = true;
	t.in[2] = dense(DTYPE_BF16, 2, 1, 128);
	CHECK(takes(&t, &s));
	/* one row of bias for each matrix: all rows must be aligned to 16 bytes */
	t = gemm(dense(DTYPE_F32, 3, 3, 8, 4), dense(DTYPE_F32, 3, 3, 8, 4), dense(DTYPE_F32, 3, 3, 4, 4));
	t.has_bias = true;
	t.in[2] = t.out, t.in[2].stride[1] = 0, t.in[2].stride[0] = 4;
	CHECK(takes(&t, &s) && s.key.batch == 3 && s.key.batch_stride[CUDA_GEMM_BIAS] == 4);
	t.in[2].stride[0] = 6;
	CHECK(!takes(&t, &s));
	/* a whole matrix, which lies as the result does */
	t.in[2] = t.out;
	CHECK(takes(&t, &s) && s.key.addend && !s.key.bias && s.key.batch == 3);
	t.in[2].stride[1] = 8;
	CHECK(!takes(&t, &s));
	/* a row and a matrix, which must lie as the result does and have its type */
	t.in[2] = t.out, t.in[2].stride[1] = 0, t.in[2].stride[0] = 4;
	t.has_addend = true;
	t.in[3] = t.out;
	CHECK(takes(&t, &s) && s.key.addend && s.key.bias && s.key.batch == 3);
	CHECK(s.key.batch_stride[CUDA_GEMM_BIAS] == 4 && s.key.batch_stride[CUDA_GEMM_C] == 32);
	t.in[3].dtype = DTYPE_BF16;
	CHECK(!takes(&t, &s));
	t.in[3].dtype = DTYPE_F32, t.in[3].stride[1] = 8;
	CHECK(!takes(&t, &s));
}

static void test_batches(void)
{
	struct cuda_gemm_shape s;
	/* heads: [2, 16, 8 heads, 32] as [2, 8, 16, 32]; two batch axes that cannot be joined: the longer one
	 * is the batch */
	struct rt_view heads = rt_view_swap(dense(DTYPE_F32, 4, 2, 16, 8, 32), 1, 2);
	struct rt_task t = gemm(dense(DTYPE_F32, 4, 2, 8, 16, 16), heads, rt_view_swap(heads, 2, 3));
	CHECK(takes(&t, &s));
	CHECK_EQ(s.key.batch, 8);
	CHECK_EQ(s.launches, 2);
	CHECK_EQ(s.key.batch_stride[CUDA_GEMM_A], 32);
	CHECK_EQ(s.key.lead[CUDA_GEMM_A], 256);
	CHECK_EQ(s.axis[0].stride[CUDA_GEMM_D], 8 * 16 * 16 * 4);
	/* all dense: one batch axis */
	t = gemm(dense(DTYPE_F32, 4, 2, 8, 16, 16), dense(DTYPE_F32, 4, 2, 8, 16, 32),
	         dense(DTYPE_F32, 4, 2, 8, 32, 16));
	CHECK(takes(&t, &s) && s.key.batch == 16 && s.launches == 1);
	/* the other operand is broadcast: columns of a transposed result are joined with the batch */
	t = gemm(rt_view_swap(dense(DTYPE_F32, 3, 4, 8, 16), 1, 2),
	         rt_view_expand(rt_view_swap(dense(DTYPE_F32, 2, 32, 16), 0, 1), 0, 4),
	         rt_view_swap(dense(DTYPE_F32, 3, 4, 8, 32), 1, 2));
	CHECK(takes(&t, &s) && s.key.batch == 1 && s.key.rows == 16 && s.key.cols == 32);
	/* a slice of every second row */
	struct rt_view rows = dense(DTYPE_F32, 2, 16, 32);
	rows.n[0] = 8, rows.stride[0] = 64;
	t = gemm(dense(DTYPE_F32, 2, 8, 4), rows, dense(DTYPE_F32, 2, 32, 4));
	CHECK(takes(&t, &s) && s.key.lead[CUDA_GEMM_B] == 64);
	/* a batch that is read backwards: one launch for each matrix */
	t = gemm(dense(DTYPE_F32, 3, 4, 8, 8), dense(DTYPE_F32, 3, 4, 8, 8), dense(DTYPE_F32, 3, 4, 8, 8));
	t.in[0].stride[0] = -64;
	t.in[0].data = memory + 3 * 256;
	CHECK(takes(&t, &s) && s.key.batch == 1 && s.launches == 4 && s.axis[0].stride[CUDA_GEMM_B] == -256);
	/* more launches than are allowed */
	t = gemm(dense(DTYPE_F32, 4, 33, 40, 4, 4), dense(DTYPE_F32, 4, 33, 40, 4, 4),
	         dense(DTYPE_F32, 4, 33, 40, 4, 4));
	CHECK(takes(&t, &s) && s.launches == 1);
	t.in[0] = rt_view_swap(dense(DTYPE_F32, 4, 40, 33, 4, 4), 0, 1);
	CHECK(!takes(&t, &s));
	t = gemm(rt_view_slice(t.out, 0, 0, 32), rt_view_slice(t.in[0], 0, 0, 32),
	         rt_view_slice(t.in[1], 0, 0, 32));
	CHECK(takes(&t, &s) && s.launches == CUDA_GEMM_LAUNCHES && s.key.batch == 40);
}

static void test_vectors(void)
{
	struct cuda_gemm_shape s;
	/* a column is one matrix with one column */
	struct rt_task t =
	    gemm(dense(DTYPE_F32, 2, 64, 1), dense(DTYPE_F32, 2, 64, 32), dense(DTYPE_F32, 2, 32, 1));
	CHECK(takes(&t, &s) && s.key.rows == 64 && s.key.cols == 1 && s.key.lead[CUDA_GEMM_D] == 64);
	/* a bias of one element for all requires rows of one element */
	t.has_bias = true;
	t.in[2] = rt_view_expand(dense(DTYPE_F32, 1, 1), 0, 64);
	CHECK(takes(&t, &s) && s.key.rows == 1 && s.key.cols == 64);
	/* an outer product reads columns of 64, not rows of 1 */
	t = gemm(dense(DTYPE_F32, 2, 64, 32), dense(DTYPE_F32, 2, 64, 1), dense(DTYPE_F32, 2, 1, 32));
	CHECK(takes(&t, &s) && s.key.lead[CUDA_GEMM_A] == 32 && s.key.lead[CUDA_GEMM_B] == 64);
	CHECK(!s.key.transposed[CUDA_GEMM_A] && s.key.transposed[CUDA_GEMM_B]);
	/* a batch of matrices with one row, the other operand shared: one matrix */
	t = gemm(dense(DTYPE_F32, 3, 5, 1, 16), dense(DTYPE_F32, 3, 5, 1, 32),
	         rt_view_expand(dense(DTYPE_F32, 2, 32, 16), 0, 5));
	CHECK(takes(&t, &s) && s.key.batch == 1 && s.key.cols == 5 && s.key.rows == 16);
}

static void test_refused(void)
{
	struct cuda_gemm_shape s;
	static const enum dtype types[][3] = {
	    {DTYPE_I32, DTYPE_I32, DTYPE_I32},          {DTYPE_I8, DTYPE_I8, DTYPE_I32},
	    {DTYPE_BOOL, DTYPE_BOOL, DTYPE_BOOL},       {DTYPE_F32, DTYPE_F32, DTYPE_F64},
	    {DTYPE_F32, DTYPE_F32, DTYPE_BF16},         {DTYPE_BF16, DTYPE_F16, DTYPE_F32},
	    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_F8E4M3}, {DTYPE_F8E5M2, DTYPE_F8E5M2, DTYPE_F32},
	    {DTYPE_BF16, DTYPE_BF16, DTYPE_F16},
	};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct rt_task t = gemm(dense(types[i][2], 2, 16, 16), dense(types[i][0], 2, 16, 16),
		                        dense(types[i][1], 2, 16, 16));
		CHECK(!takes(&t, &s));
	}
	struct rt_view square = dense(DTYPE_F32, 2, 16, 16), wide = dense(DTYPE_F32, 2, 16, 32);
	struct rt_task t = gemm(square, square, square);
	CHECK(takes(&t, &s));
	t.in[0] = wide, t.in[0].n[1] = 16, t.in[0].stride[1] = 2; /* neither axis is dense */
	CHECK(!takes(&t, &s));
	t.in[0] = square, t.in[0].stride[0] = -16;
	CHECK(!takes(&t, &s));
	t.in[0].stride[0] = 0; /* one row for all */
	CHECK(!takes(&t, &s));
	t.in[0].stride[0] = 8; /* rows that overlap */
	CHECK(!takes(&t, &s));
	t = gemm(square, dense(DTYPE_F32, 2, 16, 0), dense(DTYPE_F32, 2, 0, 16));
	CHECK(!takes(&t, &s));
	t = gemm(dense(DTYPE_F32, 2, 0, 16), dense(DTYPE_F32, 2, 0, 16), square);
	CHECK(!takes(&t, &s));
}

/* [5, 32] = [5, 64] * [32, 64]^T of f8, changed in ways that cuBLASLt does not support. */
static void test_f8(void)
{
	struct cuda_gemm_shape s;
	static const enum dtype out[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
	static const enum dtype f8[][2] = {
	    {DTYPE_F8E4M3, DTYPE_F8E4M3}, {DTYPE_F8E4M3, DTYPE_F8E5M2}, {DTYPE_F8E5M2, DTYPE_F8E4M3}};
	for (int i = 0; i < 9; i++) {
		struct rt_task right = gemm(dense(out[i % 3], 2, 5, 32), dense(f8[i / 3][0], 2, 5, 64),
		                            rt_view_swap(dense(f8[i / 3][1], 2, 32, 64), 0, 1));
		struct rt_task t = right;
		CHECK(takes(&t, &s) && s.key.transposed[CUDA_GEMM_A] && !s.key.transposed[CUDA_GEMM_B]);
		/* columns not along the sum: in one operand, in the other */
		t.in[1] = dense(f8[i / 3][1], 2, 64, 32);
		CHECK(!takes(&t, &s));
		t = gemm(dense(out[i % 3], 2, 16, 32), rt_view_swap(dense(f8[i / 3][0], 2, 64, 16), 0, 1),
		         right.in[1]);
		CHECK(!takes(&t, &s));
		/* sums of another length, with any distance of lines; lines that are too close */
		t = right;
		t.in[0].n[1] = t.in[1].n[0] = 56;
		CHECK(!takes(&t, &s));
		t = right;
		t.in[0].stride[0] = 72;
		CHECK(!takes(&t, &s));
		t = right;
		t.in[1].stride[1] = 72;
		CHECK(!takes(&t, &s));
		/* rows of the result: their length and distance are restricted, their number is free */
		t = right;
		t.out.n[1] = t.in[1].n[1] = 30;
		CHECK(!takes(&t, &s));
		t = right;
		t.out.stride[0] = 34;
		CHECK(!takes(&t, &s));
		/* addresses */
		for (int o = 0; o < 3; o++) {
			t = right;
			struct rt_view *v = o == 2 ? &t.out : &t.in[o];
			v->data = memory + 8;
			CHECK(!takes(&t, &s));
			v->data = memory + 16;
			CHECK(takes(&t, &s));
		}
		/* a bias has its own type where the result is f32 */
		t = right;
		t.has_bias = true;
		t.in[2] =
		    rt_view_expand(dense(out[i % 3] == DTYPE_F16 ? DTYPE_F16 : DTYPE_BF16, 1, 32), 0, 5);
		CHECK(takes(&t, &s));
		t.in[2].dtype = DTYPE_F32;
		CHECK(!takes(&t, &s));
	}
	/* scales of the operands, which others do not have */
	struct rt_task scaled = gemm(dense(DTYPE_F32, 2, 5, 32), dense(DTYPE_F8E4M3, 2, 5, 64),
	                             rt_view_swap(dense(DTYPE_F8E4M3, 2, 32, 64), 0, 1));
	scaled.scales = 2;
	scaled.in[2] = scaled.in[3] = dense(DTYPE_F32, 2, 1, 1);
	scaled.in[3].data = memory + 4;
	CHECK(takes(&scaled, &s) && s.key.scales == 2 && s.scale[0] == memory && s.scale[1] == memory + 4);
	scaled.in[0].dtype = scaled.in[1].dtype = DTYPE_BF16;
	CHECK(!takes(&scaled, &s));
	/* a result of 8 bits if it is clamped, with a scale of its own */
	struct rt_task clamped = gemm(dense(DTYPE_F8E4M3, 2, 5, 32), dense(DTYPE_F8E4M3, 2, 5, 64),
	                              rt_view_swap(dense(DTYPE_F8E4M3, 2, 32, 64), 0, 1));
	clamped.scales = 3;
	clamped.in[2] = clamped.in[3] = clamped.in[4] = dense(DTYPE_F32, 2, 1, 1);
	clamped.in[4].data = memory + 8;
	CHECK(!takes(&clamped, &s));
	clamped.saturates = true;
	CHECK(takes(&clamped, &s) && s.key.scales == 3 && s.scale[2] == memory + 8);
	clamped.out.n[1] = clamped.in[1].n[1] = 24; /* 8 more bytes than rows of 16 */
	CHECK(!takes(&clamped, &s));
	/* matrices of a batch that are too close */
	struct rt_task t = gemm(dense(DTYPE_F32, 3, 3, 5, 32), dense(DTYPE_F8E4M3, 3, 3, 5, 64),
	                        rt_view_swap(dense(DTYPE_F8E4M3, 3, 3, 32, 64), 1, 2));
	CHECK(takes(&t, &s) && s.key.batch == 3);
	t.in[0].stride[0] += 8;
	CHECK(!takes(&t, &s));
}

/* Equal tasks have keys with equal bytes, whatever was in memory before. */
static void test_key(void)
{
	struct cuda_gemm_shape a, b;
	struct rt_task t =
	    gemm(dense(DTYPE_F32, 2, 16, 8), dense(DTYPE_F32, 2, 16, 4), dense(DTYPE_F32, 2, 4, 8));
	memset(&a, 0x55, sizeof a);
	memset(&b, 0xaa, sizeof b);
	CHECK(takes(&t, &a) && takes(&t, &b) && memcmp(&a.key, &b.key, sizeof a.key) == 0);
	t.out.data = memory + 512;
	CHECK(takes(&t, &b) && memcmp(&a.key, &b.key, sizeof a.key) == 0);
	t.out.data = memory + 4;
	CHECK(takes(&t, &b) && memcmp(&a.key, &b.key, sizeof a.key) != 0);
	t.out.data = memory;
	t.accumulate = true;
	CHECK(takes(&t, &b) && memcmp(&a.key, &b.key, sizeof a.key) != 0);
}

static int rank_main(struct rt_job *job, void *arg)
{
	struct rt_device *cpu;
	(void)arg;
	if (rt_device_open(job, "cpu", &cpu) != STATUS_OK)
		return STATUS_ABSENT;
	test_random(cpu);
	rt_device_close(cpu);
	return 0;
}

int main(void)
{
	test_linear();
	test_batches();
	test_vectors();
	test_refused();
	test_f8();
	test_key();
	CHECK_EQ(launch(RT_BOOT_THREAD, 1, 0, rank_main, NULL), STATUS_OK);
	return check_result();
}
