/* cpu_onednn_make: makes oneDNN's code for products of given sizes once, and keeps it in a lane; private
 * to cpu_onednn.c. */
#ifndef HIRC_RT_CPU_ONEDNN_MAKE_H
#define HIRC_RT_CPU_ONEDNN_MAKE_H
#include "rt/cpu_onednn.h"
#include <oneapi/dnnl/dnnl.h>

/* The key of a product's code. All fields have 64 bits, since keys are compared byte by byte. */
struct onednn_key {
	int64_t m, n, k, a_row, a_col, b_row, b_col, c_row;
	int64_t narrow, c_narrow, add; /* see struct cpu_product */
	int64_t packed;                /* b is read in the order that oneDNN prefers */
};

struct onednn_made {
	struct onednn_key key;
	dnnl_primitive_t product; /* NULL: oneDNN has no such primitive */
	dnnl_exec_arg_t arg[4];   /* a, b, c, scratch */
	size_t scratch;           /* bytes, a multiple of 64 */
	/* for a packed b: */
	dnnl_primitive_t pack;
	dnnl_exec_arg_t pack_arg[3]; /* b, packed b, scratch */
	size_t packed;               /* bytes, a multiple of 64 */
	unsigned layout;             /* number of the order, from 1 on */
};

enum { ONEDNN_MOST_MADE = 256 };

struct cpu_onednn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	bool warm[2][2];    /* dnnl_sgemm has its code, by a and b transposed */
	unsigned n, oldest; /* number made; the next one to replace when there are ONEDNN_MOST_MADE */
	struct onednn_made made[ONEDNN_MOST_MADE];
	dnnl_memory_desc_t *layout; /* orders of packed operands */
	unsigned layouts;
};

/* Returns the lane's oneDNN, and opens it at the first call; NULL: oneDNN failed. */
struct cpu_onednn *onednn_opened(struct cpu_lane *lane);
/* Returns the code, and makes it at the first call; NULL: oneDNN has none. */
struct onednn_made *onednn_made(struct cpu_onednn *o, const struct onednn_key *key);

#endif
