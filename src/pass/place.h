/* place: layouts as lists of placements, which is how passes compare and change them.
 *
 * The footprint of an axis is its list up to the last mesh placement: `t@x@stream(4)` has the
 * footprint of `t@x`. Ranks hold the same part of two axes with one footprint. */
#ifndef HIRC_PASS_PLACE_H
#define HIRC_PASS_PLACE_H
#include "ir/domain.h"
#include "ir/infer.h"
#include "ir/ir.h"

unsigned place_footprint(const struct sugar_axis *a); /* its length */
unsigned place_mesh_axes(const struct sugar_axis *a); /* bit set of mesh axes */
bool place_is_loop(const struct sugar_place *p);      /* stream, serial or swizzle */
bool place_has_loop(const struct sugar_axis *a);
bool place_has_block(const struct sugar_axis *a);
bool place_equal(const struct sugar_place *a, const struct sugar_place *b);
/* Equal, or blocks and loops of one size: a rank holds the same below them. */
bool place_alike(const struct sugar_place *a, const struct sugar_place *b);
/* The length of the list up to the last mesh placement, or loop with blocks above it. */
unsigned place_pieces(const struct sugar_axis *a);
/* Makes blocks of the loops in there, and drops later placements: gives the part that all iterations hold. */
void place_unloop(struct module *m, mesh_id mesh, struct sugar_axis *a);
bool place_same_footprint(const struct sugar_axis *a, const struct sugar_axis *b);
/* Placements only; extent and kind stay. */
void place_copy(struct sugar_axis *to, const struct sugar_axis *from);

/* Mesh axes over which a reduction is pending (bit set). */
unsigned place_partial(const struct sugar *s);
/* The operation that is pending over them; SUM when none is. */
enum reduce_op place_partial_op(const struct sugar *s);
/* Mesh axes that visible axes are spread over. */
unsigned place_used(const struct sugar *s);
/* Drops hidden axes: those of a kind (AXIS_PARTIAL, AXIS_REDUCE). */
void place_drop(struct sugar *s, enum axis_kind kind);
/* Adds pending reductions over mesh axes (bit set), before the reduce axes. False past the limit. */
bool place_add_partial(struct module *m, struct sugar *s, mesh_id mesh, unsigned axes, enum reduce_op op);

/* `base` (dtype) with other placements on a mesh, in global memory. 0, and *reason, when the
 * placements are not possible. */
type_id place_type(struct module *m, type_id base, mesh_id mesh, const struct sugar *s, bool unstreamed,
                   const char **reason);

/* A type with blocks in the place of its loops, in global memory. 0 where they are no placements. */
type_id place_unlooped(struct module *m, type_id t);

/* Ways in which an operand's axis follows the loop placement of a result's axis, which is number `level` of
 * it. */
enum place_slice {
	PLACE_SLICE_HAS,   /* it has the placement where the result has it */
	PLACE_SLICE_BLOCK, /* it has blocks of that size there, or another loop */
	PLACE_SLICE_CUT,   /* it gets it: all that stands above is alike, and nothing is spread below */
	PLACE_SLICE_NOT,
};
/* gathers: blocks of the result may stand where the operand (on this mesh) has a mesh axis of their size. */
enum place_slice place_slice(const struct module *m, mesh_id mesh, const struct sugar_axis *operand,
                             const struct sugar_axis *result, unsigned level, bool gathers);
/* Loop number n of a domain, outermost first: its axis, and which placement of it. False: it has fewer, or
 * that one is no placement of a visible axis. */
bool place_find_loop(const struct domain *d, const struct sugar *s, unsigned n, unsigned *axis,
                     unsigned *level);
/* Counts the loops that cut the visible axes of a domain. */
unsigned place_loop_count(const struct domain *d);

/* ---- an operation with the layouts of its operands and results */

enum { PLACE_MAX_OPERANDS = INFER_MAX_OPERANDS };

struct op_layout {
	op_id op;
	struct infer_axes x;
	value_id result, operand[PLACE_MAX_OPERANDS];
	struct sugar r, o[PLACE_MAX_OPERANDS];
	bool r_known, o_known[PLACE_MAX_OPERANDS]; /* set if the layout is one of placements */
};

/* False when the statement has no such reading: host statements, externs. */
bool op_layout_read(struct module *m, op_id op, struct op_layout *l);
/* Reads a layout as op_layout_read does, with result k of several as `result`. */
bool op_layout_read_result(struct module *m, op_id op, unsigned k, struct op_layout *l);
/* Records that the sizes divide by which a reshape's outermost axes are spread. */
void op_layout_assume(struct module *m, op_id op);
/* The axis of operand k in a dim, or -1. */
int op_layout_axis(const struct op_layout *l, unsigned k, unsigned dim);
int op_layout_result_axis(const struct op_layout *l, unsigned dim);
/* Returns true if operand axes a (of operand k) and b (of operand q, or of the result for q < 0) have one
 * footprint. */
bool op_layout_same(struct module *m, const struct op_layout *l, int k, unsigned a, int q, unsigned b);
/* NULL when every rank can compute its part of the result from its parts of the operands; otherwise
 * the reason. Not for `set` and collectives. */
const char *op_layout_not_local(struct module *m, const struct op_layout *l);
/* Finds the obstacle to local work as op_layout_not_local does, for a statement that writes buffers, where an
 * operand may hold more than a rank needs. sums_end: a pending reduction of an operand ends before another
 * operation reads it; else each rank takes its part. */
const char *op_layout_lacks(struct module *m, const struct op_layout *l, bool sums_end);

#endif
