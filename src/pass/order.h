/* order: finds the order in memory that a collective needs.
 *
 * An allgather writes the ranks' blocks one after the other. So the gathered axis must be outermost in
 * the local allocation of the result; axes of local extent 1 do not count. The same holds for the axis
 * that a reduce_scatter cuts. Every Communication needs contiguous buffers whose other axes are in the
 * same order. */
#ifndef HIRC_PASS_ORDER_H
#define HIRC_PASS_ORDER_H
#include "ir/bound.h"
#include "pass/reshard.h"

struct order_side {
	type_id type;
	bound_set bound; /* loop axes of which it is one block */
};
/* Finds the copies that a communication between two tensors needs, as allocation types; 0: the tensor
 * needs none. */
void order_needs(struct module *m, struct order_side from, struct order_side to, const struct reshard *r,
                 type_id *before, type_id *after);
/* Returns a type with contiguous streamed allocation: the bound loop axes first, then the tensor axes in
 * this order. */
type_id order_with(struct module *m, struct order_side s, const uint8_t *dims, unsigned n);
/* Returns a type with streamed allocation, without gaps, in the order of the tensor axes. */
type_id order_row_major(struct module *m, type_id t);
/* Returns a type with streamed allocation whose tensor axes are in the order of another type. One block
 * of the loops of both types is meant. */
type_id order_like(struct module *m, type_id t, type_id like);
/* Returns the type in its order, without gaps. */
type_id order_dense(struct module *m, struct order_side s);
/* Returns the type with its stream and serial splits in (or out of) its allocation; the order is kept
 * otherwise. */
type_id order_streamed(struct module *m, type_id t, bool streamed);
/* Returns true if the local axes are in memory in the order of the tensor axes, without gaps. */
bool order_is_row_major(struct module *m, type_id t);
/* Returns true if the local axes of two tensors of one shape are in the same order. */
bool order_same(struct module *m, type_id a, type_id b);
/* Returns true if a buffer of one slice has gaps: the axis that a loop cuts unevenly is not outermost,
 * so that the last slice does not fill the buffer. */
bool order_pads(struct module *m, struct order_side s);
/* Returns true if some block of an axis that is not outermost is not full. */
bool order_clips(struct module *m, type_id t);
/* Returns true if the storage of a value, which may be a view of a larger one, has no gaps. */
bool order_is_dense(struct module *m, value_id v);

#endif
