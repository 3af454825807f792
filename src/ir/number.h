/* number: T, i, axis, stream and Communication numbers.
 *
 * Numbers are IR state, allotted in the order in which the nvFuser surface first prints things: a
 * value takes numbers for its loop axes when it is printed first, the halves of a split together,
 * outer first; axes outside the loop domain follow after all values, those of a value only when the
 * TransformPrinter section or a HirAliasSelect prints them. Params and loop indices share one
 * counter, and so do Communications, P2PCommunications and EndCoalescings. Stream handles start at 1,
 * all else at 0. Numbers that a file states are kept; new things take the smallest that are free. */
#ifndef HIRC_IR_NUMBER_H
#define HIRC_IR_NUMBER_H
#include "ir/ir.h"

/* Allots every number that is missing. Idempotent. */
void ir_number(struct module *m);
struct print_order;
void ir_number_in_order(struct module *m, struct print_order *o); /* of this program as it is */
/* The numbers as they are now; ir_numbers_restore puts them back and frees the saved ones. Printing
 * leaves a module as it was, so that a dump on the way does not change the final one. */
struct ir_numbers;
struct ir_numbers *ir_numbers_save(const struct module *m);
void ir_numbers_restore(struct module *m, struct ir_numbers *saved);

/* Returns true if anything has no name: the concise surface prints its number. */
bool ir_has_nameless(const struct module *m);
/* Sets names_meet, as ir_number does. */
void ir_find_names_meet(struct module *m);
/* Returns true if the concise surface, parsed again, would give every number: those in T3, i3, c3 and main3
 * of things without a name of their own. */
bool ir_numbers_are_default(struct module *m);
/* The number of axis a (of its type's domain) of value v; -1: none, which after ir_number only axes
 * have that are never printed. */
int32_t ir_axis_number(const struct module *m, value_id v, unsigned a);
void ir_set_axis_numbers(struct module *m, value_id v, const int32_t *number); /* axis_n entries, -1: none */
/* `[7 8 9]` of the concise surface's `ids X = T7 [7 8 9]`: the loop axes in order, then, if they have
 * numbers, the others in order. Reading takes either length; false for any other. */
void ir_print_axis_numbers(const struct module *m, value_id v, struct buf *out);
bool ir_read_axis_numbers(struct module *m, value_id v, const int64_t *list, unsigned n);

/* Appends the name of a thing that has none: T3, i3, c3 and, for prefix m, main, main2, … */
void ir_put_default_name(char prefix, int32_t number, struct buf *out);
bool ir_is_default_name(const struct module *m, name_id name, char prefix, int32_t number);

#endif
