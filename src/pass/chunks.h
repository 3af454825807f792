/* chunks: cuts a collective and the products beside it into chunks that loops compute (stream-loops).
 *
 *     G: f32[64, 32] = set(X)                   G: f32[64@block(x)@stream(4), 32] = set(X)
 *     Y: f32[64, 8@x] = matmul(G, W)       →    Y: f32[64@block(x)@stream(4), 8@x] = matmul(G, W)
 *
 *     P: f32[64, 8] partial(x) = matmul(X, W)   P: f32[64@stream(4), 8] partial(x) = matmul(X, W)
 *     Y: f32[64, 8] = set(P)               →    Y: f32[64@stream(4), 8] = set(P)
 *
 * Products read the gathered tensor, or a product makes the reduced one. They are moved next to the
 * collective. An axis that is gathered or scattered can also be cut by rank: each step moves the block
 * of one rank, either the same rank for all or another one for each (a ring). */
#ifndef HIRC_PASS_CHUNKS_H
#define HIRC_PASS_CHUNKS_H
#include "ir/ir.h"

enum chunks_kind {
	CHUNKS_PARTS,  /* n chunks, each with a part of every rank's block */
	CHUNKS_BLOCKS, /* n@stream(size(x)): a step moves the block of one rank */
	CHUNKS_RING    /* n@swizzle1d(x): a step moves another rank's block for each */
};

struct chunks {
	op_id op;      /* the collective */
	unsigned axis; /* axis of the gathered or reduced tensor */
	enum chunks_kind kind;
	int64_t n;  /* for PARTS */
	bool chain; /* also cut statements before and after; fails if there are none */
};

/* Returns true if the statement is an allgather, allreduce or reduce-scatter with products beside it,
 * and the statements may be cut along some axis. *rank: number of axes. */
bool chunks_possible(struct module *m, op_id op, unsigned *rank);
/* Returns the largest number of chunks: the elements of the axis on a rank. */
int64_t chunks_most(struct module *m, const struct chunks *c);
/* Makes the change. Returns false if it is not possible; the program may then be half changed. */
bool chunks_make(struct module *m, const struct chunks *c);

#endif
