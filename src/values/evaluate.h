/* evaluate: the fact that an operation makes of the facts of its operands, on one box of its iteration space.
 *
 *     CONTRACT over dims m, n, k      A: fact over (m, k)    B: fact over (k, n)    k: [0, 4) of [0, 8)
 *
 * The facts of the operands and the result are over the dims of the iteration space. Linear operations are
 * applied to each summand by itself, so that the order of sums and operations does not matter. */
#ifndef HIRC_VALUES_EVALUATE_H
#define HIRC_VALUES_EVALUATE_H
#include "values/facts.h"

/* Kinds of terms that are no operations; below them are those of enum op_kind. */
enum { TERM_NUMBER = 1000, TERM_INPUT, TERM_CONTRACT, TERM_FLAT, TERM_PIECES, TERM_TOTAL };

enum evaluate_dim {
	EVALUATE_PARALLEL, /* in the result; each element by itself */
	EVALUATE_REDUCED,
	EVALUATE_WHOLE,  /* in the result; each element needs the whole axis */
	EVALUATE_INSIDE, /* the same, but it is not in the result */
};

struct evaluate_axis {
	enum evaluate_dim kind;
	int64_t lo, hi;             /* all but PARALLEL: the whole axis */
	int64_t share_lo, share_hi; /* REDUCED: the part that is added up here */
};

struct application {
	uint32_t kind, label;
	unsigned dim_n, operand_n;
	struct evaluate_axis dim[TERM_MAX_AXES];
	fact_id operand[TERM_MAX_OPERANDS];
	uint32_t linear;   /* bits: operands of whose summands the operation is applied to each */
	bool together;     /* but a complete operand of several summands is not taken apart */
	bool commutes;     /* the operands are sorted */
	bool has_place;    /* the result depends on the indices themselves */
	bool has_all_dims; /* the result's axes are axes of the term, whether an operand has them or not */
	enum reduce_op reduce; /* of the reduced dims */
};

fact_id evaluate(struct facts *f, const struct application *x);

/* Returns a fact of one term for a complete sum of many, so that facts of long chains of sums stay short. */
fact_id evaluate_total(struct facts *f, fact_id fact);

/* A reshape of groups of axes: the axes of a group have the same elements in row-major order. */
struct reshape {
	unsigned in_n, out_n; /* numbers of axes */
	uint8_t
	    pair[TERM_MAX_AXES]; /* by operand axis: the result's axis that it is; 255: it is in a group */
	unsigned group_n;
	struct reshape_group {
		unsigned in, in_n, out, out_n; /* first axes and numbers of axes */
		int64_t in_extent[TERM_MAX_AXES], out_extent[TERM_MAX_AXES];
	} group[TERM_MAX_AXES];
};
fact_id evaluate_reshape(struct facts *f, fact_id operand, const struct reshape *r);

#endif
