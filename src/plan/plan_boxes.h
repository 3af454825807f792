/* plan_boxes: plans operations on values that are several boxes in a step of a loop; private to the
 * planner.
 *
 *     XG: f32[16@block(2)@stream(2), 8]        step i: rows 4i … 4i + 3, and 8 + 4i … 8 + 4i + 3
 *
 * An operation is planned for each box of its result. An operand that is cut in the same way contributes
 * the box with the same number. */
#ifndef HIRC_PLAN_PLAN_BOXES_H
#define HIRC_PLAN_PLAN_BOXES_H
#include "plan/planner.h"

enum { MAX_BOXES = 1024 };

struct boxes {
	int64_t n;                    /* the product of `axis` */
	int64_t axis[IR_MAX_LOGICAL]; /* by axis: number of intervals */
};

/* Finds the number of boxes that a rank has of a value; it is the same on all ranks. Returns false if
 * the value is not made of boxes, or if there are too many. */
bool boxes_of(struct planner *b, const struct view *v, struct boxes *out);
/* Returns a view of one box. */
struct view *boxes_view(struct planner *b, const struct view *v, const struct boxes *boxes, int64_t k);
/* Finds the interval of an axis in box k on a rank. */
bool boxes_interval(struct planner *b, const struct view *v, const struct boxes *boxes, int64_t k,
                    unsigned axis, int64_t rank, sx_id *off, sx_id *len);

/* Plans a statement for one box. */
typedef void boxes_plan(struct planner *b, op_id op, struct view *result, const struct operand_ref *in,
                        unsigned n);
/* Plans an operation if an operand or the result is several boxes in a step of a loop, or, with `positions`, on a
 * rank. Returns false if that is not so, or if the operation cannot be computed box by box. */
bool boxes_each(struct planner *b, op_id op, bool positions, struct view *result,
                const struct operand_ref *in, unsigned n, boxes_plan *plan);
/* Copies all boxes, one after the other, into a buffer; or, after the wait for a statement (after; 0:
 * into), out of it. *run: the elements of the buffer, *count of them. Axis `lead` (-1: the first) is
 * outermost in a box; only its extent may depend on a loop. Returns false after reporting. */
bool boxes_pack(struct planner *b, const struct view *v, int lead, op_id after, struct plan_view *run,
                sx_id *count);
/* Copies all elements of `to`, whose boxes may differ from those of `from`. Returns false if it did
 * nothing. */
bool boxes_copy(struct planner *b, const struct view *to, const struct view *from);

#endif
