/* The mock cuBLASLt: orders, transposes, batches and epilogues; it refuses problems that the real one
 * refuses. */
#include "test_mock.h"
#include <math.h>

enum { M = 3, N = 2, K = 4, BATCH = 2 };

static cublasLtHandle_t handle;
static CUstream stream;

static void begin(void)
{
	mock_begin();
	MOCK_OPEN("libcublasLt.so.13", CUDA_BLAS_CALLS);
	CHECK_EQ(api.cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
	stream = mock_stream();
}

/* ---- a problem as a test states it */

struct problem {
	cublasLtMatmulDesc_t operation;
	cublasLtMatrixLayout_t layout[4];
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t found;
};

#define SET_OPERATION(p, attribute, value)                                                                   \
	CHECK_EQ(api.cublasLtMatmulDescSetAttribute((p)->operation, CUBLASLT_MATMUL_DESC_##attribute,        \
	                                            &(value), sizeof(value)),                                \
	         CUBLAS_STATUS_SUCCESS)
#define SET_LAYOUT(l, attribute, value)                                                                      \
	CHECK_EQ(api.cublasLtMatrixLayoutSetAttribute((l), CUBLASLT_MATRIX_LAYOUT_##attribute, &(value),     \
	                                              sizeof(value)),                                        \
	         CUBLAS_STATUS_SUCCESS)

static struct problem problem_of(cudaDataType a, cudaDataType d, cublasComputeType_t compute,
                                 cudaDataType scale, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                 int k)
{
	struct problem p;
	size_t workspace = 1 << 20;
	CHECK_EQ(api.cublasLtMatmulDescCreate(&p.operation, compute, scale), CUBLAS_STATUS_SUCCESS);
	SET_OPERATION(&p, TRANSA, ta);
	SET_OPERATION(&p, TRANSB, tb);
	int rows[] = {ta ? k : m, tb ? n : k, m, m}, columns[] = {ta ? m : k, tb ? k : n, n, n};
	for (int i = 0; i < 4; i++)
		CHECK_EQ(api.cublasLtMatrixLayoutCreate(&p.layout[i], i < 2 ? a : d, (uint64_t)rows[i],
		                                        (uint64_t)columns[i], rows[i]),
		         CUBLAS_STATUS_SUCCESS);
	CHECK_EQ(api.cublasLtMatmulPreferenceCreate(&p.preference), CUBLAS_STATUS_SUCCESS);
	CHECK_EQ(api.cublasLtMatmulPreferenceSetAttribute(
	             p.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace),
	         CUBLAS_STATUS_SUCCESS);
	return p;
}

static cublasStatus_t find(struct problem *p)
{
	int n;
	cublasStatus_t status =
	    api.cublasLtMatmulAlgoGetHeuristic(handle, p->operation, p->layout[0], p->layout[1], p->layout[2],
	                                       p->layout[3], p->preference, 1, &p->found, &n);
	CHECK_EQ(n, status == CUBLAS_STATUS_SUCCESS);
	return status;
}

static cublasStatus_t multiply(struct problem *p, float alpha, const void *a, const void *b, float beta,
                               void *d, size_t workspace)
{
	return api.cublasLtMatmul(handle, p->operation, &alpha, a, p->layout[0], b, p->layout[1], &beta, d,
	                          p->layout[2], d, p->layout[3], &p->found.algo, mock_memory(1 << 16),
	                          workspace, stream);
}

static float *on_device(const float *from, int n)
{
	float *at = mock_memory((size_t)n * sizeof *at);
	mock_write(at, from, (size_t)n * sizeof *at, stream);
	return at;
}

/* ---- numbers */

static void fill(float *at, int n, int seed)
{
	for (int k = 0; k < n; k++)
		at[k] = (float)((k * 7 + seed * 5) % 13 - 6) / 4;
}

/* All transposes, as columns or rows, with two matrices, 2 A B + 3 D, and a bias along rows if columns are
 * used. */
static void products(void)
{
	float a[BATCH * M * K], b[BATCH * K * N], d[BATCH * M * N], bias[M], got[BATCH * M * N];
	begin();
	fill(a, BATCH * M * K, 1);
	fill(b, BATCH * K * N, 2);
	fill(d, BATCH * M * N, 3);
	fill(bias, M, 4);
	for (int c = 0; c < 8; c++) {
		int ta = c & 1, tb = c >> 1 & 1, row = c >> 2;
		struct problem p = problem_of(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F,
		                              (cublasOperation_t)ta, (cublasOperation_t)tb, M, N, K);
		int rows[] = {ta ? K : M, tb ? N : K, M, M}, columns[] = {ta ? M : K, tb ? K : N, N, N};
		int32_t order = row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL, batch = BATCH;
		for (int i = 0; i < 4; i++) {
			int64_t stride = rows[i] * columns[i], leading = row ? columns[i] : rows[i];
			SET_LAYOUT(p.layout[i], ORDER, order);
			SET_LAYOUT(p.layout[i], LD, leading);
			SET_LAYOUT(p.layout[i], BATCH_COUNT, batch);
			SET_LAYOUT(p.layout[i], STRIDED_BATCH_OFFSET, stride);
		}
		float *at_d = on_device(d, BATCH * M * N), *at_bias = on_device(bias, M);
		if (!row) {
			cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
			SET_OPERATION(&p, EPILOGUE, epilogue);
			SET_OPERATION(&p, BIAS_POINTER, at_bias);
		}
		CHECK_EQ(find(&p), CUBLAS_STATUS_SUCCESS);
		CHECK_EQ(multiply(&p, 2, on_device(a, BATCH * M * K), on_device(b, BATCH * K * N), 3, at_d,
		                  1 << 16),
		         CUBLAS_STATUS_SUCCESS);
		mock_read(got, at_d, sizeof got, stream);
#define AT(x, i, r, c) x[l * rows[i] * columns[i] + (row ? (r)*columns[i] + (c) : (c)*rows[i] + (r))]
		for (int l = 0; l < BATCH; l++)
			for (int m = 0; m < M; m++)
				for (int n = 0; n < N; n++) {
					float sum = 0;
					for (int k = 0; k < K; k++)
						sum += (ta ? AT(a, 0, k, m) : AT(a, 0, m, k)) *
						       (tb ? AT(b, 1, n, k) : AT(b, 1, k, n));
					sum = 2 * sum + 3 * AT(d, 3, m, n);
					if (!row)
						sum = fmaxf(sum + bias[m], 0);
					CHECK(AT(got, 3, m, n) == sum);
				}
#undef AT
	}
}

/* bf16 in, f32 out: 1.5 is 0x3fc0. D is not read if beta is 0. */
static void small_types(void)
{
	uint16_t a[8], *at = NULL;
	float nan[4] = {NAN, NAN, NAN, NAN}, got[4];
	begin();
	for (int k = 0; k < 8; k++)
		a[k] = 0x3fc0;
	at = mock_memory(sizeof a);
	mock_write(at, a, sizeof a, stream);
	struct problem p = problem_of(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_T,
	                              CUBLAS_OP_N, 2, 2, 4);
	float *d = on_device(nan, 4);
	CHECK_EQ(find(&p), CUBLAS_STATUS_SUCCESS);
	CHECK_EQ(multiply(&p, 1, at, at, 0, d, 1 << 16), CUBLAS_STATUS_SUCCESS);
	mock_read(got, d, sizeof got, stream);
	for (int k = 0; k < 4; k++)
		CHECK(got[k] == 9);
}

/* Returns a problem of 2 x 2 matrices of f32, with its algorithm. */
static struct problem found_problem(void)
{
	struct problem p = problem_of(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_N,
	                              CUBLAS_OP_N, 2, 2, 2);
	CHECK_EQ(find(&p), CUBLAS_STATUS_SUCCESS);
	return p;
}

/* ---- refusals */

/* Tests for which n x n matrices, with A of op a, there is an algorithm. */
static void refusals(void)
{
	static const struct {
		cudaDataType ab, d;
		cublasComputeType_t compute;
		cudaDataType scale;
		cublasOperation_t a;
		int n;
		cublasStatus_t status;
	} cases[] = {
	    {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, CUBLAS_OP_N, 5, CUBLAS_STATUS_SUCCESS},
	    {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_N, 5,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_16F, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_N, 5,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUBLAS_OP_T, 16,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUBLAS_OP_T, 16, CUBLAS_STATUS_SUCCESS},
	    {CUDA_R_64I, CUDA_R_64I, CUBLAS_COMPUTE_32I, CUDA_R_32I, CUBLAS_OP_T, 16,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_T, 16,
	     CUBLAS_STATUS_SUCCESS},
	    {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_N, 16,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_T, 8,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_8F_E5M2, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_T, 16,
	     CUBLAS_STATUS_NOT_SUPPORTED},
	    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUBLAS_OP_N, 0,
	     CUBLAS_STATUS_INVALID_VALUE},
	};
	begin();
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		int n = cases[k].n;
		struct problem p = problem_of(cases[k].ab, cases[k].d, cases[k].compute, cases[k].scale,
		                              cases[k].a, CUBLAS_OP_N, n, n, n);
		cublasStatus_t status = find(&p);
		if (status != cases[k].status)
			printf("case %zu:\n", k);
		CHECK_EQ(status, cases[k].status);
	}
}

/* An algorithm is valid for its problem, its workspace and its alignment. */
static void algorithms(void)
{
	float x[16] = {0};
	begin();
	float *at = on_device(x, 16), *d = on_device(x, 16);
	struct problem p = found_problem();
	CHECK_EQ(multiply(&p, 1, at, at, 0, d, p.found.workspaceSize - 1), CUBLAS_STATUS_INVALID_VALUE);
	CHECK_EQ(multiply(&p, 1, at + 1, at, 0, d, p.found.workspaceSize), CUBLAS_STATUS_INVALID_VALUE);
	int64_t leading = 3;
	SET_LAYOUT(p.layout[0], LD, leading);
	CHECK_EQ(multiply(&p, 1, at, at, 0, d, p.found.workspaceSize), CUBLAS_STATUS_NOT_SUPPORTED);
	CHECK_EQ(find(&p), CUBLAS_STATUS_SUCCESS);
	CHECK_EQ(multiply(&p, 1, at, at, 0, d, p.found.workspaceSize), CUBLAS_STATUS_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

static void call_fails(void)
{
	float x[16] = {0};
	begin();
	struct problem p = found_problem();
	CHECK_EQ(multiply(&p, 1, on_device(x, 16), on_device(x, 16), 0, on_device(x, 16), 1 << 16),
	         CUBLAS_STATUS_EXECUTION_FAILED);
}

int main(void)
{
	MOCK_CASE(products, "");
	MOCK_CASE(small_types, "");
	MOCK_CASE(refusals, "");
	MOCK_CASE(algorithms, "");
	MOCK_CASE(call_fails, "HIRC_MOCK_FAIL=cublasLtMatmul:1");
	return check_result();
}
