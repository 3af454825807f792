/* plan_memory: places the slots of a plan's buffers in the memory of the run. */
#ifndef HIRC_PLAN_PLAN_MEMORY_H
#define HIRC_PLAN_PLAN_MEMORY_H
#include "plan/plan.h"

enum { PLAN_MAX_COPIES = 64 }; /* most copies of a buffer for iterations that use it at the same time */

/* Sets each slot's place and the plan's bytes. With target->as_checked only temporaries get copies. Returns false if an iteration writes a slot while the contents of an earlier iteration are
 * in use. Then copies[value] is doubled for the values of these buffers, and the plan must be made
 * again. *late: a buffer that has PLAN_MAX_COPIES already, or UINT32_MAX. */
bool plan_memory(struct plan *p, const struct plan_target *target, uint8_t *copies, uint32_t *late);

#endif
