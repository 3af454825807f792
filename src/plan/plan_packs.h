/* plan_packs: keeps operands of products in the order that the device reads fastest. */
#ifndef HIRC_PLAN_PLAN_PACKS_H
#define HIRC_PLAN_PLAN_PACKS_H
#include "plan/plan.h"

/* Finds such operands, and sets `pack` of the tasks that share one. plan->varies must be known. */
void plan_packs(struct plan *p);
/* Places the packs after all buffers in memory. */
void plan_packs_place(struct plan *p);
/* Removes the packs from a plan. */
void plan_packs_drop(struct plan *p);

#endif
