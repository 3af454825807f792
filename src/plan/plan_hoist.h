/* plan_hoist: computes scalars before the loops that do not change them. */
#ifndef HIRC_PLAN_PLAN_HOIST_H
#define HIRC_PLAN_PLAN_HOIST_H
#include "plan/plan.h"

/* Moves every LET before the outermost loop in which none of its operands changes. This is safe since
 * one instruction writes each register, and a LET has no other effect. */
void plan_hoist(struct plan *p);

#endif
