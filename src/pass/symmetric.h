/* symmetric: helpers for passes that make views of the ranks' blocks side by side. */
#ifndef HIRC_PASS_SYMMETRIC_H
#define HIRC_PASS_SYMMETRIC_H
#include "ir/ir.h"

/* Returns the type in symmetric memory. */
type_id symmetric_type(struct module *m, type_id t);
/* Returns true if blocks of a type, side by side along an axis, form one block: no axis before it is
 * longer than 1, and there are no gaps. There are none if a rank's block is a multiple of `page` bytes;
 * page 0: the host's page. */
bool symmetric_is_one(const struct module *m, type_id t, unsigned dim, int64_t page);
/* Returns the reason why operations cannot read a view in place of a value. The view shows blocks side
 * by side along an axis; one: they form one block. NULL: they can, and *last is the last statement of a
 * block that is or contains a reader, 0 if there is none. */
const char *symmetric_unreadable(struct module *m, value_id v, unsigned dim, bool one, region_id block,
                                 op_id *last);
/* Returns the statement of a block that contains another one; 0: none. */
op_id symmetric_in(const struct module *m, region_id block, op_id op);
/* Turns a statement into the view of a buffer, with this type. */
void symmetric_view_make(struct module *m, op_id op, value_id buffer, value_id view, type_id type);
/* Makes a statement that ends the view. */
op_id symmetric_view_end(struct module *m, uint32_t at, value_id view);

#endif
