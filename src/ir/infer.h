/* infer: finds the effect of an operation on shapes and axes.
 *
 * infer_type finds the result type of an operation that states none. Shape and dtype follow from the
 * rule of the operation; the layout is replicated on the operands' mesh, until propagate-shardings
 * chooses a better one. infer_axes finds which axes of operands and results correspond; passes and the
 * plan use it. */
#ifndef HIRC_IR_INFER_H
#define HIRC_IR_INFER_H
#include "ir/ir.h"

enum { INFER_MAX_DIMS = 32, INFER_MAX_OPERANDS = 8, INFER_NONE = 255 };

enum infer_dim_kind {
	DIM_PARALLEL, /* in the result; its blocks are independent */
	DIM_REDUCED,  /* summed up; a split leaves a partial result */
	DIM_WHOLE,    /* every element needs the whole axis (softmax axis, keys of sdpa) */
};

/* The iteration space of a statement. operand: the READ values in order. Several results have the same
 * axes; an axis whose extent differs between them is DIM_WHOLE. */
struct infer_axes {
	unsigned dim_n;
	uint8_t kind[INFER_MAX_DIMS];   /* enum infer_dim_kind */
	uint8_t result[IR_MAX_LOGICAL]; /* dim of each visible axis of the result */
	/* By operand: the dim of each visible axis; INFER_NONE: the axis is broadcast. */
	uint8_t operand[INFER_MAX_OPERANDS][IR_MAX_LOGICAL];
	unsigned operand_n;
};

/* Returns false for statements without such an iteration space: extern, host statements, or more than
 * INFER_MAX_OPERANDS operands. */
bool infer_axes(const struct module *m, op_id op, struct infer_axes *out);

/* Computes the default type of result number k. The draft has the kind, operands and attributes of the
 * statement. Reports to d at `at` and returns 0 if the operands do not fit in rank, extents or dtypes.
 * stated: the visible extents and dtype that the user wrote (0: none); cast, broadcast, and reshape
 * without its attribute need them. */
struct infer_draft {
	enum op_kind kind;
	unsigned operand_n;
	const value_id *operand; /* 0 if the operand is a scalar */
	attrs_id attrs;
	unsigned result, result_n; /* number of the result; number of results */
	type_id stated;
	type_id first; /* dispatch: type of result 0, for the other results */
	uint32_t at;
	mesh_id mesh; /* used if no operand has a mesh */
	team_id team; /* collective: its team; 0: a group that lists no members */
};
type_id infer_type(struct module *m, struct diag *d, const struct infer_draft *draft);
/* Returns the dtype that an operation gives a result of a stated shape, without messages. Returns the stated one if the
 * operands do not fit. */
enum dtype infer_dtype(struct module *m, const struct infer_draft *f);

/* Checks the shape and dtype of a stated type against the rule. Returns false after reporting. */
bool infer_check(struct module *m, struct diag *d, const struct infer_draft *draft);

/* Finds the mesh axis over which axis 0 of a tensor of rows is spread, and with it the experts; -1 if
 * the axis is not spread, so that one rank has all experts. Returns false if it has another placement. */
bool infer_experts_axis(struct module *m, type_id rows, int *axis);
/* Finds the mesh that has the experts of a dispatch or combine, and the axis as above. For dispatch it
 * is that of the first result; for combine the first found among counts, sources, weights and rows, or
 * the mesh's only axis. */
bool infer_experts(struct module *m, op_id op, mesh_id *mesh, int *axis);
/* Returns the team in which a dispatch or combine moves rows; 0 if it moves none. */
team_id infer_experts_team(struct module *m, op_id op);

/* Adds the hidden reduction axes that a statement's result has and that its type does not state: for a
 * contraction the local part of the contracted axis, for a reduction the reduced axes, for a resharding
 * of a partial value one mesh axis for each finished reduction. Returns the new type. */
type_id infer_reduce_axes(struct module *m, op_id op, type_id result);
/* Returns a type without its reduce axes, or the type itself if it has none or cannot lose them. */
type_id infer_without_reduce(struct module *m, type_id t);
/* Returns the type t of a statement's result, but pending as the type of a reshape of it is. */
type_id infer_pending(struct module *m, op_id op, type_id t, type_id result);

/* ---- infer_device.c */
/* Returns the first visible axis that is spread without a split over a mesh axis; -1: none. mesh_axis -1: over any. */
int infer_device_axis(const struct module *m, type_id operand, int mesh_axis);
/* Returns the mesh axis along which a team runs, or one slice of the team; -1: none. */
int infer_team_axis(struct module *m, mesh_id mesh, team_id team);
/* Returns all slices along the mesh axis of which a team is one slice, or else the team. A listing of nvFuser has the slice
 * of the device that printed it. */
team_id infer_whole_team(struct module *m, mesh_id mesh, team_id team);
/* Returns the axis that a reduction by a team takes away, because it is spread over the team without a split; -1: none. */
int infer_reduced_device_axis(struct module *m, type_id operand, team_id team);
/* Returns the type of the reduction along such an axis while it is pending: f32[2@x, 4] gives f32[4] partial(x). Returns
 * 0 if there is no such type. */
type_id infer_device_terms(struct module *m, type_id operand, int axis, enum reduce_op op);

/* ---- infer_view.c */
/* Return the type of a view. shard_by_stream: the operand's type with the stream split of `like`, also
 * in the allocation domain. select: the operand's type without one axis. */
type_id infer_select(struct module *m, type_id operand, unsigned axis);
/* Returns the type of a symmetric view: the operand's type, in which the placement on a mesh axis only
 * splits. mesh_axis -1: the placement that is outermost in memory. Returns 0 if there is no such type. */
type_id infer_symmetric(struct module *m, type_id operand, int mesh_axis);
/* Lists the mesh axes whose blocks a symmetric view has side by side, the outermost in memory first.
 * Returns their number; 0 if it is no such view. */
unsigned infer_symmetric_axes(struct module *m, type_id operand, type_id view, uint8_t *axes);
/* Returns the team of a symmetric_view: the ranks along these axes. */
team_id infer_symmetric_team(struct module *m, op_id op);
/* Returns the type of a buffer with a new axis 0, each element of which has type t; 0 past a limit. */
type_id infer_stack(struct module *m, type_id t, expr_id extent);
/* Returns the default type of a collective's result: the operand's type without placements and pending
 * sums over the axes of the team; 0 if the type must be stated. */
type_id infer_collective(struct module *m, enum op_kind kind, team_id team, type_id operand);
/* Returns the type of a rank's shard; 0 if an axis to drop is merged with another. */
type_id infer_shard(struct module *m, type_id operand);
/* Returns the axes that axis=1 or axis=(0, 2) names, as a bit set; all axes without the attribute. */
unsigned infer_reduced_axes(const struct module *m, attrs_id attrs, unsigned rank);

/* Returns true if a pending sum of operand k becomes a pending sum of the result. */
bool infer_keeps_partial(const struct module *m, op_id op, unsigned k);

#endif
