/* chunks_chain: cuts statements into the chunks of their operands, or of the readers of their results.
 *
 *     Y: f32[64@stream(4), 8] = set(P)          Y: f32[64@stream(4), 8] = set(P)
 *     Z: f32[64, 8] = add(Y, R)            →    Z: f32[64@stream(4), 8] = add(Y, R)
 *     output V: f32[64, 8] = gelu(Z)            output V: f32[64@stream(4), 8] = gelu(Z)
 *
 * They are moved next to each other, so that stream-loops makes one loop of them. */
#ifndef HIRC_PASS_CHUNKS_CHAIN_H
#define HIRC_PASS_CHUNKS_CHAIN_H
#include "ir/domain.h"

/* Returns the k-th statement that reads a value, in the order of the program; 0: there are fewer. */
op_id chunks_reader(const struct module *m, value_id v, unsigned k);
/* Returns true if all operands of a statement exist right after an earlier statement `after`. */
bool chunks_may_move(struct module *m, op_id op, op_id after);
/* Adds placements to an axis of a value. Returns false if the axis has loops or would have too many
 * placements. */
bool chunks_cut(struct module *m, value_id v, unsigned axis, const struct sugar_place *place, unsigned n);

/* Follows the result of a statement to its only readers and cuts them. The result ends with these
 * placements along one axis. Returns the number of statements cut. */
unsigned chunks_follow(struct module *m, op_id op, const struct sugar_place *place, unsigned n);
/* Goes back from a statement whose result is cut to the makers of operands that only it reads, and cuts
 * them. Returns the number of statements cut. */
unsigned chunks_precede(struct module *m, op_id op, const struct sugar_place *place, unsigned n);

#endif
