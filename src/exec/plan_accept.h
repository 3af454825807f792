/* plan_accept: whether a rank can carry out a program, found without running it.
 *
 *     recv(C, peer=1) as r        C: f32[64@swizzle1d(x)], x = 4: the rank has memory for 64 elements
 *     send(A, peer=1) as w        A: f32[64@x]: it has 16
 *                          ==>    accepted, with the counts  recv: 64   send: 16
 *
 * The rank's plan is made, then its loops, conditions and checks are carried out without any work. A rank
 * that is accepted may still fail in `hirc run`: by its machine, by data, or by what other ranks do. */
#ifndef HIRC_EXEC_PLAN_ACCEPT_H
#define HIRC_EXEC_PLAN_ACCEPT_H
#include "exec/plan.h"

/* Elements that an issue of a message or collective moves. */
struct plan_moved {
	int64_t elements;             /* of a message, or of a collective without blocks */
	const int64_t *given, *taken; /* collectives with blocks: elements of the block that each member of
	                               * the team is given, and of the one that is taken from it. NULL: no
	                               * blocks, or data decides them */
};

struct plan_counts {
	uint32_t n;
	VEC(struct plan_moved) * issue; /* by op_id: of each of its issues, in order */
	struct arena *arena;            /* holds the lists */
};

enum plan_verdict {
	PLAN_ACCEPTED,
	PLAN_REFUSED,   /* errors were reported */
	PLAN_UNDECIDED, /* *work was used up */
};

/* Makes and walks the plan of a rank; reports to d what `hirc run` would. *work: instructions that may still
 * be walked, counted down. *out is to be freed in any case. */
enum plan_verdict plan_accept(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                              const struct plan_target *target, uint64_t *work, struct plan_counts *out);

/* Returns what a statement moves when it is issued for the nth time, from 0 on; NULL: not known. */
const struct plan_moved *plan_counts_get(const struct plan_counts *c, op_id op, uint32_t nth);
void plan_counts_free(struct plan_counts *c);

#endif
