/* decompose: what the files of decompose-reshardings share. */
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

#endif
