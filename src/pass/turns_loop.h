/* turns_loop: products that a loop makes and reduces in as many steps as there are ranks, in turns.
 *
 *     for i in 0..size(x) parallel(stream) {
 *       a: f32[t@stream(size(x)), k@x] = shard_by_stream(A, i)
 *       P: f32[t@stream(size(x)), n] partial(x) = matmul(a, B)
 *       Y <- set(P)                                              Y: f32[t@x, n]
 *     }
 *
 * becomes the loop of turns.h of the whole product: in a step of it, too, a rank makes one of these blocks,
 * but each rank another one. */
#ifndef HIRC_PASS_TURNS_LOOP_H
#define HIRC_PASS_TURNS_LOOP_H
#include "pass/pass.h"
#include "pass/reshard.h"

/* Rewrites a step's reduction and returns NULL, or leaves it and returns why. */
const char *turns_loop(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r);

#endif
