/* decompose: the shared parts of the files of decompose-reshardings. */
#ifndef HIRC_PASS_DECOMPOSE_H
#define HIRC_PASS_DECOMPOSE_H
#include "pass/pass.h"
#include "pass/place.h"

struct decompose_plan {
	mesh_id mesh;
	struct sugar_axis dim[INFER_MAX_DIMS]; /* placements of each dim of the iteration space */
	unsigned partial;                      /* mesh axes over which the result is left pending */
	enum reduce_op reduce;
	unsigned kept[PLACE_MAX_OPERANDS]; /* by operand: mesh axes over which it may stay pending */
};

/* NULL, or why there is no layout. All layouts of the operation must be placements. */
const char *decompose_choose(struct module *m, const struct op_layout *l, struct decompose_plan *p);

/* Splits a set or pure collective into such that single collectives do; returns the last statement of
 * them. Other statements stay. */
op_id decompose_transfer(struct module *m, struct pass_context *cx, op_id op);

/* Gives operands and results of a dispatch or combine the layouts it works on; other statements stay. False
 * after reporting. */
bool decompose_experts(struct module *m, struct pass_context *cx, op_id op);

/* A select whose result has a layout of its own becomes a select and a `set`; other statements stay. False
 * after reporting. */
bool decompose_select(struct module *m, struct pass_context *cx, op_id op);
/* Copies operands that a statement overwrites in place; others stay. */
void decompose_overlap(struct module *m, op_id op);
/* The type of a copy of a value beside a statement. */
type_id decompose_type_beside(struct module *m, op_id op, value_id v);
/* Returns true if ranks do not hold all that a statement, which writes buffers, needs. sums_end: as for
 * op_layout_lacks. */
bool decompose_write_lacks(struct module *m, op_id op, bool sums_end);
/* Makes a statement define its results, and `set`s write them to the buffers. */
void decompose_write_value(struct module *m, op_id op);
/* Returns true if a program says itself which data moves when: it has Communications or streams. */
bool decompose_has_transfers(struct module *m);
/* Gives a reshape that regroups elements row-major tensors; other statements stay. */
void decompose_reshape(struct module *m, struct pass_context *cx, op_id op);
/* A local reduction over an axis of which each rank has one element becomes a select; others stay. */
void decompose_reduced(struct module *m, op_id op);

/* Says why a statement cannot be decomposed. */
void decompose_report(struct module *m, struct pass_context *cx, enum diagnostic code, op_id op,
                      const char *reason);
/* `Y computed as 'bf16[t, h] partial(x)', then set`. */
void decompose_remark(struct module *m, struct pass_context *cx, op_id op, value_id result, type_id made);

#endif
