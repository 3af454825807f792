/* number: allots the numbers of tensors (T), scalars (i), axes, streams and Communications.
 *
 * Numbers are part of the IR. They are allotted in the order in which nvFuser's surface first prints
 * things. When a value is first printed, its loop axes take numbers; the halves of a split follow each
 * other, outer first. Axes outside the loop domain take numbers after all values, and only if the
 * TransformPrinter section or a HirAliasSelect prints them. Params and loop indices share one counter,
 * and so do Communications, P2PCommunications and EndCoalescings. Stream handles start at 1, all other
 * numbers at 0. Numbers that a file states are kept; new things take the smallest free numbers. */
#ifndef HIRC_IR_NUMBER_H
#define HIRC_IR_NUMBER_H
#include "ir/ir.h"

/* Allots every missing number. A second call changes nothing. */
void ir_number(struct module *m);
struct print_order;
void ir_number_in_order(struct module *m,
                        struct print_order *o); /* o: the order of this program in its present state */
/* Saves the numbers; ir_numbers_restore puts them back and frees the saved ones. Printing restores them,
 * so that a dump between passes does not change the final dump. */
struct ir_numbers;
struct ir_numbers *ir_numbers_save(const struct module *m);
void ir_numbers_restore(struct module *m, struct ir_numbers *saved);

/* Returns true if anything is nameless, so that the concise surface prints its number. */
bool ir_has_nameless(const struct module *m);
/* Sets names_meet of the module, as ir_number does. */
void ir_find_names_meet(struct module *m);
/* Returns true if parsing the concise surface again gives every number. It does so for T3, i3, c3 and
 * main3, the default names of nameless things. */
bool ir_numbers_are_default(struct module *m);
/* Returns the number of axis a (of its type's domain) of value v; -1: none. After ir_number only axes
 * that are never printed have none. */
int32_t ir_axis_number(const struct module *m, value_id v, unsigned a);
enum { NUMBER_BROADCAST = 1 << 30 }; /* added to the number of an axis that nvFuser prints as a broadcast */
bool ir_axis_is_broadcast(const struct module *m, value_id v, unsigned a);
void ir_set_axis_numbers(struct module *m, value_id v, const int32_t *number); /* axis_n entries; -1: none */
/* Prints `[7 b8 9]` of `ids X = T7 [7 b8 9]`: the loop axes in order, then the other axes in order if they
 * have numbers. b: a broadcast. Reading accepts both lengths and returns false for any other. */
void ir_print_axis_numbers(const struct module *m, value_id v, struct buf *out);
bool ir_read_axis_numbers(struct module *m, value_id v, const int64_t *list, unsigned n);

/* Appends a default name: T3, i3, c3, or for prefix m main, main2, … */
void ir_put_default_name(char prefix, int32_t number, struct buf *out);
/* Returns true for d5, b5 and f5: nvFuser's names of scalars of other types. Its surface prints a param so. */
bool ir_is_scalar_name(const struct module *m, name_id name);
bool ir_is_default_name(const struct module *m, name_id name, char prefix, int32_t number);

#endif
