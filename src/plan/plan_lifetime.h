/* plan_lifetime: which slots of a plan's buffers are in use at the same time. */
#ifndef HIRC_PLAN_PLAN_LIFETIME_H
#define HIRC_PLAN_PLAN_LIFETIME_H
#include "plan/plan.h"

struct lifetimes {
	uint32_t n;   /* slots: those of buffer b start at first_slot */
	bool known;   /* the dry run came to its end; else only `late` holds, for its part of the plan */
	bool *used;   /* by slot: something reads or writes it, or it holds an input or an output */
	bool *alone;  /* by slot: no other may ever have its memory */
	bool *late;   /* by buffer: an iteration writes a slot while an earlier one's contents are in use */
	uint32_t *at; /* by slot: when it is used first, a number that grows */
	uint32_t *first; /* by slot, and one more: where its list in `with` begins */
	uint32_t *with;  /* slots in use together with it, or at times that nothing orders */
};

void lifetimes_find(const struct plan *p, struct lifetimes *out);
void lifetimes_free(struct lifetimes *l);

#endif
