/* plan_lifetime: which slots of a plan's buffers are in use at the same time. */
#ifndef HIRC_EXEC_PLAN_LIFETIME_H
#define HIRC_EXEC_PLAN_LIFETIME_H
#include "exec/plan.h"

struct lifetimes {
	uint32_t n;    /* slots: those of buffer b start at first_slot */
	bool known;    /* the walk came to its end; else `late` holds for what it saw, the rest for nothing */
	bool *used;    /* by slot: something reads or writes it, or it holds an input or an output */
	bool *alone;   /* by slot: no other may ever have its memory */
	uint32_t *at;  /* by slot: when it is used first, a number that grows */
	uint64_t *bit; /* row by row: slot a and slot b are in use together, or nothing orders their uses */
	uint32_t words; /* of a row */
	bool *late;     /* by buffer: an iteration writes a slot while an earlier one's contents are in use */
};

static inline bool lifetimes_meet(const struct lifetimes *l, uint32_t a, uint32_t b)
{
	return l->bit[(size_t)a * l->words + b / 64] >> (b % 64) & 1;
}

void lifetimes_find(const struct plan *p, struct lifetimes *out);
void lifetimes_free(struct lifetimes *l);

#endif
