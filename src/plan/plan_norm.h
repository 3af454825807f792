/* plan_norm: the state and functions that the planners of norms and of attention share. */
#ifndef HIRC_PLAN_PLAN_NORM_H
#define HIRC_PLAN_PLAN_NORM_H
#include "plan/planner.h"

enum { PLAN_NORM_OPERANDS = 7 };

struct norm {
	struct planner *b;
	op_id op;
	struct view *result;
	unsigned nd;
	sx_id n[IR_MAX_LOGICAL + 1], at[IR_MAX_LOGICAL];
	int64_t extent[IR_MAX_LOGICAL];
	enum dtype wide;
	bool ok;
};

/* Returns the window on an operand whose axes match the result's from the right. Axes before `keep` with one
 * element are left out. */
struct plan_view plan_norm_window(struct norm *x, const struct view *v, unsigned keep);
double plan_norm_number(const struct norm *x, const char *key, double otherwise); /* of an attribute */

/* Plan result k of attention, and of its gradients. *found: scratch memory that result 0 leaves for the others. */
void plan_attention(struct norm *x, unsigned k, struct view *const *in, struct plan_view *found);
void plan_attention_gradient(struct norm *x, unsigned k, struct view *const *in, struct plan_view *found);

#endif
