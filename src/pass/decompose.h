/* decompose: the functions that the files of decompose-reshardings share. */
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

/* Chooses a layout. Returns NULL, or the reason why there is none. All layouts of the operation must be
 * placements. */
const char *decompose_choose(struct module *m, const struct op_layout *l, struct decompose_plan *p);

/* Splits a set or pure collective into steps that a single collective does. Returns the last statement.
 * Other statements do not change. */
op_id decompose_transfer(struct module *m, struct pass_context *cx, op_id op);

/* Gives the operands and results of a dispatch or combine the layouts that it needs. Other statements do
 * not change. Returns false after reporting. */
bool decompose_experts(struct module *m, struct pass_context *cx, op_id op);

/* Splits a select whose result has a layout of its own into a select and a `set`. Other statements do
 * not change. Returns false after reporting. */
bool decompose_select(struct module *m, struct pass_context *cx, op_id op);
/* Copies operands that a statement overwrites in place. */
void decompose_overlap(struct module *m, op_id op);
/* Returns the type of a copy of a value beside a statement. */
type_id decompose_type_beside(struct module *m, op_id op, value_id v);
/* Returns true if ranks lack a part that a statement needs which writes buffers. sums_end: see
 * op_layout_lacks. */
bool decompose_write_lacks(struct module *m, op_id op, bool sums_end);
/* Makes a statement define its results; `set`s write them to the buffers. */
void decompose_write_value(struct module *m, op_id op);
/* Returns true if the program itself decides which data moves when: it has Communications or streams. */
bool decompose_has_transfers(struct module *m);
/* Gives a reshape that regroups elements row-major tensors. Other statements do not change. */
void decompose_reshape(struct module *m, struct pass_context *cx, op_id op);
/* Turns a local reduction over an axis of which each rank has one element into a select. Other
 * statements do not change. */
void decompose_reduced(struct module *m, op_id op);

/* Reports why a statement cannot be decomposed. */
void decompose_report(struct module *m, struct pass_context *cx, enum diagnostic code, op_id op,
                      const char *reason);
/* Remarks `Y computed as 'bf16[t, h] partial(x)', then set`. */
void decompose_remark(struct module *m, struct pass_context *cx, op_id op, value_id result, type_id made);

#endif
