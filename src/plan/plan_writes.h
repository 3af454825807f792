/* plan_writes: the first and last instruction that write a buffer, and the Communications that need it. */
#ifndef HIRC_PLAN_PLAN_WRITES_H
#define HIRC_PLAN_PLAN_WRITES_H
#include "plan/plan.h"

struct plan_writes {
	uint32_t *first, *last; /* by buffer: the instruction, + 1; 0: none */
	op_id *used; /* by buffer: a statement that receives into it, or reads counts from it; 0: none */
};

void plan_writes_open(struct plan_writes *w, const struct plan *p);
void plan_writes_close(struct plan_writes *w);

#endif
