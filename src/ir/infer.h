/* infer: the effect of an operation on shapes and axes.
 *
 * infer_type gives the result type of an op whose type was left out: shape and dtype by the op's
 * rule, the layout replicated on the operands' mesh (propagate-shardings chooses a better one).
 * infer_axes says how the axes of operands and results correspond; passes and plan work on it. */
#ifndef HIRC_IR_INFER_H
#define HIRC_IR_INFER_H
#include "ir/ir.h"

enum { INFER_MAX_DIMS = 32, INFER_MAX_OPERANDS = 8, INFER_NONE = 255 };

enum infer_dim_kind {
	DIM_PARALLEL, /* in the result: blocks are computed independently */
	DIM_REDUCED,  /* summed away: splitting it leaves a partial result */
	DIM_WHOLE,    /* needed whole by every element (softmax axis, keys of sdpa) */
};

/* The iteration space of a statement. operand: of the READ values in order. Several results have the same
 * axes; those that differ in extent are whole. */
struct infer_axes {
	unsigned dim_n;
	uint8_t kind[INFER_MAX_DIMS];   /* enum infer_dim_kind */
	uint8_t result[IR_MAX_LOGICAL]; /* dim of each visible axis of the result */
	/* dim of each visible axis of an operand; INFER_NONE: broadcast */
	uint8_t operand[INFER_MAX_OPERANDS][IR_MAX_LOGICAL];
	unsigned operand_n;
};

/* False for statements without such a reading (extern, host statements, more than INFER_MAX_OPERANDS). */
bool infer_axes(const struct module *m, op_id op, struct infer_axes *out);

/* The default result type number k of a statement that is complete but for its results' types:
 * its kind, operands and attributes are given by a draft. Reports to d at `at` and returns 0 when
 * operands do not fit (ranks, extents, dtypes). stated: the visible extents and dtype the user wrote
 * (0: none), which some ops need (cast, broadcast, reshape without attribute). */
struct infer_draft {
	enum op_kind kind;
	unsigned operand_n;
	const value_id *operand; /* 0 where the operand is a scalar */
	attrs_id attrs;
	unsigned result, result_n; /* which result, and how many the statement has */
	type_id stated;
	type_id first; /* of result 0, for the others of dispatch */
	uint32_t at;
	mesh_id mesh; /* when no operand has one */
	team_id team; /* of a collective; 0: a group that lists no members */
};
type_id infer_type(struct module *m, struct diag *d, const struct infer_draft *draft);
/* Checks a stated type against the rule: shape and dtype; reports and returns false. */
bool infer_check(struct module *m, struct diag *d, const struct infer_draft *draft);

/* The mesh axis that has the experts of a dispatch or combine, where rows stand on axis 0 of a tensor: its
 * only placement. -1: the axis is not spread, one rank has all experts. False: it is spread otherwise. */
bool infer_experts_axis(struct module *m, type_id rows, int *axis);
/* The mesh that has the experts of a dispatch or combine, and the axis as above: that of the first result of
 * a dispatch; for a combine the first found of counts, sources, weights and rows, else the mesh's only axis.
 */
bool infer_experts(struct module *m, op_id op, mesh_id *mesh, int *axis);
/* The ranks among which a dispatch or combine moves rows; 0: it moves none. */
team_id infer_experts_team(struct module *m, op_id op);

/* Hidden reduction axes that the result of a statement gets when its type does not say them: for a
 * contraction the contracted axis' local part, for a reduction the reduced axes, for a resharding of
 * a partial one mesh axis for each reduction done. Returns the type with them. */
type_id infer_reduce_axes(struct module *m, op_id op, type_id result);

/* The type of a view's result: shard_by_stream (the operand's type with `like`'s stream split, in the
 * allocation domain too), select (one axis dropped). */
type_id infer_select(struct module *m, type_id operand, unsigned axis);
/* The type of a symmetric view: the operand's, where the placement on one mesh axis (-1: that which is
 * outermost in memory) only splits. 0: it has none. */
type_id infer_symmetric(struct module *m, type_id operand, int mesh_axis);
/* The mesh axes along which a symmetric view has its operand's blocks side by side, the outermost in memory
 * first; returns their number, 0: it is no such view. */
unsigned infer_symmetric_axes(struct module *m, type_id operand, type_id view, uint8_t *axes);
/* The ranks along them, for a symmetric_view. */
team_id infer_symmetric_team(struct module *m, op_id op);
/* The type of a buffer that has a new axis 0, of which each element is of type t; 0 past a limit. */
type_id infer_stack(struct module *m, type_id t, expr_id extent);
/* The type of a collective's result when none is stated: the operand's, without the placements and pending
 * sums over the team's axes. 0: it must be stated. */
type_id infer_collective(struct module *m, enum op_kind kind, team_id team, type_id operand);
/* 0 when an axis to be dropped is merged with another. */
type_id infer_shard(struct module *m, type_id operand);
/* Bit i: axis i is reduced by axis=1 or axis=(0, 2); all without the attribute. */
unsigned infer_reduced_axes(const struct module *m, attrs_id attrs, unsigned rank);

/* Returns true if the op keeps a pending sum of operand k as a pending sum of its result. */
bool infer_keeps_partial(const struct module *m, op_id op, unsigned k);

#endif
