/* gathers: makes operations read gathered values in the memory of the ranks that have them.
 *
 *     G: f32[t, k] = set(X)                       X: f32[t@x, k]
 *     Y: f32[t, n@x] = matmul(G, W)
 *  →
 *     G: f32[t@block(x), k] = symmetric_view(X)
 *     Y: f32[t, n@x] = matmul(G, W)
 *     deallocate(G)
 *
 * If a loop gathers in steps, the blocks are slices of a view that is made before the loop and ended
 * after it:
 *
 *     for i in 0..2 parallel(stream) {
 *       G: f32[t@stream(2), k] = set(X)
 *       Y <- matmul(G, W)
 *     }
 *  →
 *     V: f32[t@block(x), k] = symmetric_view(X)
 *     for i in 0..2 parallel(stream) {
 *       G: f32[t@stream(2), k] = shard_by_stream(V, i)
 *       Y <- matmul(G, W)
 *     }
 *     deallocate(V)
 *
 * Gathers of one value along the same mesh axes share a view. If the loop itself makes the value, each
 * step has a view. The value then has memory for all steps, so that no step waits until others have read
 * it. */
#ifndef HIRC_PASS_GATHERS_H
#define HIRC_PASS_GATHERS_H
#include "pass/pass.h"
#include "pass/reshard.h"

/* A view that replaces gathers. */
struct gathered {
	value_id of, view;
	op_id end;
};
struct gathers {
	VEC(struct gathered) view;
};

/* Turns a gather into a view and returns NULL, or leaves it and returns the reason. */
const char *gathers(struct module *m, struct pass_context *cx, struct gathers *g, op_id op,
                    const struct reshard *r);

#endif
