/* plan_memory: where the slots of a plan's buffers lie in the memory of the run. */
#ifndef HIRC_PLAN_PLAN_MEMORY_H
#define HIRC_PLAN_PLAN_MEMORY_H
#include "plan/plan.h"

enum { PLAN_MAX_COPIES = 64 }; /* of a buffer, for as many iterations that have it in use at once */

/* apart: no two slots share one, and only temporaries have copies.
 * Sets each slot's place and the plan's bytes. False: an iteration writes a slot while the contents of an
 * earlier one are in use. Then copies[value] is doubled for the values of such buffers, and the
 * plan must be made again; *late is a buffer that has PLAN_MAX_COPIES already, or UINT32_MAX. */
bool plan_memory(struct plan *p, bool apart, uint8_t *copies, uint32_t *late);

#endif
