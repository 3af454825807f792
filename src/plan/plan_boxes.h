/* plan_boxes: values that are several boxes in a step of a loop; for the planner.
 *
 *     XG: f32[16@block(2)@stream(2), 8]        step i: rows 4i … 4i + 3, and 8 + 4i … 8 + 4i + 3
 *
 * An operation is planned for each box of its result, with the boxes of operands where they have the same. */
#ifndef HIRC_PLAN_PLAN_BOXES_H
#define HIRC_PLAN_PLAN_BOXES_H
#include "plan/planner.h"

enum { MAX_BOXES = 1024 };

struct boxes {
	int64_t n;                    /* the product of */
	int64_t axis[IR_MAX_LOGICAL]; /* the intervals of each axis */
};

/* Finds the number of boxes that a rank has of a value, the same on all ranks. False: the value is not made
 * of boxes, or there are too many. */
bool boxes_of(struct planner *b, const struct view *v, struct boxes *out);
/* One of them, as a view. */
struct view *boxes_view(struct planner *b, const struct view *v, const struct boxes *boxes, int64_t k);
/* The interval of an axis that box k is on a rank. */
bool boxes_interval(struct planner *b, const struct view *v, const struct boxes *boxes, int64_t k,
                    unsigned axis, int64_t rank, sx_id *off, sx_id *len);

/* Plans a statement for one box. */
typedef void boxes_plan(struct planner *b, op_id op, struct view *result, const struct operand_ref *in,
                        unsigned n);
/* Plans an operation of which an operand or the result is several boxes in a step of a loop. False: it is
 * none, or is not computed box by box. */
bool boxes_each(struct planner *b, op_id op, struct view *result, const struct operand_ref *in, unsigned n,
                boxes_plan *plan);
/* Copies all boxes, one after the other, into a buffer, or, after the wait for a statement (after; 0: into),
 * out of it; *run: the buffer's elements, *count of them. Axis `lead` (-1: the first) is outermost in a box,
 * the only one whose extent may depend on a loop. False: reported. */
bool boxes_pack(struct planner *b, const struct view *v, int lead, op_id after, struct plan_view *run,
                sx_id *count);
/* A copy of all that `to` holds, whose boxes may be others. False: nothing is done. */
bool boxes_copy(struct planner *b, const struct view *to, const struct view *from);

#endif
