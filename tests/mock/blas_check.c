/* blas_check: finds the problems for which the mock cuBLASLt has an algorithm: those that the manual of the
 * real one lists. */
#include "blas.h"

enum element blas_element(cudaDataType t)
{
	switch (t) {
	case CUDA_R_64F:
		return ELEMENT_F64;
	case CUDA_R_32F:
		return ELEMENT_F32;
	case CUDA_R_16BF:
		return ELEMENT_BF16;
	case CUDA_R_16F:
		return ELEMENT_F16;
	case CUDA_R_8F_E4M3:
		return ELEMENT_F8E4M3;
	case CUDA_R_8F_E5M2:
		return ELEMENT_F8E5M2;
	case CUDA_R_8I:
		return ELEMENT_I8;
	case CUDA_R_32I:
		return ELEMENT_I32;
	default:
		return ELEMENT_NONE;
	}
}

static bool is_f8(cudaDataType t)
{
	return t == CUDA_R_8F_E4M3 || t == CUDA_R_8F_E5M2;
}

static bool is_f16(cudaDataType t)
{
	return t == CUDA_R_16F || t == CUDA_R_16BF;
}

cudaDataType blas_bias_type(const struct blas_problem *p)
{
	cudaDataType d = p->d->type;
	if (p->operation->bias_type >= 0)
		return (cudaDataType)p->operation->bias_type;
	if (!is_f8(p->a->type))
		return d;
	return is_f8(d) ? p->c->type : d == CUDA_R_32F ? CUDA_R_16BF : d;
}

static bool f8_types(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d)
{
	if (!is_f8(a) || !is_f8(b) || (a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2))
		return false;
	return is_f8(d) ? is_f16(c) : c == d && (is_f16(d) || d == CUDA_R_32F);
}

static bool has_types(const struct blas_problem *p)
{
	cudaDataType a = p->a->type, b = p->b->type, c = p->c->type, d = p->d->type,
	             scale = p->operation->scale;
	switch (p->operation->compute) {
	case CUBLAS_COMPUTE_64F:
		return scale == CUDA_R_64F && a == CUDA_R_64F && b == a && c == a && d == a;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
		if (scale != CUDA_R_32F)
			return false;
		if (is_f8(a))
			return p->operation->compute == CUBLAS_COMPUTE_32F && f8_types(a, b, c, d);
		return a == b && c == d && (a == CUDA_R_32F || is_f16(a)) && (d == a || d == CUDA_R_32F);
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_16F:
		return scale == CUDA_R_32F && a == CUDA_R_32F && b == a && c == a && d == a;
	case CUBLAS_COMPUTE_32I:
		return scale == CUDA_R_32I && a == CUDA_R_8I && b == a && c == CUDA_R_32I && d == c;
	default:
		return false;
	}
}

static bool has_epilogue(const struct blas_problem *p)
{
	const struct blas_operation *o = p->operation;
	cudaDataType bias = blas_bias_type(p), d = p->d->type;
	bool adds = o->epilogue & CUBLASLT_EPILOGUE_BIAS;
	switch (o->epilogue) {
	case CUBLASLT_EPILOGUE_DEFAULT:
		return true;
	case CUBLASLT_EPILOGUE_BIAS:
	case CUBLASLT_EPILOGUE_RELU:
	case CUBLASLT_EPILOGUE_RELU_BIAS:
	case CUBLASLT_EPILOGUE_GELU:
	case CUBLASLT_EPILOGUE_GELU_BIAS:
		break;
	default:
		return false;
	}
	if (o->compute == CUBLAS_COMPUTE_32I || p->d->order != CUBLASLT_ORDER_COL)
		return false;
	if (is_f8(p->a->type) && adds)
		return is_f8(d) ? bias == p->c->type : bias == (d == CUDA_R_32F ? CUDA_R_16BF : d);
	return !adds || bias == d;
}

/* Checks one layout. */
static cublasStatus_t check_layout(const struct blas_layout *l, bool is_written)
{
	uint64_t along = l->order == CUBLASLT_ORDER_COL ? l->rows : l->columns;
	if (!l->rows || !l->columns || l->batch < 1 || l->leading < (int64_t)along)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (is_written && l->batch > 1 && l->stride == 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	return l->order == CUBLASLT_ORDER_COL || l->order == CUBLASLT_ORDER_ROW ? CUBLAS_STATUS_SUCCESS
	                                                                        : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t check_extents(const struct blas_problem *p)
{
	const struct blas_operation *o = p->operation;
	bool at = o->transpose_a != CUBLAS_OP_N, bt = o->transpose_b != CUBLAS_OP_N;
	uint64_t m = at ? p->a->columns : p->a->rows, k = at ? p->a->rows : p->a->columns;
	uint64_t other = bt ? p->b->columns : p->b->rows, n = bt ? p->b->rows : p->b->columns;
	if (k != other || p->d->rows != m || p->d->columns != n || p->c->rows != m || p->c->columns != n)
		return CUBLAS_STATUS_INVALID_VALUE;
	int32_t batch = p->d->batch;
	return p->a->batch == batch && p->b->batch == batch && p->c->batch == batch
	           ? CUBLAS_STATUS_SUCCESS
	           : CUBLAS_STATUS_INVALID_VALUE;
}

/* Returns true if a matrix is aligned to 16 bytes: its pointer by the preference, its leading dimension, and
 * the stride of its batch. */
static bool is_aligned(const struct blas_layout *l, uint32_t alignment)
{
	uint64_t bytes = element_bytes(blas_element(l->type));
	return alignment % 16 == 0 && (uint64_t)l->leading * bytes % 16 == 0 &&
	       (uint64_t)l->stride * bytes % 16 == 0;
}

/* Returns true if there is an algorithm for the types. Only tensor cores multiply f8: A transposed, B not,
 * all in steps of 16 bytes. They also multiply integers, in steps of 4. */
static bool has_path(const struct blas_problem *p, const uint32_t *alignment)
{
	const struct blas_operation *o = p->operation;
	if (p->c->order != p->d->order || o->unknown)
		return false;
	if (o->compute == CUBLAS_COMPUTE_32I)
		return p->a->order == CUBLASLT_ORDER_COL && p->b->order == CUBLASLT_ORDER_COL &&
		       p->a->leading % 4 == 0 && p->b->leading % 4 == 0 && p->a->rows % 4 == 0 &&
		       p->b->rows % 4 == 0 && alignment[0] % 4 == 0 && alignment[1] % 4 == 0;
	if (!is_f8(p->a->type))
		return !o->scale_a && !o->scale_b && !o->scale_c && !o->scale_d;
	return o->transpose_a == CUBLAS_OP_T && o->transpose_b == CUBLAS_OP_N &&
	       p->a->order == CUBLASLT_ORDER_COL && p->b->order == CUBLASLT_ORDER_COL &&
	       p->d->order == CUBLASLT_ORDER_COL && p->a->rows % 16 == 0 &&
	       p->d->rows * element_bytes(blas_element(p->d->type)) % 16 == 0 &&
	       is_aligned(p->a, alignment[0]) && is_aligned(p->b, alignment[1]) &&
	       is_aligned(p->c, alignment[2]) && is_aligned(p->d, alignment[3]);
}

cublasStatus_t blas_check(const struct blas_problem *p, const uint32_t *alignment)
{
	const struct blas_layout *layout[] = {p->a, p->b, p->c, p->d};
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
	for (int k = 0; k < 4 && status == CUBLAS_STATUS_SUCCESS; k++)
		status = check_layout(layout[k], k == 3);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = check_extents(p);
	if (status == CUBLAS_STATUS_SUCCESS && (!has_types(p) || !has_epilogue(p) || !has_path(p, alignment)))
		status = CUBLAS_STATUS_NOT_SUPPORTED;
	return status;
}
