/* ring_reduce: makes a reduce-scatter in the steps of a ring.
 *
 *     P: f32[t@swizzle1d(x), n] partial(x) = …       in step i the block (r + i) mod d, on rank r of d
 *     Y: f32[t@x, n] = set(P)
 *  →
 *     T: f32[d, t@x, n] = allocate()                 before the loop
 *       b = select(T, axis=0, index=(d + (r - i)) % d)
 *       b <- collective_permute(P, axis=x, send_peer=(r + i) % d, recv_peer=(d + (r - i)) % d)
 *     Y: f32[t@x, n] = sum(T, axis=0)                after it
 *
 * Every rank's part has a place of its own, so that steps need not wait for each other. */
#ifndef HIRC_PASS_RING_REDUCE_H
#define HIRC_PASS_RING_REDUCE_H
#include "pass/pass.h"
#include "pass/reshard.h"

/* op: the set, in the loop; r: its change of layout. Returns false, with nothing done, if T cannot be
 * made. */
bool ring_reduce(struct module *m, struct pass_context *cx, op_id loop, op_id op, const struct reshard *r);

#endif
