/* number_axes: the part of ir_number for axes, and the storage of their numbers.
 *
 * A value whose loop axes have numbers in a row, as ir_number allots them where nothing is in the way,
 * keeps the first: value.axis_base. Others have a list in module.axis_ids, its domain and then a
 * number for each axis. */
#ifndef HIRC_IR_NUMBER_AXES_H
#define HIRC_IR_NUMBER_AXES_H
#include "ir/number_counter.h"
#include "ir/print_order.h"

enum { NUMBER_NO_PLACE = 255 };

/* By axis: its place in the row of numbers that a value's loop axes get: the halves of a split
 * together, outer first. NUMBER_NO_PLACE outside the loop domain. */
void number_axis_places(const struct domain *d, uint8_t *place);
/* The list of a value, by axis; NULL: it has none, or one of a domain that it no longer has. */
const int32_t *number_axis_list(const struct module *m, value_id v);
/* Returns true if the loop axes have numbers in a row, kept either way. */
bool number_axes_are_in_a_row(const struct module *m, value_id v);

/* Claims the numbers that values have, then gives every loop axis one that has none. */
void number_allot_loop_axes(struct module *m, const struct print_order *o, struct number_counter *c);
/* Gives the other axes of v numbers: only a TransformPrinter block prints them, in its order. */
void number_allot_block(struct module *m, value_id v, struct number_counter *c);
/* Takes them away: a foreign dump may have stated numbers that hirc never prints. */
void number_forget_block(struct module *m, value_id v);

#endif
