/* plan_packs: operands of products that are kept in the order that the device reads fastest. */
#ifndef HIRC_PLAN_PLAN_PACKS_H
#define HIRC_PLAN_PLAN_PACKS_H
#include "plan/plan.h"

/* Finds them, and sets `pack` of the tasks that share one. Where registers vary must be known. */
void plan_packs(struct plan *p);
/* Places them after all else in the memory. */
void plan_packs_place(struct plan *p);
/* Takes them out of a plan again. */
void plan_packs_drop(struct plan *p);

#endif
