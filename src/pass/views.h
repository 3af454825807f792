/* views: finds the result of several permutes, reshapes and copies of a tensor, one after the other. */
#ifndef HIRC_PASS_VIEWS_H
#define HIRC_PASS_VIEWS_H
#include "ir/ir.h"

/* Returns true if a statement only moves elements, all of its operand. A `set` counts, even if it
 * changes the layout. */
bool view_moves_elements(const struct module *m, op_id op);
/* Returns true if each element returns to its place in the logical tensor. op[n - 1] reads the tensor,
 * op[0] makes the result. Also returns false if symbolic extents are regrouped. */
bool views_are_identity(const struct module *m, const op_id *op, unsigned n);

#endif
