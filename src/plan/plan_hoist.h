/* plan_hoist: scalars that a loop does not change are computed before it. */
#ifndef HIRC_PLAN_PLAN_HOIST_H
#define HIRC_PLAN_PLAN_HOIST_H
#include "plan/plan.h"

/* Moves every LET in front of the outermost loop in which all it reads stays the same. Registers are written
 * by one instruction each, and a LET has no other effect. */
void plan_hoist(struct plan *p);

#endif
