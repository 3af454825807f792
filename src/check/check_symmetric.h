/* check_symmetric: views of other ranks' memory, and fences. */
#ifndef HIRC_CHECK_CHECK_SYMMETRIC_H
#define HIRC_CHECK_CHECK_SYMMETRIC_H
#include "check/checker.h"

void symmetric_view(struct rank_check *w, op_id op);
void symmetric_free(struct rank_check *w, op_id op, value_id v);
/* Notes that op cuts a symmetric view x by an index, its scalar operand. axis: the logical axis of the
 * buffer, -1: not known. type and leaf: the axis of a type's loop domain, leaf -1: none. type 0: op is a
 * select. */
void symmetric_cut(struct rank_check *w, op_id op, struct view *x, int axis, type_id type, int logical,
                   int leaf);
/* Notes that ranks which do not take the branches around an access touch nothing through x. */
void symmetric_leave_out(struct rank_check *w, op_id op, struct view *x);
/* Returns true if some rank takes another branch of an IF than a rank on which the condition has the value
 * `holds`. */
bool symmetric_divides(struct rank_check *w, op_id op, bool holds);
/* Returns true if a slice's index is the same on all ranks and in all of their iterations. */
bool symmetric_is_alike(const struct rank_check *w, op_id op);
/* Returns true if two accesses may touch one element on two ranks. who: one device for each. */
bool symmetric_meets(struct rank_check *w, const struct view *a, const struct view *b, uint32_t *who);
/* Returns true if, for every rank with this clock, a step of a thread is over on all ranks that a view
 * shows. */
bool symmetric_is_over(const struct rank_check *w, uint32_t symmetric, const struct clock *clock,
                       uint32_t thread, uint32_t step);
/* Returns a view of a buffer that is not freed; 0: there is none. */
uint32_t symmetric_of(const struct rank_check *w, uint32_t storage);
void symmetric_free_all(struct rank_check *w);

#endif
