/* cpu_gemm: out[…, m, n] = sum over k of a[…, m, k] * b[…, k, n] (+ bias, or + out).
 *
 * BLAS or oneDNN gets each matrix of the batch directly if it can read it: f32 or f64 (bf16 for oneDNN),
 * with one of the two strides 1. Otherwise the matrix is packed into scratch memory in the wide type.
 * The result is treated in the same way; it must have rows. Leading batch axes are merged into m if the
 * strides allow it: linear(X[b, t, k], W) is one call. */
#include "rt/cpu.h"
#include "rt/cpu_onednn.h"
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HIRC_HAVE_BLAS
#include "rt/cpu_blas.h"
#endif

enum { WARM_ROWS = 512 };

struct gemm {
	struct cpu_lane *lane;
	enum dtype wide;    /* type of the sum */
	enum dtype operand; /* type in which a and b are read: wide, or bf16 */
	bool accumulate;
	int64_t m, n, k;
	const void *packed[2]; /* the sources in scratch 0 and 1, to pack a shared operand only once */
	struct rt_pack *pack;  /* NULL: none; pack of the matrix at `kept` */
	const void *kept;
	uint64_t contents;
	bool ahead; /* only prepares the product; reads no elements */
	char *why;
};

/* Returns true if BLAS can read the order, by rows or by columns: one stride is 1, the other at least as
 * long as a line. */
static bool blas_order(const struct rt_view *v, int64_t *row, int64_t *col)
{
	int64_t m = v->n[0], n = v->n[1];
	*row = m > 1 ? v->stride[0] : (n > 1 ? n : 1);
	*col = n > 1 ? v->stride[1] : 1;
	if (*col == 1 && *row >= (n > 1 ? n : 1))
		return *row <= INT_MAX;
	*col = n > 1 ? v->stride[1] : (m > 1 ? m : 1);
	*row = m > 1 ? v->stride[0] : 1;
	return *row == 1 && *col >= (m > 1 ? m : 1) && *col <= INT_MAX;
}

/* Returns true if a matrix with contiguous columns keeps that order when it is packed: a copy that
 * transposes takes several times as long, and BLAS reads either order. The loops here need rows. */
static bool stays_transposed(const struct gemm *g, const struct rt_view *v)
{
#ifdef HIRC_HAVE_BLAS
	return g->wide != DTYPE_I64 && v->stride[0] == 1 && v->stride[1] >= v->n[0] && v->n[0] > 1 &&
	       v->n[1] > 1;
#else
	(void)g, (void)v;
	return false;
#endif
}

static bool prepare_operand(struct gemm *g, int which, const struct rt_view *v, struct cpu_matrix *out)
{
	out->data = v->data;
	if (v->dtype == g->operand && blas_order(v, &out->row, &out->col))
		return true;
	void *scratch =
	    cpu_scratch(g->lane, which, (size_t)rt_view_count(v) * dtype_bytes(g->operand), g->why);
	if (!scratch)
		return false;
	struct rt_view packed = rt_view_dense(scratch, g->operand, 2, v->n);
	*out = (struct cpu_matrix){.data = scratch, .row = v->n[1] > 0 ? v->n[1] : 1, .col = 1};
	if (stays_transposed(g, v)) {
		packed.stride[0] = out->row = 1;
		packed.stride[1] = out->col = v->n[0];
	}
	if (g->packed[which] != v->data && !g->ahead)
		cpu_copy(&packed, v);
	g->packed[which] = v->data;
	return true;
}

/* c[i, j] (+)= sum a[i, l] * b[l, j]; c has rows of n. l runs in order. */
#define DEFINE_LOOPS(type, compute_type, name)                                                               \
	static void loops_##name(const struct gemm *g, const struct cpu_matrix *a,                           \
	                         const struct cpu_matrix *b, type *c, int64_t ldc, bool add)                 \
	{                                                                                                    \
		const type *pa = a->data, *pb = b->data;                                                     \
		for (int64_t i = 0; i < g->m; i++) {                                                         \
			compute_type *row = (compute_type *)(c + i * ldc);                                   \
			if (!add)                                                                            \
				memset(row, 0, (size_t)g->n * sizeof *row);                                  \
			for (int64_t l = 0; l < g->k; l++) {                                                 \
				compute_type x = (compute_type)pa[i * a->row + l * a->col];                  \
				for (int64_t j = 0; j < g->n; j++)                                           \
					row[j] += x * (compute_type)pb[l * b->row + j * b->col];             \
			}                                                                                    \
		}                                                                                            \
	}

DEFINE_LOOPS(double, double, f64)
DEFINE_LOOPS(float, float, f32)
DEFINE_LOOPS(int64_t, uint64_t, i64)

#ifdef HIRC_HAVE_BLAS
static int at_most(int64_t n, int most)
{
	return n < most ? (int)n : most;
}

/* Prepares BLAS, which allocates code and buffers with its first product. Makes that product here, of
 * zeros, as large as g's or as its blocks. */
static void warm_blas(const struct gemm *g, const struct cpu_blas *blas, bool a_transposed, bool b_transposed)
{
	int m = at_most(g->m, WARM_ROWS), n = at_most(g->n, WARM_ROWS), k = at_most(g->k, WARM_ROWS);
	int lda = a_transposed ? m : k, ldb = b_transposed ? k : n;
	CBLAS_TRANSPOSE ta = a_transposed ? CblasTrans : CblasNoTrans;
	CBLAS_TRANSPOSE tb = b_transposed ? CblasTrans : CblasNoTrans;
	int64_t size = (int64_t)m * n * k,
	        *ready = &g->lane->warm[g->wide == DTYPE_F64][a_transposed][b_transposed];
	double *zeros;
	if (size <= *ready || !(zeros = calloc((size_t)(m * k + k * n + m * n), sizeof *zeros)))
		return;
	*ready = size;
	double *b = zeros + (size_t)m * (size_t)k, *c = b + (size_t)k * (size_t)n;
	if (g->wide == DTYPE_F64)
		blas->dgemm(CblasRowMajor, ta, tb, m, n, k, 1, zeros, lda, b, ldb, 0, c, n);
	else
		blas->sgemm(CblasRowMajor, ta, tb, m, n, k, 1, (float *)zeros, lda, (float *)b, ldb, 0,
		            (float *)c, n);
	free(zeros);
}
#endif

#ifdef HIRC_HAVE_BLAS
/* Returns NULL with g->why set if BLAS cannot be opened. */
static const struct cpu_blas *open_blas(const struct gemm *g)
{
	struct buf why = {0};
	if (!g->lane->blas)
		g->lane->blas = cpu_blas_open(g->lane->threads, &why);
	if (!g->lane->blas)
		snprintf(g->why, RT_WHY_BYTES, "a product needs BLAS: %s", why.at);
	buf_free(&why);
	return g->lane->blas;
}
#endif

enum multiplied { MULTIPLIED, NO_ONEDNN, NO_BLAS };

/* Multiplies; adds to c if `add`. c is of the wide type, or bf16 if `narrow`. NO_ONEDNN: oneDNN cannot multiply
 * these. NO_BLAS: g->why says why. */
static enum multiplied multiply_blocks(const struct gemm *g, const struct cpu_matrix *a,
                                       const struct cpu_matrix *b, void *c, int64_t ldc, bool narrow,
                                       bool add)
{
	struct cpu_product p = {.m = g->m,
	                        .n = g->n,
	                        .k = g->k,
	                        .a = *a,
	                        .b = *b,
	                        .c = c,
	                        .c_row = ldc,
	                        .narrow = g->operand == DTYPE_BF16,
	                        .c_narrow = narrow,
	                        .add = add,
	                        .pack = b->data == g->kept ? g->pack : NULL,
	                        .contents = g->contents};
	if (g->ahead && g->wide == DTYPE_F32)
		cpu_onednn_prepare(g->lane, &p);
	if (g->operand == DTYPE_BF16)
		return g->ahead || cpu_onednn_multiply(g->lane, &p) ? MULTIPLIED : NO_ONEDNN;
	if (!g->ahead && g->wide == DTYPE_F32 && cpu_onednn_multiply(g->lane, &p))
		return MULTIPLIED;
#ifdef HIRC_HAVE_BLAS
	bool fits = g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX && ldc <= INT_MAX && g->k > 0;
	const struct cpu_blas *blas = NULL;
	if (g->wide != DTYPE_I64 && (fits || g->ahead) && !(blas = open_blas(g)))
		return NO_BLAS;
	if (g->ahead && blas)
		warm_blas(g, blas, a->col != 1, b->col != 1);
	if (!g->ahead && blas) {
		CBLAS_TRANSPOSE ta = a->col == 1 ? CblasNoTrans : CblasTrans;
		CBLAS_TRANSPOSE tb = b->col == 1 ? CblasNoTrans : CblasTrans;
		int lda = (int)(a->col == 1 ? a->row : a->col), ldb = (int)(b->col == 1 ? b->row : b->col);
		if (g->wide == DTYPE_F64)
			blas->dgemm(CblasRowMajor, ta, tb, (int)g->m, (int)g->n, (int)g->k, 1, a->data, lda,
			            b->data, ldb, add, c, (int)ldc);
		else
			blas->sgemm(CblasRowMajor, ta, tb, (int)g->m, (int)g->n, (int)g->k, 1, a->data, lda,
			            b->data, ldb, add, c, (int)ldc);
		return MULTIPLIED;
	}
#endif
	if (g->ahead)
		return MULTIPLIED;
	if (g->wide == DTYPE_F64)
		loops_f64(g, a, b, c, ldc, add);
	else if (g->wide == DTYPE_F32)
		loops_f32(g, a, b, c, ldc, add);
	else
		loops_i64(g, a, b, c, ldc, add);
	return MULTIPLIED;
}

/* Multiplies one matrix each: [m, k], [k, n], [m, n], and a bias or NULL. */
static enum status gemm_one(struct gemm *g, const struct rt_view *av, const struct rt_view *bv,
                            const struct rt_view *cv, const struct rt_view *bias)
{
	struct cpu_matrix a, b;
	if (!prepare_operand(g, 0, av, &a) || !prepare_operand(g, 1, bv, &b))
		return STATUS_INTERNAL;
	int64_t row, col;
	bool narrow =
	    g->operand == DTYPE_BF16 && cv->dtype == DTYPE_BF16 && (!bias || bias->dtype == DTYPE_BF16);
	bool direct = (cv->dtype == g->wide || narrow) && blas_order(cv, &row, &col) && col == 1;
	struct rt_view c = *cv;
	if (!direct) {
		void *scratch = cpu_scratch(g->lane, 2, (size_t)(g->m * g->n) * dtype_bytes(g->wide), g->why);
		if (!scratch)
			return STATUS_INTERNAL;
		c = rt_view_dense(scratch, g->wide, 2, cv->n);
		row = g->n;
	}
	if (bias && !g->ahead)
		cpu_copy(&c, bias);
	else if (g->accumulate && !direct && !g->ahead)
		cpu_copy(&c, cv);
	enum multiplied done =
	    multiply_blocks(g, &a, &b, c.data, row, direct && narrow, bias || g->accumulate);
	if (done == NO_BLAS)
		return STATUS_ABSENT;
	if (done == NO_ONEDNN) {
		g->operand = g->wide;
		g->packed[0] = g->packed[1] = NULL;
		return gemm_one(g, av, bv, cv, bias);
	}
	if (!direct && !g->ahead)
		cpu_copy(cv, &c);
	return STATUS_OK;
}

/* Returns true if axes batch and batch + 1 of v can be merged. */
static bool merges(const struct rt_view *v, int batch)
{
	return v->n[batch] == 1 || v->n[batch + 1] == 1 ||
	       v->stride[batch] == v->stride[batch + 1] * v->n[batch + 1];
}

static void merge_batch_dims(struct rt_view *v, int batch)
{
	if (v->n[batch + 1] != 1)
		v->stride[batch] = v->stride[batch + 1];
	v->n[batch] *= v->n[batch + 1];
	v->n[batch + 1] = v->n[batch + 2];
	v->stride[batch + 1] = v->stride[batch + 2];
	v->nd--;
}

/* ahead: prepares, with the first matrix, everything that all matrices need. */
static enum status run_gemm(struct cpu_lane *lane, const struct rt_task *t, bool ahead, char *why)
{
	struct rt_view a = t->in[0], b = t->in[1], c = t->out, bias = t->in[2];
	int batch = c.nd - 2;
	assert(batch >= 0 && a.nd == c.nd && b.nd == c.nd && (!t->has_bias || bias.nd == c.nd));
	assert((!t->has_bias || !t->accumulate) && !t->has_addend && !t->scales && !t->saturates);
	assert(a.n[batch] == c.n[batch] && b.n[batch + 1] == c.n[batch + 1] && a.n[batch + 1] == b.n[batch]);
	while (batch > 0 && (b.stride[batch - 1] == 0 || b.n[batch - 1] == 1) && merges(&a, batch - 1) &&
	       merges(&c, batch - 1) && (!t->has_bias || merges(&bias, batch - 1))) {
		batch--;
		merge_batch_dims(&a, batch);
		merge_batch_dims(&c, batch);
		if (t->has_bias)
			merge_batch_dims(&bias, batch);
		b.n[batch] = b.n[batch + 1];
		b.stride[batch] = b.stride[batch + 1];
		b.n[batch + 1] = b.n[batch + 2];
		b.stride[batch + 1] = b.stride[batch + 2];
		b.nd--;
	}
	enum dtype wide = dtype_common(a.dtype, b.dtype);
	wide = t->accumulate ? dtype_common(wide, c.dtype) : wide;
	struct gemm g = {.lane = lane,
	                 .wide = wide,
	                 .operand = wide,
	                 .accumulate = t->accumulate,
	                 .m = c.n[batch],
	                 .n = c.n[batch + 1],
	                 .k = a.n[batch + 1],
	                 .ahead = ahead,
	                 .pack = t->pack,
	                 .kept = t->in[1].data,
	                 .contents = t->contents,
	                 .why = why};
	if (rt_view_count(&c) == 0 || (g.accumulate && g.k == 0))
		return STATUS_OK;
	if (wide == DTYPE_F32 && a.dtype == DTYPE_BF16 && b.dtype == DTYPE_BF16 &&
	    cpu_onednn_takes_bf16(g.m, g.n, g.k))
		g.operand = DTYPE_BF16;
	int64_t index[RT_MAX_DIMS] = {0};
	do {
		struct rt_view x = cpu_matrix_at(&a, index), y = cpu_matrix_at(&b, index),
		               z = cpu_matrix_at(&c, index),
		               added = t->has_bias ? cpu_matrix_at(&bias, index) : (struct rt_view){0};
		enum status status = gemm_one(&g, &x, &y, &z, t->has_bias ? &added : NULL);
		if (status != STATUS_OK || ahead)
			return status;
	} while (cpu_next_index(&c, 3u << batch, index));
	return STATUS_OK;
}

enum status cpu_gemm(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	return run_gemm(lane, t, false, why);
}

void cpu_gemm_prepare(struct cpu_lane *lane, const struct rt_task *t)
{
	char why[RT_WHY_BYTES];
	run_gemm(lane, t, true, why);
}
