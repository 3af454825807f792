/* bound: which loops of a value's type are bound: the value is one block of theirs, not all.
 *
 *     V: f32[8@serial(4)@serial(2)] = allocate()     in a loop over serial(4): the outer one is bound, and
 *                                                    memory holds both blocks of the inner one
 *     v = shard_by_stream(V, j)                      both are bound: one block
 *
 * A buffer or a fresh value is the block of the loops that it stands in: its j-th stream (serial) axis goes
 * with the j-th stream (serial) loop of as many iterations. Each shard_by_stream binds one axis more. */
#ifndef HIRC_PASS_BOUND_H
#define HIRC_PASS_BOUND_H
#include "ir/ir.h"

/* Bit n: the n-th stream or serial axis of a type's loop domain, reduced ones not counted. */
typedef uint64_t bound_set;

/* Of a value's type. */
bound_set bound_of(const struct module *m, value_id v);
/* Of the type of a buffer that is made beside a statement. */
bound_set bound_beside(const struct module *m, type_id t, op_id op);
/* All of a type. */
bound_set bound_all(const struct module *m, type_id t);
/* Of a tensor that is moved to another in the loops of that one: those that both have. */
bound_set bound_shared(const struct module *m, type_id t, type_id with);
/* Whether an axis of a domain is one of them. */
bool bound_has(const struct domain *d, bound_set bound, unsigned axis);
/* The tensor axis of which a shard_by_stream binds a loop; -1: there is none. */
int bound_by_slice(const struct module *m, op_id shard);

#endif
