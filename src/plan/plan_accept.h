/* plan_accept: decides, without running it, if a rank can carry out a program.
 *
 *     recv(C, peer=1) as r        C: f32[64@swizzle1d(x)], x = 4: the rank's memory has 64 elements
 *     send(A, peer=1) as w        A: f32[64@x]: the rank's memory has 16
 *                          ==>    accepted, with the counts  recv: 64   send: 16
 *
 * It makes the rank's plan, then executes only its loops, conditions and checks. An accepted rank may
 * still fail in `hirc run` because of its machine, the data, or other ranks. */
#ifndef HIRC_PLAN_PLAN_ACCEPT_H
#define HIRC_PLAN_PLAN_ACCEPT_H
#include "base/hash.h"
#include "plan/plan.h"

/* The elements that a message or collective moves when it is issued. */
struct plan_moved {
	int64_t
	    elements;    /* of a message, of a collective with equal parts, or of each block without a list */
	bool has_blocks; /* members exchange blocks whose sizes do not depend on data */
	/* By member of the team: elements of the block given to it, and of the block taken from it.
	 * Equal lists are shared. NULL: all these blocks have `elements`. allgather has a list only in
	 * `taken`, reduce_scatter only in `given`. */
	const int64_t *given, *taken;
};

struct plan_list {
	uint32_t n;
	const int64_t *at;
};

/* The lists of blocks of all ranks, without duplicates. Initialise with zeros. */
struct plan_lists {
	VEC(struct plan_list) list; /* entry 0 is unused */
	struct hash_table ids;
	struct arena *arena; /* owns the numbers in the lists */
};

struct plan_counts {
	uint32_t n;
	VEC(struct plan_moved) * issue; /* by op_id: one entry for each issue, in order */
};

enum plan_verdict {
	PLAN_ACCEPTED,
	PLAN_REFUSED,   /* errors were reported */
	PLAN_UNDECIDED, /* the limit of work was reached */
};

/* Makes a rank's plan and follows it in a dry run. Reports the errors that `hirc run` reports. *work:
 * number of instructions that it may still follow; it is counted down. lists: owns the lists of *out.
 * The caller frees *out in any case. */
enum plan_verdict plan_accept(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                              const struct plan_target *target, uint64_t *work, struct plan_lists *lists,
                              struct plan_counts *out);

/* Returns the data that a statement moves at its nth issue, from 0 on; NULL if it is not known. */
const struct plan_moved *plan_counts_get(const struct plan_counts *c, op_id op, uint32_t nth);
void plan_counts_free(struct plan_counts *c);
void plan_lists_free(struct plan_lists *l);

#endif
