/* bound: which loops of a value's type are bound: the value is one block of theirs, not all.
 *
 *     V: f32[8@serial(4)@serial(2)] = allocate()     in a loop over serial(4): the outer one is bound, and
 *                                                    memory holds both blocks of the inner one
 *     v = shard_by_stream(V, j)                      both are bound: one block
 *
 * A buffer or a fresh value is the block of the loops that it stands in: its j-th stream (serial) axis goes
 * with the j-th stream (serial) loop of as many iterations, from 0 on. Each shard_by_stream binds one axis more. */
#ifndef HIRC_IR_BOUND_H
#define HIRC_IR_BOUND_H
#include "ir/ir.h"

/* Bit n: the n-th stream or serial axis of a type's loop domain, reduced ones not counted. */
typedef uint64_t bound_set;

/* Returns the bound loops of a value's type. */
bound_set bound_of(const struct module *m, value_id v);
/* Returns the bound loops of the type of a buffer that is made beside a statement. */
bound_set bound_beside(const struct module *m, type_id t, op_id op);
/* All of a type. */
bound_set bound_all(const struct module *m, type_id t);
/* Returns the bound loops of a tensor that is moved to another in the loops of that one: the loops that both
 * have. */
bound_set bound_shared(const struct module *m, type_id t, type_id with);
/* Returns true if an axis of a domain is in the set. */
bool bound_has(const struct domain *d, bound_set bound, unsigned axis);

/* Loops of each tensor axis, outermost first, a bit each; the last entry: of axes that several share. Types
 * along a chain of views differ, these do not: a slice has loops that its buffer has not. */
struct bound_levels {
	uint64_t of[IR_MAX_LOGICAL + 1];
};
/* Finds the bound levels of a value. */
void bound_levels_of(const struct module *m, value_id v, struct bound_levels *out);
/* The loop axis that a shard_by_stream of a value with these binds, of the domain of its result; -1: none is
 * left. */
int bound_next(const struct domain *d, const struct bound_levels *levels);
/* The step of each bound loop, by axis of the value's loop domain: expressions over the indices of loops
 * around the value; 0: not bound. */
struct bound_steps {
	expr_id of[IR_MAX_AXES];
};
void bound_steps_of(struct module *m, value_id v, struct bound_steps *out);
/* The same in an iteration. */
struct bound_at {
	uint64_t axes;             /* bits: those that are bound */
	int64_t step[IR_MAX_AXES]; /* of bound axes */
};
/* Returns the loops of a domain that the levels are. */
bound_set bound_in(const struct domain *d, const struct bound_levels *levels);
/* The tensor axis of a loop axis and its level. False: it is none. */
bool bound_level(const struct domain *d, unsigned axis, unsigned *tensor_axis, unsigned *level);

#endif
