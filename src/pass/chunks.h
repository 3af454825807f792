/* chunks: a collective and the products beside it, cut into chunks that loops compute (stream-loops).
 *
 *     G: f32[64, 32] = set(X)                   G: f32[64@block(x)@stream(4), 32] = set(X)
 *     Y: f32[64, 8@x] = matmul(G, W)       →    Y: f32[64@block(x)@stream(4), 8@x] = matmul(G, W)
 *
 *     P: f32[64, 8] partial(x) = matmul(X, W)   P: f32[64@stream(4), 8] partial(x) = matmul(X, W)
 *     Y: f32[64, 8] = set(P)               →    Y: f32[64@stream(4), 8] = set(P)
 *
 * Products read the gathered tensor; a product makes the reduced one. They come to stand beside the
 * collective. An axis that is gathered, or scattered, can go block by block, too: of one rank a step, all the
 * same or in a ring. */
#ifndef HIRC_PASS_CHUNKS_H
#define HIRC_PASS_CHUNKS_H
#include "ir/ir.h"

enum chunks_kind {
	CHUNKS_PARTS,  /* n of them, in each a part of every rank's block */
	CHUNKS_BLOCKS, /* n@stream(size(x)): the block of one rank, from or to it */
	CHUNKS_RING    /* n@swizzle1d(x): another rank's for each */
};

struct chunks {
	op_id op;      /* the collective */
	unsigned axis; /* of the gathered, or reduced, tensor */
	enum chunks_kind kind;
	int64_t n; /* PARTS */
	bool
	    chain; /* with the statements before and behind that can be cut, too; false when there are none */
};

/* Returns true if the statement is an allgather, allreduce or reduce-scatter with products beside it that can
 * be cut with it along some axis, as far as their statements say. *rank: the axes. */
bool chunks_possible(struct module *m, op_id op, unsigned *rank);
/* Returns the largest number of chunks: elements of the axis, on a rank. */
int64_t chunks_most(struct module *m, const struct chunks *c);
/* Makes the change. False: that is not possible; then something may have been changed. */
bool chunks_make(struct module *m, const struct chunks *c);

#endif
