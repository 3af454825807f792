/* plan_lifetime: finds the slots of a plan's buffers that are in use at the same time. */
#ifndef HIRC_PLAN_PLAN_LIFETIME_H
#define HIRC_PLAN_PLAN_LIFETIME_H
#include "plan/plan.h"

struct lifetimes {
	uint32_t n; /* number of slots; those of buffer b begin at first_slot */
	bool
	    known; /* the dry run listed the slots that meet, up to the end; if not, only `late` is valid, for the
	             * part that was run */
	bool *used;      /* by slot: something reads or writes it, or it holds an input or an output */
	bool *alone;     /* by slot: it must not share memory */
	bool *late;      /* by buffer: a slot is written while an earlier iteration still uses it */
	uint32_t *at;    /* by slot: time of its first use, as a growing number */
	uint32_t *first; /* by slot: begin of its list in `with`; one more entry for the end */
	uint32_t *with;  /* slots that are in use at the same time, or at times that nothing orders */
};

/* pairs: list the slots that are in use at the same time; otherwise only `late` is found. */
void lifetimes_find(const struct plan *p, bool pairs, struct lifetimes *out);
void lifetimes_free(struct lifetimes *l);

#endif
