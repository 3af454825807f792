/* record_blas: calls of cuBLASLt. Matrices are printed column-major, as cuBLASLt has them: type, rows x
 * columns / leading dimension * batch. */
#include "cuda/record_calls.h"
#include <string.h>

/* A call that prints nothing. */
#define SILENT(name, ...)                                                                                    \
	static cublasStatus_t record_##name(__VA_ARGS__)                                                     \
	{                                                                                                    \
		return CUBLAS_STATUS_SUCCESS;                                                                \
	}
SILENT(cublasLtDestroy, cublasLtHandle_t h)
SILENT(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t d)
SILENT(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t l)
SILENT(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t p)
SILENT(cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t p,
       cublasLtMatmulPreferenceAttributes_t which, const void *value, size_t bytes)

static size_t record_cublasLtGetVersion(void)
{
	return 0;
}

static const char *record_cublasLtGetStatusString(cublasStatus_t r)
{
	return "";
}

static cublasStatus_t record_cublasLtCreate(cublasLtHandle_t *h)
{
	*h = record_handle_new(0);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
	*p = record_handle_new(0);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                                      cudaDataType_t scale)
{
	*d = record_handle_new((int)compute);
	return CUBLAS_STATUS_SUCCESS;
}

/* Reads an attribute of 32 bits, or the low 32 bits of a longer one. */
static int32_t read_attribute_bits(const void *value, size_t bytes)
{
	int32_t x = 0;
	memcpy(&x, value, bytes < sizeof x ? bytes : sizeof x);
	return x;
}

static cublasStatus_t record_cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                                            cublasLtMatmulDescAttributes_t which,
                                                            const void *value, size_t bytes)
{
	struct record_handle *h = (struct record_handle *)d;
	if (which == CUBLASLT_MATMUL_DESC_TRANSA)
		h->transpose_a = read_attribute_bits(value, bytes);
	else if (which == CUBLASLT_MATMUL_DESC_TRANSB)
		h->transpose_b = read_attribute_bits(value, bytes);
	else if (which == CUBLASLT_MATMUL_DESC_EPILOGUE)
		h->epilogue = read_attribute_bits(value, bytes);
	else if (which == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
		h->scales = 1;
	else if (which == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
		h->scales = 2;
	else if (which == CUBLASLT_MATMUL_DESC_D_SCALE_POINTER)
		h->scales = 3;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type,
                                                        uint64_t rows, uint64_t columns, int64_t leading)
{
	struct record_handle *h = record_handle_new((int)type);
	h->rows = (int64_t)rows;
	h->columns = (int64_t)columns;
	h->leading = leading;
	h->batch = 1;
	*l = (cublasLtMatrixLayout_t)h;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                              cublasLtMatrixLayoutAttribute_t which,
                                                              const void *value, size_t bytes)
{
	if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
		((struct record_handle *)l)->batch = read_attribute_bits(value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t
record_cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                      cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                      cublasLtMatrixLayout_t to, cublasLtMatmulPreference_t p, int want,
                                      cublasLtMatmulHeuristicResult_t *result, int *n)
{
	memset(result, 0, sizeof *result);
	*n = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static const char *type_name(int type)
{
	switch (type) {
	case CUDA_R_64F:
		return "f64";
	case CUDA_R_32F:
		return "f32";
	case CUDA_R_16BF:
		return "bf16";
	case CUDA_R_16F:
		return "f16";
	case CUDA_R_8F_E4M3:
		return "f8e4m3";
	case CUDA_R_8F_E5M2:
		return "f8e5m2";
	default:
		return "?";
	}
}

static void say_matrix(const char *name, cublasLtMatrixLayout_t l)
{
	const struct record_handle *h = (const struct record_handle *)l;
	record_more("%s %s %lldx%lld/%lld", name, type_name(h->number), (long long)h->rows,
	            (long long)h->columns, (long long)h->leading);
	if (h->batch > 1)
		record_more("*%d", (int)h->batch);
}

static cublasStatus_t record_cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
                                            const void *a, cublasLtMatrixLayout_t la, const void *b,
                                            cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                                            cublasLtMatrixLayout_t lc, void *to, cublasLtMatrixLayout_t ld,
                                            const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                                            size_t bytes, cudaStream_t s)
{
	const struct record_handle *m = (const struct record_handle *)d;
	record_say("cublasLtMatmul on stream %d:", record_number(s));
	say_matrix(m->transpose_a == CUBLAS_OP_T ? " a^T" : " a", la);
	say_matrix(m->transpose_b == CUBLAS_OP_T ? ", b^T" : ", b", lb);
	say_matrix(", out", ld);
	record_more("%s%s%s%s%s%s\n",
	            m->scales == 1   ? ", scaled"
	            : m->scales == 2 ? ", scaled twice"
	            : m->scales      ? ", scaled twice, and its result"
	                             : "",
	            c && c != to ? ", plus a matrix" : "",
	            m->number == CUBLAS_COMPUTE_32F_FAST_TF32 ? ", tf32" : "",
	            m->epilogue & CUBLASLT_EPILOGUE_BIAS ? ", bias" : "",
	            m->epilogue & CUBLASLT_EPILOGUE_RELU ? ", relu" : "",
	            m->epilogue & CUBLASLT_EPILOGUE_GELU ? ", gelu" : "");
	return CUBLAS_STATUS_SUCCESS;
}

void record_blas(struct cuda_api *api)
{
	CUDA_BLAS_CALLS(RECORD_ENTRY)
}
