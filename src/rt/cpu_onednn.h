/* cpu_onednn: contractions by oneDNN, where it is there and the faster one. */
#ifndef HIRC_RT_CPU_ONEDNN_H
#define HIRC_RT_CPU_ONEDNN_H
#include "rt/cpu.h"

/* Element (i, j) is at i*row + j*col; row or col is 1. */
struct cpu_matrix {
	const void *data;
	int64_t row, col;
};

/* c[i, j] = sum over l of a[i, l] * b[l, j], plus c if add; c has rows. */
struct cpu_product {
	int64_t m, n, k;
	struct cpu_matrix a, b;
	void *c;
	int64_t c_row;
	bool c_narrow; /* c is bf16, as a and b are */
	bool add;
};

/* Of f32. False: it did nothing, and BLAS is to do it. */
bool cpu_onednn_f32(const struct cpu_lane *lane, const struct cpu_product *p);

/* Whether bf16 of these sizes is for cpu_onednn_bf16: faster than in f32 by BLAS, conversions aside. */
bool cpu_onednn_takes_bf16(int64_t m, int64_t n, int64_t k);
/* a and b of bf16, summed in f32 and rounded once. False: it failed, c is as it was. */
bool cpu_onednn_bf16(struct cpu_lane *lane, const struct cpu_product *p);

void cpu_onednn_free(struct cpu_lane *lane);

#endif
