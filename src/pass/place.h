/* place: layouts as lists of placements. Passes compare and change layouts in this form.
 *
 * The footprint of an axis is its list up to the last mesh placement: `t@x@stream(4)` has the footprint
 * of `t@x`. If two axes have one footprint, ranks hold the same part of both. */
#ifndef HIRC_PASS_PLACE_H
#define HIRC_PASS_PLACE_H
#include "ir/domain.h"
#include "ir/infer.h"
#include "ir/ir.h"

unsigned place_footprint(const struct sugar_axis *a); /* returns its length */
unsigned place_mesh_axes(const struct sugar_axis *a); /* bit set of mesh axes */
bool place_is_loop(const struct sugar_place *p);      /* stream, serial or swizzle */
bool place_has_loop(const struct sugar_axis *a);
bool place_has_block(const struct sugar_axis *a);
bool place_equal(const struct sugar_place *a, const struct sugar_place *b);
/* Returns true if both are equal, or blocks and loops of one size: a rank holds the same part below
 * them. */
bool place_alike(const struct sugar_place *a, const struct sugar_place *b);
/* Returns the length of the list up to the last mesh placement, or the last loop with blocks above it. */
unsigned place_pieces(const struct sugar_axis *a);
/* Turns loops into blocks, and removes later placements. The result is the part that all iterations hold
 * together. */
void place_unloop(struct module *m, mesh_id mesh, struct sugar_axis *a);
bool place_same_footprint(const struct sugar_axis *a, const struct sugar_axis *b);
/* Copies placements only; extent and kind do not change. */
void place_copy(struct sugar_axis *to, const struct sugar_axis *from);

/* Returns the mesh axes over which a reduction is pending (bit set). */
unsigned place_partial(const struct sugar *s);
/* Returns the operator that is pending over them; SUM if none is. */
enum reduce_op place_partial_op(const struct sugar *s);
/* Returns the mesh axes over which visible axes are spread. */
unsigned place_used(const struct sugar *s);
/* Adds pending reductions over mesh axes (bit set), before the reduce axes. Returns false past the
 * limit. */
bool place_add_partial(struct module *m, struct sugar *s, mesh_id mesh, unsigned axes, enum reduce_op op);

/* Returns `base` (its dtype) with other placements on a mesh, in global memory; 0 with *reason if the
 * placements are not possible. */
type_id place_type(struct module *m, type_id base, mesh_id mesh, const struct sugar *s, bool unstreamed,
                   const char **reason);

/* Returns a type with blocks in place of its loops, in global memory; 0 if the loops are no placements. */
type_id place_unlooped(struct module *m, type_id t);

/* How an operand's axis follows the loop placement of a result's axis, which is placement number
 * `level`. */
enum place_slice {
	PLACE_SLICE_HAS,   /* it has the same placement at that level */
	PLACE_SLICE_BLOCK, /* it has blocks of that size there, or another loop */
	PLACE_SLICE_CUT,   /* it can be added: all above agree, and nothing below is spread */
	PLACE_SLICE_NOT,
};
/* gathers: blocks of the result may correspond to a mesh axis of the operand, on this mesh, of the same
 * size. */
enum place_slice place_slice(const struct module *m, mesh_id mesh, const struct sugar_axis *operand,
                             const struct sugar_axis *result, unsigned level, bool gathers);
/* Finds loop number n of a domain, outermost first: its axis, and the number of its placement. Returns
 * false if there are fewer loops, or if this one is no placement of a visible axis. */
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
	bool r_known, o_known[PLACE_MAX_OPERANDS]; /* the layout is made of placements */
};

/* Returns false for statements without an iteration space: host statements, externs. */
bool op_layout_read(struct module *m, op_id op, struct op_layout *l);
/* Reads a layout as op_layout_read does, with result k as `result`. */
bool op_layout_read_result(struct module *m, op_id op, unsigned k, struct op_layout *l);
/* Records the assumption that the outermost axes of a reshape are divisible by the sizes over which they
 * are spread. */
void op_layout_assume(struct module *m, op_id op);
/* Returns the axis of operand k in a dim, or -1. */
int op_layout_axis(const struct op_layout *l, unsigned k, unsigned dim);
int op_layout_result_axis(const struct op_layout *l, unsigned dim);
/* Returns true if axis a of operand k and axis b of operand q (q < 0: of the result) have the same
 * footprint. */
bool op_layout_same(struct module *m, const struct op_layout *l, int k, unsigned a, int q, unsigned b);
/* Returns NULL if every rank can compute its part of the result from its parts of the operands;
 * otherwise the reason. Not for `set` and collectives. */
const char *op_layout_not_local(struct module *m, const struct op_layout *l);
/* Like op_layout_not_local, for a statement that writes buffers: an operand may hold more than a rank
 * needs. sums_end: a pending reduction of an operand must end before another operation reads it;
 * otherwise each rank uses its part. */
const char *op_layout_lacks(struct module *m, const struct op_layout *l, bool sums_end);

#endif
