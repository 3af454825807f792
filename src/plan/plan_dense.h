/* plan_dense: makes dense copies of a rank's part of a value; private to the planner.
 *
 *     X: f32[3, 9@x], x = 2, rank 1 has 3 lines of 4, room for 5      copy: 3 lines of 4
 *     X: f32[12@block(3)@x], rank 1 has 2 3, 6 7, 10 11               copy: 6 elements
 *
 * A communication or kernel that needs a box in memory uses the copy. Results are copied back. */
#ifndef HIRC_PLAN_PLAN_DENSE_H
#define HIRC_PLAN_PLAN_DENSE_H
#include "plan/planner.h"

/* Returns true if a copy can be made: all extents must be constant, except that of axis `lead` (-1:
 * none), which must be outermost in the copy. */
bool dense_possible(const struct planner *b, const struct view *v, int lead);
/* Makes the copy in a buffer of its own. order: its axes, outermost first; NULL: 0, 1, … If the rank has
 * several intervals of an axis, the copy numbers its elements from 0. Returns NULL after reporting. */
struct view *dense_view(struct planner *b, const struct view *v, const uint8_t *order);
/* Copies the rank's part into the copy, or back. after: copy after the wait for this statement; 0: now. */
bool dense_fill(struct planner *b, const struct view *dense, const struct view *v);
bool dense_drain(struct planner *b, const struct view *dense, const struct view *v, op_id after);

#endif
