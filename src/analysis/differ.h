/* differ: compares two programs, but for names and numbers.
 *
 *     A: Y = matmul(X, W)        B: T2 = matmul(T0, T1)      the same
 *                                B: T2 = matmul(T1, T0)      operand 1 differs
 *
 * Both are walked side by side, statement by statement. The things that both name at one place (a
 * tensor, a stream, an index, a Communication) is a pair from then on, and each is in one pair. Params are
 * pairs by name, those of other names in their order; meshes and groups are those of the same devices. The
 * order of statements counts, and so do transforms of layouts and attributes; the machine of a graph's
 * recorded times does not. */
#ifndef HIRC_ANALYSIS_DIFFER_H
#define HIRC_ANALYSIS_DIFFER_H
#include "ir/ir.h"

/* The first difference, as each program has it. */
struct difference {
	struct buf what;    /* the difference, one line; of both */
	struct buf here[2]; /* how it is in each */
	uint32_t at[2];     /* offset in each source; DIAG_NOWHERE: none */
};

/* The programs are only printed from, which numbers them. False: *out is set; free it. */
bool modules_same(struct module *a, struct module *b, struct difference *out);
void difference_free(struct difference *d);

#endif
