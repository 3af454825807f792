/* keeps_index: how elements of a message or collective are matched, by their index or by their place in memory. */
#ifndef HIRC_IR_KEEPS_INDEX_H
#define HIRC_IR_KEEPS_INDEX_H
#include "ir/ir.h"

/* Returns true if elements keep their index on the way from the operand of one statement to the result of another one
 * or the same: both tensors have equal extents, and the receiver does not state by_place=true. */
bool ir_keeps_index(const struct module *m, op_id from, op_id to);
/* Returns true if a transfer of a listing is by place unless a line says otherwise: a recv into a tensor of which each
 * device has a block of its own, so that another device's block cannot keep its index, or a permute from such a tensor
 * to one with the extents of a block. */
bool ir_is_printed_by_place(const struct module *m, op_id op);

#endif
