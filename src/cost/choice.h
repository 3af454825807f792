/* choice: the algorithm that the model assumes for a collective, and the alternatives.
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
	const char *option; /* the option that selects it, "--transport=mixed"; NULL: none */
	int64_t time;       /* ns */
};

enum { COST_ALTERNATIVES = 16 };

struct cost_choice {
	const char *collective; /* "allreduce" */
	const char *algorithm;  /* "ring", "as measured", "as recorded" */
	const char *links; /* "8 at 450, 2 at 50 GB/s", innermost first; "": one rank; "8": rates not known */
	int64_t ranks;     /* of the largest slice of the team */
	int64_t bytes;     /* see cost_op_bytes */
	int64_t time;      /* see cost_op_time */
	int64_t latency;   /* the part of `time` that does not depend on bytes; -1: not known */
	unsigned n;        /* number of alternatives, sorted by time */
	struct cost_alternative other[COST_ALTERNATIVES];
};

/* Finds the algorithm of a Communication with a team, a message, or an end_coalescing. Texts are in the
 * arena. Returns false for other statements, and for members of a group. */
bool cost_choice_find(const struct cost *c, op_id op, struct arena *a, struct cost_choice *out);

#endif
