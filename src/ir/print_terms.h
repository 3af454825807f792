/* print_terms: finds values that nvFuser's surface does not print, since the reader of a later statement makes them.
 *
 *     T5 = sum(T4, axis=0)            Communication 7 (type=Allreduce, input=T4…    along a device axis
 *     T5 = select(T4, axis=0, index=0)    P2PCommunication 7 (type=send, buffer=T4…    likewise
 *     T6 = slice(T4, axis=0, …)       T7 = slice( T4…, { {0, 2, 1} {3, 6, 1} } )
 *     T7 = slice(T6, axis=1, …)
 *     T6 = iota()                     T7 = eye(4, float);
 *     T7 = one_hot(T6)
 *     T6 = reshape(T5, [k, 1])        T8 = matmul(T4…, T5…)                         T5 is a vector
 *     T7 = matmul(T4, T6)
 *     T8 = reshape(T7)
 *
 * One statement uses each of them. They are marked in print_order.term. */
#ifndef HIRC_IR_PRINT_TERMS_H
#define HIRC_IR_PRINT_TERMS_H
#include "ir/print_order.h"

void print_terms_find(struct module *m, struct print_order *o);
/* Returns true if a statement makes such a value, so that it is not printed. */
bool print_term_is_made(const struct module *m, const struct print_order *o, op_id op);
/* Returns the value that is printed for an operand. */
value_id print_term_operand(const struct module *m, const struct print_order *o, value_id v);
/* Returns true if nvFuser's form of a pad or slice, {before, after} or {start, stop, 1} of each axis, tells all of it. */
bool print_term_is_plain(struct module *m, op_id op);
/* Returns the matmul that is printed for a reshape; 0: the reshape itself is. */
op_id print_term_product(const struct module *m, const struct print_order *o, op_id op);

#endif
