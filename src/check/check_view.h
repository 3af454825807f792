/* check_view: names as parts of memory. */
#ifndef HIRC_CHECK_CHECK_VIEW_H
#define HIRC_CHECK_CHECK_VIEW_H
#include "check/checker.h"

bool check_view_is_here(const struct rank_check *w, value_id v);
/* Returns true if a loop made the buffer of a value and slices do not bind all its stream and serial axes. Then the
 * blocks may be those of the operand of the statement that writes the buffer, not those of the loops. */
bool check_view_may_follow(const struct rank_check *w, value_id v);
void check_view_input(struct rank_check *w, value_id v);
void check_view_buffer(struct rank_check *w, value_id v); /* for an ALLOCATE, or a result without one */
void check_view_shard(struct rank_check *w, op_id op);
void check_view_select(struct rank_check *w, op_id op);
/* Narrows the view of the operand of a slice to the elements that it reads, if no rank or loop splits the
 * axis. */
void check_view_slice(struct rank_check *w, op_id op, struct view *x);
/* Finds the interval of an axis of a view's type that the walk's rank has. cut: a slice along an axis of the
 * loop domain, with index `cut.at`; cut.axis -1: none. by: NULL, or SYMMETRY_MOST zeros that become how far
 * the interval moves on each turn. Returns false if the rank has several intervals, or if they are not
 * known. */
bool check_view_axis(struct rank_check *w, const struct view *x, type_id type, unsigned axis, struct cut cut,
                     struct part_axis *out, int64_t *by);
/* Breaks the turns that move the walk's rank to one with another number of elements of an axis. For an axis of
 * which check_view_axis finds no interval. */
void check_view_size(struct rank_check *w, const struct view *x, type_id type, unsigned axis);

#endif
