/* turns_loop: handles products that a loop computes and reduces in as many steps as there are ranks.
 *
 *     for i in 0..size(x) parallel(stream) {
 *       a: f32[t@stream(size(x)), k@x] = shard_by_stream(A, i)
 *       P: f32[t@stream(size(x)), n] partial(x) = matmul(a, B)
 *       Y <- set(P)                                              Y: f32[t@x, n]
 *     }
 *
 * It becomes the loop of turns.h for the whole product. There, too, a rank computes one block in a step,
 * but each rank a different one. */
#ifndef HIRC_PASS_TURNS_LOOP_H
#define HIRC_PASS_TURNS_LOOP_H
#include "pass/pass.h"
#include "pass/reshard.h"

/* Rewrites the reduction of a step and returns NULL, or leaves it and returns the reason. */
const char *turns_loop(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r);

#endif
