/* turns: products whose sum over ranks is wanted in parts are added up in place, rank after rank.
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
 * In step i no two ranks write one block. The terms of a block are always added in one order: that of its
 * owner, then of the ranks before it. For each block BLAS packs B again: with few rows that takes longer than
 * to add up the ranks' sums (rows=). An allreduce makes such a Y, and reads it through a view. */
#ifndef HIRC_PASS_TURNS_H
#define HIRC_PASS_TURNS_H
#include "pass/pass.h"
#include "pass/reshard.h"

/* Rewrites a reduce-scatter or allreduce and returns NULL, or leaves it and returns why. */
const char *turns(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r);

#endif
