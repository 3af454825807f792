/* symmetric: views of the ranks' blocks side by side, as passes make them. */
#ifndef HIRC_PASS_SYMMETRIC_H
#define HIRC_PASS_SYMMETRIC_H
#include "ir/ir.h"

/* A type in symmetric memory. */
type_id symmetric_type(struct module *m, type_id t);
/* Returns true if blocks of a type, side by side along an axis, are one block: none of the axes before it
 * is longer than 1, and there are no gaps, where a rank's block is a multiple of `page` bytes; 0: of the
 * host's. */
bool symmetric_is_one(const struct module *m, type_id t, unsigned dim, int64_t page);
/* The index of the option `page` of the pass zero-copy. */
enum { SYMMETRIC_OPTION_PAGE = 2 };
/* Returns the reason why operations cannot read a view in place of a value, in which blocks stand side by
 * side along an axis, as one or not; NULL: they can, and *last is the last statement of a block that reads it
 * or holds a reader, 0 if none does. */
const char *symmetric_unreadable(struct module *m, value_id v, unsigned dim, bool one, region_id block,
                                 op_id *last);
/* The statement of a block that holds another; 0: none does. */
op_id symmetric_in(const struct module *m, region_id block, op_id op);
/* Makes a statement the view of a buffer, with this type. */
void symmetric_view_make(struct module *m, op_id op, value_id buffer, value_id view, type_id type);
/* A statement that ends it. */
op_id symmetric_view_end(struct module *m, uint32_t at, value_id view);

#endif
