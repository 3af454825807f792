/* order: the order in memory that a collective needs.
 *
 * The ranks' blocks of an allgather stand one after the other in the result's memory, so the axis
 * that is gathered must be outermost in the local allocation (axes of local extent 1 do not count);
 * likewise the axis that a reduce_scatter cuts. Every Communication takes contiguous buffers whose
 * other axes stand in one order. */
#ifndef HIRC_PASS_ORDER_H
#define HIRC_PASS_ORDER_H
#include "ir/bound.h"
#include "pass/reshard.h"

struct order_side {
	type_id type;
	bound_set bound; /* loop axes of which it is one block */
};
/* Copies that the communication between two tensors needs, as allocation types: 0 when the tensor
 * serves as it is. */
void order_needs(struct module *m, struct order_side from, struct order_side to, const struct reshard *r,
                 type_id *before, type_id *after);
/* A type allocated streamed, contiguous, the bound loop axes first, then the tensor axes in this order. */
type_id order_with(struct module *m, struct order_side s, const uint8_t *dims, unsigned n);
/* A type allocated streamed, without gaps, in the order of the tensor axes. */
type_id order_row_major(struct module *m, type_id t);
/* A type allocated streamed, its tensor axes in the order of another's, of which both loops' blocks are one.
 */
type_id order_like(struct module *m, type_id t, type_id like);
/* Returns the type in that order, without gaps. */
type_id order_dense(struct module *m, struct order_side s);
/* The type with its stream and serial splits in (out of) its allocation, the order kept otherwise. */
type_id order_streamed(struct module *m, type_id t, bool streamed);
/* Returns true if the local axes stand in memory in the order of the tensor axes, without gaps. */
bool order_is_row_major(struct module *m, type_id t);
/* Returns true if the local axes of two tensors of one shape stand in one order. */
bool order_same(struct module *m, type_id a, type_id b);
/* Returns true if a buffer of one slice has gaps: the axis that a loop cuts unevenly is not outermost, so
 * that the last slice does not fill it. */
bool order_pads(struct module *m, struct order_side s);
/* Returns true if some block, of any kind, of an axis that is not outermost is not full. */
bool order_clips(struct module *m, type_id t);
/* Returns true if the storage of a value (a view of a larger one, perhaps) has no gaps. */
bool order_is_dense(struct module *m, value_id v);

#endif
