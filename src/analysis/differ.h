/* differ: compares two programs, apart from names and numbers.
 *
 *     A: Y = matmul(X, W)        B: T2 = matmul(T0, T1)      the same
 *                                B: T2 = matmul(T1, T0)      operand 1 differs
 *
 * Both are walked side by side, statement by statement. When the statements name a tensor, stream, index
 * or Communication at the same place, the two become a pair, and neither can be in another pair. Params
 * are paired by name, and the remaining ones in their order. Meshes and groups are the same if their
 * devices are. The order of statements, the transforms of layouts and the attributes are compared. The
 * machine on which the times of a graph were recorded is not. */
#ifndef HIRC_ANALYSIS_DIFFER_H
#define HIRC_ANALYSIS_DIFFER_H
#include "ir/ir.h"

/* The first difference, as it stands in each program. */
struct difference {
	struct buf what;    /* one line: the thing that differs */
	struct buf here[2]; /* the text in each program */
	uint32_t at[2];     /* offset in each source, or DIAG_NOWHERE */
};

/* Returns true if the programs are the same. Otherwise sets *out, which the caller frees. Printing
 * numbers the values, so the modules are not const. */
bool modules_same(struct module *a, struct module *b, struct difference *out);
void difference_free(struct difference *d);

#endif
