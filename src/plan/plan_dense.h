/* plan_dense: dense copies of a rank's part of a value; for the planner.
 *
 *     X: f32[3, 9@x], x = 2, rank 1 has 3 lines of 4, room for 5      copy: 3 lines of 4
 *     X: f32[12@block(3)@x], rank 1 has 2 3, 6 7, 10 11               copy: 6 elements
 *
 * A communication or a kernel that needs a box in memory uses the copy; its results are copied back. */
#ifndef HIRC_PLAN_PLAN_DENSE_H
#define HIRC_PLAN_PLAN_DENSE_H
#include "plan/planner.h"

/* Returns true if a copy can be made: the extents are known here, but for that of axis `lead` (-1: none),
 * which must be the outermost in the copy. */
bool dense_possible(const struct planner *b, const struct view *v, int lead);
/* The copy, in a buffer of its own, its axes in this order (outermost first; NULL: 0, 1, …). An axis of which
 * the rank has several intervals counts just its elements, from 0. NULL: reported. */
struct view *dense_view(struct planner *b, const struct view *v, const uint8_t *order);
/* Copies the rank's part into the copy, or back; after: after the wait for a statement (0: now). */
bool dense_fill(struct planner *b, const struct view *dense, const struct view *v);
bool dense_drain(struct planner *b, const struct view *dense, const struct view *v, op_id after);

#endif
