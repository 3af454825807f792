/* choice: the assumed way to do a collective, and other ways to do the same.
 *
 *     allreduce of 64 MiB on 8 ranks     ring                               0.263 ms
 *                                        reduce_scatter + allgather         0.263 ms   1.00
 *                                        recursive doubling                 0.457 ms   1.74
 *                                        one ring of all, … */
#ifndef HIRC_COST_CHOICE_H
#define HIRC_COST_CHOICE_H
#include "cost/cost.h"

struct cost_alternative {
	const char *name;   /* "recursive doubling", "7 messages, one by one" */
	const char *option; /* that asks for it, "--transport=mixed"; NULL: none does */
	int64_t time;       /* ns */
};

enum { COST_ALTERNATIVES = 16 };

struct cost_choice {
	const char *collective; /* "allreduce" */
	const char *algorithm;  /* "ring", "as measured", "as recorded" */
	const char *links; /* "8 at 450, 2 at 50 GB/s", from the innermost; "": one rank; "8": not known */
	int64_t ranks;     /* of the widest team */
	int64_t bytes;     /* as of cost_op_bytes */
	int64_t time;      /* cost_op_time */
	int64_t latency;   /* of that the part without bytes; -1: not known */
	unsigned n;        /* alternatives, by time */
	struct cost_alternative other[COST_ALTERNATIVES];
};

/* Finds the algorithm of a Communication with a team, a message, or an end_coalescing. Texts are of the
 * arena. False: it is none of these, or a member of a group. */
bool cost_choice_find(const struct cost *c, op_id op, struct arena *a, struct cost_choice *out);

#endif
