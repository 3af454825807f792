/* chunks_chain: statements that are cut into the chunks of their operands, or of their results' readers.
 *
 *     Y: f32[64@stream(4), 8] = set(P)          Y: f32[64@stream(4), 8] = set(P)
 *     Z: f32[64, 8] = add(Y, R)            →    Z: f32[64@stream(4), 8] = add(Y, R)
 *     output V: f32[64, 8] = gelu(Z)            output V: f32[64@stream(4), 8] = gelu(Z)
 *
 * They come to stand side by side, so that stream-loops makes one loop of them. */
#ifndef HIRC_PASS_CHUNKS_CHAIN_H
#define HIRC_PASS_CHUNKS_CHAIN_H
#include "ir/domain.h"

/* The k-th statement that reads a value, in the order of the program; 0: there are fewer. */
op_id chunks_reader(const struct module *m, value_id v, unsigned k);
/* Returns true if all that a statement reads is there right after another one, which stands before it. */
bool chunks_may_move(struct module *m, op_id op, op_id after);
/* Adds placements to an axis of a value; false: it has loops, or would have too many placements. */
bool chunks_cut(struct module *m, value_id v, unsigned axis, const struct sugar_place *place, unsigned n);

/* From the result of a statement, which ends with these placements along one axis, on to its only readers.
 * How many statements are cut. */
unsigned chunks_follow(struct module *m, op_id op, const struct sugar_place *place, unsigned n);
/* From a statement whose result is cut back to the makers of its operands, which it alone reads. */
unsigned chunks_precede(struct module *m, op_id op, const struct sugar_place *place, unsigned n);

#endif
