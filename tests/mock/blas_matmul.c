/* blas_matmul: the arithmetic of the mock cuBLASLt. Sums of f64 are in f64, of other floats in f32, in the
 * order of k; a stored number is rounded once. */
#include "blas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	struct blas_operation operation;
	struct blas_layout layout_a, layout_b, layout_c, layout_d;
	cudaDataType bias_type;
	double alpha, beta;
	const void *a, *b, *c;
	void *d;
	unsigned us; /* added to its time */
};

static size_t place(const struct blas_layout *l, size_t batch, size_t row, size_t column)
{
	size_t leading = (size_t)l->leading;
	return batch * (size_t)l->stride +
	       (l->order == CUBLASLT_ORDER_COL ? column * leading + row : row * leading + column);
}

/* Truncates f32 to the 11 significant bits that tensor cores read. */
static double as_tf32(double x)
{
	float f = (float)x;
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	bits &= ~UINT32_C(0x1fff);
	memcpy(&f, &bits, sizeof f);
	return f;
}

/* Returns the lines of op(X), each contiguous: rows of op(A), columns of op(B). */
static double *lines_of(const struct blas_layout *l, const void *at, size_t batch, bool across, bool tf32)
{
	size_t lines = across ? l->columns : l->rows, n = across ? l->rows : l->columns;
	enum element t = blas_element(l->type);
	double *out = malloc(lines * n * sizeof *out);
	if (!out)
		mock_abort("cublasLtMatmul", "the host has no memory");
	for (size_t i = 0; i < lines; i++)
		for (size_t k = 0; k < n; k++) {
			double x =
			    element_load(t, at, across ? place(l, batch, k, i) : place(l, batch, i, k));
			out[i * n + k] = tf32 ? as_tf32(x) : x;
		}
	return out;
}

static double dot(const double *x, const double *y, size_t n, bool wide)
{
	double sum = 0;
	float narrow = 0;
	if (wide) {
		for (size_t k = 0; k < n; k++)
			sum += x[k] * y[k];
		return sum;
	}
	for (size_t k = 0; k < n; k++)
		narrow += (float)x[k] * (float)y[k];
	return narrow;
}

/* Returns the epilogue of element (row, column); x is the scaled sum. */
static double finish(const struct job *j, size_t batch, size_t row, double x)
{
	cublasLtEpilogue_t e = j->operation.epilogue;
	if (e & CUBLASLT_EPILOGUE_BIAS)
		x += element_load(blas_element(j->bias_type), j->operation.bias,
		                  batch * (size_t)j->operation.bias_stride + row);
	if (e & CUBLASLT_EPILOGUE_RELU) /* cuBLASLt makes 0 from NaN */
		return x > 0 ? x : 0;
	if (e & CUBLASLT_EPILOGUE_GELU) /* cuBLASLt uses the form with tanh */
		return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
	return x;
}

/* Clamps a result of 8 bits to the finite range of its type. */
static double clamp(cudaDataType t, double x)
{
	double most = t == CUDA_R_8F_E4M3 ? 448 : t == CUDA_R_8F_E5M2 ? 57344 : INFINITY;
	return x > most ? most : x < -most ? -most : x;
}

static double scale_of(const void *at)
{
	return at ? *(const float *)at : 1;
}

static void compute(const struct job *j, size_t batch)
{
	const struct blas_layout *ld = &j->layout_d;
	const struct blas_operation *o = &j->operation;
	bool at = o->transpose_a != CUBLAS_OP_N, bt = o->transpose_b != CUBLAS_OP_N;
	bool wide = o->compute == CUBLAS_COMPUTE_64F || o->compute == CUBLAS_COMPUTE_32I;
	size_t n = at ? j->layout_a.rows : j->layout_a.columns;
	bool tf32 = o->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
	double *a = lines_of(&j->layout_a, j->a, batch, at, tf32),
	       *b = lines_of(&j->layout_b, j->b, batch, !bt, tf32);
	double alpha = j->alpha * scale_of(o->scale_a) * scale_of(o->scale_b);
	double beta = j->beta * scale_of(o->scale_c), scale_d = scale_of(o->scale_d);
	for (size_t column = 0; column < ld->columns; column++)
		for (size_t row = 0; row < ld->rows; row++) {
			double x = alpha * dot(a + row * n, b + column * n, n, wide);
			if (j->beta != 0)
				x += beta * element_load(blas_element(j->layout_c.type), j->c,
				                         place(&j->layout_c, batch, row, column));
			element_store(blas_element(ld->type), j->d, place(ld, batch, row, column),
			              clamp(ld->type, finish(j, batch, row, x) * scale_d));
		}
	free(a);
	free(b);
}

static void run(void *data, uint64_t number)
{
	struct job *j = data;
	(void)number;
	usleep(mock_settings()->work_us + j->us);
	for (int32_t batch = 0; !mock_settings()->idle && batch < j->layout_d.batch; batch++)
		compute(j, (size_t)batch);
}

void blas_push(const struct blas_problem *p, const void *alpha, const void *a, const void *b,
               const void *beta, const void *c, void *d, unsigned us, CUstream s)
{
	struct job *j = malloc(sizeof *j);
	if (!j)
		mock_abort("cublasLtMatmul", "the host has no memory");
	*j = (struct job){*p->operation, *p->a, *p->b, *p->c, *p->d, blas_bias_type(p), 0, 0, a, b, c, d, us};
	j->alpha = element_load(blas_element(p->operation->scale), alpha, 0);
	j->beta = element_load(blas_element(p->operation->scale), beta, 0);
	if (p->operation->epilogue & CUBLASLT_EPILOGUE_BIAS) {
		size_t reach = (size_t)(p->d->batch - 1) * (size_t)p->operation->bias_stride + p->d->rows;
		mock_memory_check("cublasLtMatmul", p->operation->bias,
		                  reach * element_bytes(blas_element(j->bias_type)));
	}
	mock_stream_push(s, (struct mock_work){run, free, NULL, j});
}
