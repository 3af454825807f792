/* memory_order: the order in memory that a collective needs of its tensors.
 *
 *     T1_g_float[iS2{3}, iS3{8}] = Allgather of T0_g_float[ideviceIdx.x4{2}, iS0{3}, iS5{4}]
 *
 * An allgather writes the blocks of the devices one after the other, so axis 1 is outermost in the memory
 * of both tensors. Any Communication in a loop over streams needs the block of an iteration in one place. */
#ifndef HIRC_IR_MEMORY_ORDER_H
#define HIRC_IR_MEMORY_ORDER_H
#include "ir/ir.h"

enum { MEMORY_NO_AXIS = -1 };

/* The order that a value's memory needs. */
struct memory_order {
	int axis;          /* the tensor axis that is outermost, or MEMORY_NO_AXIS */
	unsigned selected; /* bit set of the tensor axes of which a view shows one element */
	bool streamed;     /* a view shows the block of one iteration of a loop over streams */
};

/* Returns true if a statement is a collective with an operand and a result. axis: receives the tensor axis that it needs
 * outermost in the memory of both, or MEMORY_NO_AXIS. */
bool memory_order_needed(const struct module *m, op_id op, int *axis);
/* Returns the type with the order; the type itself if it has it, 0 if its memory is no permutation of its loops. */
type_id memory_order_type(struct module *m, type_id t, struct memory_order o);
/* Returns the operand whose memory a view or a sum along a device axis shows, with what is needed of it; 0: the value has
 * memory of its own, or its axes are others. */
value_id memory_order_shown(const struct module *m, value_id v, struct memory_order *o);

#endif
