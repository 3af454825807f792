/* pack: the elements that pack and unpack move, as far as types show it.
 *
 *     P: f32[2@x, 20] = pack(A, B)          P's memory on a rank: that of A, then that of B
 *     P: f32[2, 10] = pack(A, B, blocks=2)  the first halves of A and B, then the second ones
 *     C: …, D: … = unpack(P)                the inverse
 *
 * A value's memory on a rank is the rank's part of it, in the order of the allocation domain, without
 * gaps. Every rank holds the same number of elements: splits divide, so that no block is short. All values
 * are of one dtype, or the packed one is u8 and has the bytes of the others. */
#ifndef HIRC_IR_PACK_H
#define HIRC_IR_PACK_H
#include "ir/ir.h"

/* blocks=, 1 when it is left out; 0: it is no number from 1 on. */
int64_t ir_pack_blocks(const struct module *m, op_id op);
/* The packed value: a pack's result, an unpack's operand. */
value_id ir_pack_packed(const struct module *m, op_id op);
/* The others, n of them, in order. */
const struct operand *ir_pack_parts(const struct module *m, op_id op, unsigned *n);
/* False: a split leaves a block short, `extent` in `parts`. */
bool ir_pack_is_even(const struct module *m, type_id t, int64_t *extent, int64_t *parts);
/* Elements that each rank holds of a type without short blocks; false when that is not known, or when loops
 * may cut it. */
bool ir_pack_count(const struct module *m, type_id t, int64_t *out);
/* Writes the fault of a pack or unpack; false: types show none. */
bool ir_pack_fault(const struct module *m, op_id op, struct buf *out);

#endif
