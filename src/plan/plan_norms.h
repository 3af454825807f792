/* plan_norms: joins norms with the elementwise tasks right before and after them. */
#ifndef HIRC_PLAN_PLAN_NORMS_H
#define HIRC_PLAN_PLAN_NORMS_H
#include "plan/plan.h"

/* Makes one unit of a norm, the task that makes its operand and the task that reads its result, if the target
 * has kernels for such units (`row`) and rows are short enough. plan->varies must be known. Tasks and
 * instructions get new numbers. */
void plan_norms(struct plan *p, const struct plan_target *target);

#endif
