/* number_axes: numbers axes for ir_number, and stores their numbers.
 *
 * Usually ir_number gives the loop axes of a value consecutive numbers; the first is in value.axis_base.
 * Other values have a list in module.axis_ids: the domain, then a number for each axis, with NUMBER_BROADCAST if
 * nvFuser prints the axis as a broadcast. */
#ifndef HIRC_IR_NUMBER_AXES_H
#define HIRC_IR_NUMBER_AXES_H
#include "ir/number_counter.h"
#include "ir/print_order.h"

enum { NUMBER_NO_PLACE = 255 };

/* Finds, by axis, the place of a loop axis in the sequence of the value's numbers: the halves of a split
 * follow each other, outer first. NUMBER_NO_PLACE for axes outside the loop domain. */
void number_axis_places(const struct domain *d, uint8_t *place);
/* Returns the list of a value by axis; NULL if it has none, or one for a former domain. */
const int32_t *number_axis_list(const struct module *m, value_id v);
/* Returns true if nvFuser prints an axis of the value as a broadcast. */
bool number_has_broadcast(const struct module *m, value_id v);
/* Returns true if the numbers of the loop axes are consecutive, however they are stored. */
bool number_axes_are_in_a_row(const struct module *m, value_id v);

/* Claims the numbers that values have, then numbers all other loop axes. */
void number_allot_loop_axes(struct module *m, const struct print_order *o, struct number_counter *c);
/* Numbers the other axes of v, in the order of the TransformPrinter block that prints them. */
void number_allot_block(struct module *m, value_id v, struct number_counter *c);
/* Removes the numbers of the other axes: a foreign dump may state numbers that hirc never prints. */
void number_forget_block(struct module *m, value_id v);

#endif
