/* cpu_onednn_make: oneDNN's code for products of given sizes, made once and kept by a lane; for
 * cpu_onednn.c alone. */
#ifndef HIRC_RT_CPU_ONEDNN_MAKE_H
#define HIRC_RT_CPU_ONEDNN_MAKE_H
#include "rt/cpu_onednn.h"
#include <oneapi/dnnl/dnnl.h>

/* The key of a product's code. All of 64 bits: keys are compared byte by byte. */
struct onednn_key {
	int64_t m, n, k, a_row, a_col, b_row, b_col, c_row;
	int64_t narrow, c_narrow, add; /* as in struct cpu_product */
	int64_t packed;                /* b is read in the order that oneDNN likes best */
};

struct onednn_made {
	struct onednn_key key;
	dnnl_primitive_t product; /* NULL: oneDNN has none */
	dnnl_exec_arg_t arg[4];   /* a, b, c, scratch */
	size_t scratch;           /* bytes, a multiple of 64 */
	/* of a packed b: */
	dnnl_primitive_t pack;
	dnnl_exec_arg_t pack_arg[3]; /* b, packed b, scratch */
	size_t packed;               /* bytes, a multiple of 64 */
	unsigned layout;             /* number of the order, from 1 on: the same number, the same order */
};

enum { ONEDNN_MOST_MADE = 256 };

struct cpu_onednn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	bool warm[2][2];    /* dnnl_sgemm has its code for a, b transposed */
	unsigned n, oldest; /* made; the one that is replaced when there are ONEDNN_MOST_MADE */
	struct onednn_made made[ONEDNN_MOST_MADE];
	dnnl_memory_desc_t *layout; /* of packed operands */
	unsigned layouts;
};

/* Returns the lane's oneDNN, opened when first asked for; NULL: oneDNN failed. */
struct cpu_onednn *onednn_opened(struct cpu_lane *lane);
/* Made when it is first asked for; NULL: oneDNN has none. */
struct onednn_made *onednn_made(struct cpu_onednn *o, const struct onednn_key *key);

#endif
