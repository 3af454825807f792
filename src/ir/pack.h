/* pack: finds the elements that pack and unpack move, as far as the types tell.
 *
 *     P: f32[2@x, 20] = pack(A, B)          P's memory on a rank: that of A, then that of B
 *     P: f32[2, 10] = pack(A, B, blocks=2)  the first halves of A and B, then the second ones
 *     C: …, D: … = unpack(P)                the inverse
 *
 * The memory of a value on a rank is the rank's part, in the order of the allocation domain, without
 * gaps. Every rank holds the same number of elements: splits must divide their extents, so that no block
 * is short. All values have one dtype, or the packed value is u8 and contains the bytes of the others. */
#ifndef HIRC_IR_PACK_H
#define HIRC_IR_PACK_H
#include "ir/ir.h"

/* Returns blocks=, 1 if it is absent, or 0 if it is no number of at least 1. */
int64_t ir_pack_blocks(const struct module *m, op_id op);
/* Returns the packed value: the result of a pack, or the operand of an unpack. */
value_id ir_pack_packed(const struct module *m, op_id op);
/* Returns the n other values in order. */
const struct operand *ir_pack_parts(const struct module *m, op_id op, unsigned *n);
/* Returns false if a split leaves a short block: `extent` cut in `parts`. */
bool ir_pack_is_even(const struct module *m, type_id t, int64_t *extent, int64_t *parts);
/* Counts the elements that each rank holds of a type without short blocks. Returns false if the number
 * is unknown or loops may cut the type. */
bool ir_pack_count(const struct module *m, type_id t, int64_t *out);
/* Writes the fault of a pack or unpack. Returns false if the types show none. */
bool ir_pack_fault(const struct module *m, op_id op, struct buf *out);

#endif
