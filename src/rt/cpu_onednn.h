/* cpu_onednn: contractions by oneDNN, if it is installed and faster. */
#ifndef HIRC_RT_CPU_ONEDNN_H
#define HIRC_RT_CPU_ONEDNN_H
#include "rt/cpu.h"

/* Element (i, j) is at i*row + j*col; row or col is 1. */
struct cpu_matrix {
	const void *data;
	int64_t row, col;
};

/* c[i, j] = sum over l of a[i, l] * b[l, j], plus c if add. c has rows. Sums are in f32 and rounded
 * once. */
struct cpu_product {
	int64_t m, n, k;
	struct cpu_matrix a, b;
	void *c;
	int64_t c_row;
	bool narrow;   /* a and b are bf16; otherwise f32 */
	bool c_narrow; /* c is bf16, as a and b are */
	bool add;
	struct rt_pack *pack; /* pack of b, see struct rt_task; NULL: none */
	uint64_t contents;
};

/* Returns true if oneDNN computes bf16 products of these sizes faster than BLAS does in f32, without
 * counting the conversions. */
bool cpu_onednn_takes_bf16(int64_t m, int64_t n, int64_t k);
/* Returns false if it did nothing. For f32, use BLAS then; for bf16, it has failed. */
bool cpu_onednn_multiply(struct cpu_lane *lane, const struct cpu_product *p);
/* Makes the primitives that products of such matrices need, so that the first product takes as long as
 * the others. The addresses do not matter. */
void cpu_onednn_prepare(struct cpu_lane *lane, const struct cpu_product *p);

void cpu_onednn_free(struct cpu_lane *lane);

#endif
