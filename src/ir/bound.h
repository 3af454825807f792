/* bound: finds the bound loops of a value's type. Of a bound loop the value has one block, not all
 * blocks.
 *
 *     V: f32[8@serial(4)@serial(2)] = allocate()     in a loop over serial(4): the outer one is bound, and
 *                                                    memory holds both blocks of the inner one
 *     v = shard_by_stream(V, j)                      both are bound: memory holds one block
 *
 * A buffer or a fresh value in loops is one block of these loops. Its j-th stream (serial) axis goes
 * with the j-th enclosing stream (serial) loop, if that runs from 0 and has as many iterations. Each
 * shard_by_stream binds one more axis. */
#ifndef HIRC_IR_BOUND_H
#define HIRC_IR_BOUND_H
#include "ir/ir.h"

/* Bit n is the n-th stream or serial axis of a type's loop domain; reduced axes are not counted. */
typedef uint64_t bound_set;

/* Returns the bound loops of a value's type. */
bound_set bound_of(const struct module *m, value_id v);
/* Returns the bound loops for a type, if a buffer of this type is made beside a statement. */
bound_set bound_beside(const struct module *m, type_id t, op_id op);
/* Returns all loops of a type. */
bound_set bound_all(const struct module *m, type_id t);
/* Returns the loops that a tensor shares with another one, when it is moved to the other's layout in the
 * loops of that. */
bound_set bound_shared(const struct module *m, type_id t, type_id with);
/* Returns true if an axis of a domain is in the set. */
bool bound_has(const struct domain *d, bound_set bound, unsigned axis);

/* The bound loops of each tensor axis, one bit a level, outermost first; the last entry is for axes that
 * several tensor axes share. Types change along a chain of views, but levels do not: a slice has loops
 * that its buffer lacks. */
struct bound_levels {
	uint64_t of[IR_MAX_LOGICAL + 1];
};
/* Finds the bound levels of a value. */
void bound_levels_of(const struct module *m, value_id v, struct bound_levels *out);
/* Returns the loop axis, in the result's domain, that a shard_by_stream of a value with these levels
 * binds; -1 if none is left. */
int bound_next(const struct domain *d, const struct bound_levels *levels);
/* The step of each bound loop, by axis of the value's loop domain: an expression over the indices of the
 * enclosing loops; 0: not bound. */
struct bound_steps {
	expr_id of[IR_MAX_AXES];
};
void bound_steps_of(struct module *m, value_id v, struct bound_steps *out);
/* The steps in one iteration. */
struct bound_at {
	uint64_t axes;             /* bit set of the bound axes */
	int64_t step[IR_MAX_AXES]; /* by bound axis */
};
/* Returns the loops of a domain that have these levels. */
bound_set bound_in(const struct domain *d, const struct bound_levels *levels);
/* Finds the tensor axis of a loop axis, and its level. Returns false if the axis is not a loop of one. */
bool bound_level(const struct domain *d, unsigned axis, unsigned *tensor_axis, unsigned *level);

#endif
