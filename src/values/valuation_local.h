/* valuation_local: an operation on one rank, shared by valuation_local.c and valuation_box.c. */
#ifndef HIRC_VALUES_VALUATION_LOCAL_H
#define HIRC_VALUES_VALUATION_LOCAL_H
#include "values/valuation.h"

struct local_op {
	struct value_rank *r;
	op_id op;
	enum op_kind kind;
	struct value_view *out;
	struct infer_axes axes;
	unsigned operand_n;                /* positional operands: values and scalars */
	value_id value[TERM_MAX_OPERANDS]; /* 0: a scalar */
	uint8_t read[TERM_MAX_OPERANDS];   /* index among the values */
	fact_id scalar[TERM_MAX_OPERANDS];
	struct contents in[TERM_MAX_OPERANDS];
	struct application apply;
	VEC(int64_t) cut[INFER_MAX_DIMS]; /* ascending; of reduced dims, too */
	const struct part_axis
	    *here[INFER_MAX_DIMS]; /* of reduced dims: the elements that are added up here */
	double reduced_n;          /* number of elements of all reduced dims */
	bool in_pieces;            /* the reduced dims consist of several tensors */
	bool is_empty;             /* the current box has no operands, so it gets no fact */
};

/* Returns the dim of an operand's axis; INFER_NONE: the operand is repeated along all dims. */
static inline uint8_t local_dim(const struct local_op *x, unsigned k, unsigned axis)
{
	return x->axes.operand[x->read[k]][axis];
}

/* Returns the fact of an operand in a box of the iteration space, over its dims. *hole: nothing is written
 * there. */
fact_id local_operand_fact(struct local_op *x, unsigned k, const struct extent *box, bool *hole);
/* Returns the result's fact in a box where the operands have these facts. */
fact_id local_evaluate(struct local_op *x, const fact_id *in);
/* Joins the facts of all boxes of the reduced dims in one box of the other dims. Sets is_empty. */
fact_id local_join_reduced(struct local_op *x, struct extent *box);

#endif
