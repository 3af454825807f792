/* plan_memory: where the slots of a plan's buffers lie in the memory of the run. */
#ifndef HIRC_EXEC_PLAN_MEMORY_H
#define HIRC_EXEC_PLAN_MEMORY_H
#include "exec/plan.h"

/* Sets each slot's place and the plan's bytes. */
void plan_memory(struct plan *p);

#endif
