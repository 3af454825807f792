/* turns: adds up products in place, rank after rank, if each rank needs a part of their sum.
 *
 *     P: f32[t, n] partial(x) = matmul(A, B)        A: f32[t, k@x], B: f32[k@x, n]
 *     Y: f32[t@x, n] = set(P)
 *  →
 *     Y: f32[t@x, n] symmetric = allocate()
 *     for i in 0..size(x) {
 *       V: f32[t@block(x), n] = symmetric_view(Y)
 *       a: f32[t@serial(size(x)), k@x] = shard_by_stream(A, (axis_index(x) + i) % size(x))
 *       v: f32[t@serial(size(x)), n] = shard_by_stream(V, (axis_index(x) + i) % size(x))
 *       if i == 0 { v <- matmul(a, B, accumulate=false) } else { v <- matmul(a, B, accumulate=true) }
 *       deallocate(V)
 *     }
 *
 * In a step, no two ranks write the same block. The terms of a block are always added in the same order:
 * that of its owner, then those of the ranks before it. BLAS packs B again for each block; with few rows
 * this takes longer than adding up the ranks' sums (option rows=). An allreduce makes such a Y as well,
 * and reads it through a view. */
#ifndef HIRC_PASS_TURNS_H
#define HIRC_PASS_TURNS_H
#include "pass/pass.h"
#include "pass/reshard.h"

/* Rewrites a reduce-scatter or allreduce and returns NULL, or leaves it and returns the reason. */
const char *turns(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r);

#endif
