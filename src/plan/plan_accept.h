/* plan_accept: decides, without running it, if a rank can carry out a program.
 *
 *     recv(C, peer=1) as r        C: f32[64@swizzle1d(x)], x = 4: the rank has memory for 64 elements
 *     send(A, peer=1) as w        A: f32[64@x]: it has 16
 *                          ==>    accepted, with the counts  recv: 64   send: 16
 *
 * The rank's plan is made, then its loops, conditions and checks are carried out without any work. A rank
 * that is accepted may still fail in `hirc run`: because of its machine, the data, or the other ranks. */
#ifndef HIRC_PLAN_PLAN_ACCEPT_H
#define HIRC_PLAN_PLAN_ACCEPT_H
#include "base/hash.h"
#include "plan/plan.h"

/* Elements that an issue of a message or collective moves. */
struct plan_moved {
	int64_t elements; /* of a message, of a collective of equal parts, or of each block without a list */
	bool has_blocks;  /* members give each other blocks, of sizes that data does not decide */
	/* By member of the team: elements of the block that it is given, and of the block that is taken from
	 * it; equal lists are one. NULL: all of these blocks are of `elements`. Of allgather only `taken` is
	 * a list, of reduce_scatter only `given`. */
	const int64_t *given, *taken;
};

struct plan_list {
	uint32_t n;
	const int64_t *at;
};

/* The lists of blocks of all ranks, each once. Zeroed: none. */
struct plan_lists {
	VEC(struct plan_list) list; /* 0 unused */
	struct hash_table ids;
	struct arena *arena; /* holds their numbers */
};

struct plan_counts {
	uint32_t n;
	VEC(struct plan_moved) * issue; /* by op_id: of each of its issues, in order */
};

enum plan_verdict {
	PLAN_ACCEPTED,
	PLAN_REFUSED,   /* errors were reported */
	PLAN_UNDECIDED, /* *work was used up */
};

/* Makes a rank's plan and follows it in a dry run; reports the errors of `hirc run` to d. *work: instructions
 * that it may still follow, counted down. lists: holds the lists of *out. *out is to be freed in any case. */
enum plan_verdict plan_accept(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                              const struct plan_target *target, uint64_t *work, struct plan_lists *lists,
                              struct plan_counts *out);

/* Returns the data that a statement moves when it is issued for the nth time, from 0 on; NULL: not known. */
const struct plan_moved *plan_counts_get(const struct plan_counts *c, op_id op, uint32_t nth);
void plan_counts_free(struct plan_counts *c);
void plan_lists_free(struct plan_lists *l);

#endif
