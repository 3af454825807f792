/* views: the result of permutes, reshapes and copies of a tensor, one after the other. */
#ifndef HIRC_PASS_VIEWS_H
#define HIRC_PASS_VIEWS_H
#include "ir/ir.h"

/* Returns true if a statement takes the elements of its operand, and all of them. A `set` counts, whatever it
 * does to the layout. */
bool view_moves_elements(const struct module *m, op_id op);
/* Returns true if each element comes back to its place in the logical tensor: op[n - 1] reads the tensor,
 * op[0] makes the result. False also where symbolic extents are regrouped. */
bool views_are_identity(const struct module *m, const op_id *op, unsigned n);

#endif
