/* planner: the state and functions that the files of the planner share.
 *
 *     plan.c            statements in their order: control, streams, memory
 *     plan_scalar.c     scalars: folding, ranges, registers
 *     plan_view.c       the block of a value on this rank, and its place in memory
 *     plan_storage.c    buffers
 *     plan_symmetric.c  buffers that peers see
 *     plan_memory.c     places of buffers; plan_lifetime.c and plan_uses.c find which can be shared
 *     plan_op.c         local operations as kernel tasks
 *     plan_shape.c      reshape, cat, slice, pad, broadcast: several or odd copies
 *     plan_reduce.c     reductions and contractions
 *     plan_blocks.c     copies of several blocks
 *     plan_boxes.c      values that are several boxes in a step of a loop
 *     plan_bucket.c     pack and unpack
 *     plan_unit.c       several operations as one task
 *     plan_views.c      copies that nobody needs
 *     plan_products.c   products with functions after them
 *     plan_norms.c      norms with elementwise tasks before and after them
 *     plan_norm.c       softmax, norms
 *     plan_attention.c  attention and its gradients
 *     plan_comm.c       collectives
 *     plan_pack.c       buffers of collectives
 *     plan_exchange*.c  collectives that pack and unpack
 *     plan_elements.c, plan_dense.c      layouts that are no boxes, and copies of them that are
 *     plan_message.c  sends, receives, groups, waits
 *     plan_run.c      blocks as runs of memory */
#ifndef HIRC_PLAN_PLANNER_H
#define HIRC_PLAN_PLANNER_H
#include "base/hash.h"
#include "ir/layout.h"
#include "plan/plan.h"

/* ---- scalars (plan_scalar.c): hash-consed, folded, each with the range of its values */

typedef uint32_t sx_id; /* index in struct planner's sx; never 0 */

struct sx {
	uint8_t kind;   /* enum expr_kind CONST, INDEX, ADD …, or PLAN_LOOKUP (k: table) */
	sx_id a, b;     /* operands */
	int64_t k;      /* CONST: the number; INDEX: its register; LOOKUP: its table */
	int64_t lo, hi; /* every defined value is in [lo, hi] */
	plan_reg reg;   /* register with its value, valid in the current block; 0: none */
};

/* ---- values */

enum { VIEW_MAX_STEPS = 8, PLAN_MAX_SLOTS = 4096 };

/* An outer split between a logical axis and its part in memory. */
struct view_step {
	sx_id index;            /* the stored block; 0: all blocks, `stride` apart */
	int64_t block, stride;  /* size of a block in elements of the axis; distance in elements of memory */
	int64_t swizzle, count; /* block k is at place (k - swizzle) mod count; count 0: at place k */
};

/* One visible axis of a value on this rank: the interval [off, off + len) of global coordinates. Element
 * x is at start + (x - base) * stride. */
struct view_axis {
	sx_id off, len;
	sx_id start, base;
	int64_t extent; /* global */
	int64_t stride;
	int64_t room;   /* elements of memory for the rank's part: a full block */
	bool full;      /* the interval is all that is stored: the rest of `room` is unused */
	bool own;       /* the axis is a mesh axis itself, so one element is on this rank */
	bool pieces;    /* the layout is several intervals: off and len are invalid */
	bool apart;     /* the interval is in several places in memory: start and base are invalid */
	bool scattered; /* the storage is not made of outer splits */
	uint8_t step_n, stored_n;              /* number of steps; with the last ones that leave no gaps */
	struct view_step step[VIEW_MAX_STEPS]; /* steps of the buffer's storage, outermost first */
	sx_id bound[VIEW_MAX_STEPS]; /* by stream or serial split, outermost first: its block; 0: all */
};

struct view {
	value_id value;
	type_id type;
	bool absent;   /* the rank is not in the value's mesh */
	bool reported; /* the reason why it cannot be used was reported */
	uint32_t buffer;
	sx_id slot;
	sx_id origin; /* offset of the selected axes in elements */
	unsigned rank;
	struct view_axis axis[]; /* rank entries */
};

struct plan_loop {
	op_id op;
	sx_id index;         /* INDEX */
	int64_t start, stop; /* constant bounds; if they are not known, stop < start */
	bool stream;
	expr_id set_stream; /* index of the first set_stream in the body; 0: none */
};

struct planner {
	const struct module *m;
	struct diag *d;
	struct plan *p;
	struct arena *scratch;
	bool failed;
	op_id at; /* the statement being lowered */

	VEC(struct sx) sx;
	struct hash_table sx_ids;
	VEC(sx_id) computed; /* scalars with a register, in order; the end of a block removes its own */
	struct {
		uint32_t generation;
		sx_id sx;
	} * lowered; /* by expr_id */
	uint32_t lowered_n;
	uint32_t generation; /* incremented when a loop is entered or left */
	sx_id *index;        /* by index_id: scalar of the open loop */

	struct view **view;   /* by value_id; NULL: none yet */
	struct place **place; /* by value_id: an ALLOCATE that has no buffer yet; NULL: none */
	uint32_t *queue;      /* by op_id: its ticket queue + 1; 0: none yet */
	bool *posted;         /* by op_id: only a post issues it */
	bool *waited;         /* by op_id: some wait names it */
	uint32_t *message;    /* by op_id: message of a posted send or recv, + 1 */

	struct plan_loop loop[IR_MAX_NESTING];
	unsigned loop_n;
	unsigned depth;
	sx_id stream; /* index of the current stream; 0: a handle, or not known */
	struct communicator {
		team_id team;
		name_id backend;
		uint32_t first; /* first of its slices among the plan's teams */
	} * communicator;
	uint32_t communicators;
	bool in_unit;                   /* tasks become steps of a unit */
	bool in_group;                  /* between start_coalescing and end_coalescing */
	VEC(struct plan_unpack) unpack; /* copies after waits that are still to come */
	bool *settled;                  /* by op_id: a wait follows the Communication directly */
	int64_t *heap;                  /* by value_id: place of a symmetric buffer */
	const struct plan_target *target;
	int64_t page;          /* sizes of symmetric buffers are multiples of this many bytes */
	const uint8_t *copies; /* by value_id: iterations of a stream that use its buffer at once; 0: one */
};

/* A copy after the wait for a statement. */
struct plan_unpack {
	op_id op;
	struct plan_view from, to;
};

/* The enclosing loops and the stream at the allocation of a buffer. */
struct place {
	unsigned loop_n;
	sx_id stream;
};

/* Reports at the statement being lowered, and makes the plan fail. */
void planner_error(struct planner *b, enum diagnostic code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

sx_id sx_const(struct planner *b, int64_t k);
sx_id sx_index(struct planner *b, plan_reg reg, int64_t lo, int64_t hi);
sx_id sx_op(struct planner *b, enum expr_kind kind, sx_id x, sx_id y); /* NOT: y is ignored */
sx_id sx_lookup(struct planner *b, uint32_t table, sx_id at);
static inline sx_id sx_add(struct planner *b, sx_id x, sx_id y)
{
	return sx_op(b, EXPR_ADD, x, y);
}
static inline sx_id sx_sub(struct planner *b, sx_id x, sx_id y)
{
	return sx_op(b, EXPR_SUB, x, y);
}
static inline sx_id sx_mul(struct planner *b, sx_id x, sx_id y)
{
	return sx_op(b, EXPR_MUL, x, y);
}
static inline sx_id sx_min(struct planner *b, sx_id x, sx_id y)
{
	return sx_op(b, EXPR_MIN, x, y);
}
static inline sx_id sx_max(struct planner *b, sx_id x, sx_id y)
{
	return sx_op(b, EXPR_MAX, x, y);
}
sx_id sx_scale(struct planner *b, sx_id x, int64_t k);
sx_id sx_clamp(struct planner *b, sx_id x, int64_t hi); /* limits x to [0, hi] */
bool sx_is_const(const struct planner *b, sx_id x, int64_t *out);
/* Finds the scalar of an expression on this rank. Returns false after reporting that it has no value
 * here. */
bool sx_lower(struct planner *b, expr_id e, sx_id *out);
/* Reports an expression that is undefined on this rank, with the faulty part of it. what: `the condition is undefined`. */
void sx_report_undefined(struct planner *b, expr_id e, const char *what);
/* Evaluates an extent or another expression without loop indices. Returns false after reporting. */
bool planner_value(struct planner *b, expr_id e, int64_t *out);
/* Returns the register of a scalar, and emits missing computations before the next instruction. */
plan_reg sx_reg(struct planner *b, sx_id x);
void sx_text(const struct planner *b, sx_id x, struct buf *out); /* for messages */
void sx_free(struct planner *b);

/* ---- instructions (plan.c) */
uint32_t plan_emit(struct planner *b, struct plan_instruction i); /* returns its position */
/* Emits a check, unless the condition certainly holds. text: each PLAN_VALUE is replaced by the next of
 * the values. */
void plan_emit_check(struct planner *b, sx_id condition, enum diagnostic code, const char *text,
                     const sx_id *value, unsigned values);
void scope_leave(struct planner *b,
                 uint32_t computed); /* forgets scalars computed since b->computed.n had this value */

/* ---- views (plan_view.c, plan_storage.c) */
/* Returns the view of a value that a statement reads; NULL after reporting. The first use of an ALLOCATE
 * makes its buffer. */
struct view *view_of(struct planner *b, value_id v);
/* Returns the view of a result that op writes. It holds the same chunk as op's operands. */
struct view *view_of_result(struct planner *b, op_id op, unsigned k);
bool view_input(struct planner *b, unsigned input);
void view_allocate(struct planner *b, value_id v);
void view_shard(struct planner *b, op_id op);
void view_select(struct planner *b, op_id op);
/* Makes an empty view of a value, with room for its axes. */
struct view *view_new(struct planner *b, value_id value);
/* Sets the blocks by the enclosing loops for a rank that is not in the value's mesh, as for a rank in
 * it. */
void view_bind_by_loops(struct planner *b, struct view *v);
bool view_apart(const struct view *v); /* it is no box, or not in one place */
const struct view *view_anywhere(struct planner *b,
                                 const struct view *v);            /* the view on a rank of the mesh */
bool view_apart_anywhere(struct planner *b, const struct view *v); /* likewise on ranks of the mesh */
bool view_pieces(const struct view *v);                            /* it is no box */
/* Returns true if the view is one block in one place; otherwise reports it. */
bool view_usable(struct planner *b, struct view *v);
/* Finds the interval of an axis of v that a rank holds; bound splits have the same blocks as here.
 * Returns false if it is not one interval. */
bool view_interval(struct planner *b, const struct view *v, unsigned axis, int64_t rank, sx_id *off,
                   sx_id *len);
/* Counts the intervals of an axis that a rank holds; view_interval_at finds one of them. They return 0
 * and false if splits are not outer splits. */
int64_t view_intervals(struct planner *b, const struct view *v, unsigned axis);
bool view_interval_at(struct planner *b, const struct view *v, unsigned axis, int64_t rank, int64_t piece,
                      sx_id *off, sx_id *len);
/* Returns the elements from the slot's start to coordinates x (one for each visible axis). */
sx_id view_offset(struct planner *b, const struct view *v, const sx_id *x);
enum dtype view_dtype(const struct planner *b, const struct view *v);
const char *value_text(const struct planner *b, value_id v); /* for messages */

/* A split between a logical axis and its leaves in a domain. */
struct axis_step {
	uint8_t place, mesh_axis, swizzled, swizzle_axis;
	uint8_t axis;         /* the leaf whose coordinate selects the block */
	int64_t count, block; /* number and size of the blocks */
	bool whole;           /* the axis is the leaf: blocks of one element */
};
struct axis_steps { /* outermost first */
	unsigned n;
	struct axis_step step[VIEW_MAX_STEPS];
};
/* Finds the splits of an axis in the loop or allocation domain. Returns false if the axis is merged or
 * has other splits. */
bool axis_steps_find(struct planner *b, type_id t, unsigned logical, bool allocation, struct axis_steps *out);
/* Finds the steps of an axis, and the block of each on this rank (0: all). The first stored_n are steps
 * of its storage. Returns false if the storage has other splits. */
bool view_blocks(struct planner *b, const struct view *v, unsigned axis, struct axis_steps *steps,
                 sx_id *index);
/* Makes a buffer for v with its chunks. bound[axis][k]: block of the k-th stream or serial split. */
struct view *storage_make(struct planner *b, value_id v, const sx_id (*bound)[VIEW_MAX_STEPS],
                          const struct place *place);
/* Returns the bytes of a buffer for v on this rank, with no loop bound; -1 after reporting. */
int64_t storage_bytes(struct planner *b, value_id v);
/* Makes a view of the blocks of x that the ranks of a team have along a mesh axis. */
struct view *storage_view(struct planner *b, value_id value, const struct view *x, const uint8_t *mesh_axes,
                          unsigned n, uint32_t team);
/* Makes scratch memory for the statement being lowered, with the slot of the iteration. */
uint32_t storage_temporary(struct planner *b, value_id value, enum dtype t, int64_t elements, sx_id *slot);
/* Finds the interval of an axis and its place in memory, from its transforms, bound splits and storage.
 * piece: number of the interval, if there are several; -1: they remain `pieces`. */
void axis_resolve(struct planner *b, struct view *v, unsigned axis, int64_t piece);
/* Returns the index of this rank along an axis of a type's mesh. The rank must be in the mesh. */
int64_t mesh_index(const struct planner *b, type_id t, unsigned mesh_axis, int64_t rank);

/* ---- symmetric memory (plan_symmetric.c) */
int64_t symmetric_bytes(const struct planner *b, int64_t bytes); /* rounded up to pages */
void symmetric_heap(struct planner *b); /* places all symmetric buffers; called first */
void plan_symmetric_view(struct planner *b, op_id op);
void plan_deallocate(struct planner *b, op_id op);

/* ---- operations */
void plan_local(struct planner *b, op_id op);      /* plan_op.c */
void plan_unit(struct planner *b, op_id op);       /* plan_unit.c */
void plan_bucket(struct planner *b, op_id op);     /* plan_bucket.c */
void plan_collective(struct planner *b, op_id op); /* plan_comm.c */
void plan_p2p(struct planner *b, op_id op);
void plan_post(struct planner *b, op_id op);
void plan_coalescing(struct planner *b, op_id op);
void plan_wait(struct planner *b, op_id op);
void plan_teams(struct planner *b);
/* Finds the slice with this rank: its number among the plan's teams, and the rank's index in it. */
bool plan_own_slice(const struct planner *b, op_id op, uint32_t *team, uint32_t *own);
/* Emits an instruction that makes a ticket. If no wait names the ticket, emits a wait right after it. */
void plan_emit_async(struct planner *b, op_id op, struct plan_instruction i);
/* Returns true if nothing ever waits for the statement and the target has as_checked set. */
bool plan_is_never_waited(const struct planner *b, op_id op);
/* Returns true if a wait for the statement follows in its block. */
bool plan_is_waited_here(const struct planner *b, op_id op);

/* ---- runs of memory (plan_run.c); n: moved elements of each axis */

/* Lists the axes of a view in memory order, outermost first, without those of one element. n[i] 0:
 * extent not known. */
unsigned run_axes(const struct planner *b, const struct view *v, const sx_id *n, uint8_t *axis);
void run_extents(struct planner *b, const struct view *v, int gathered, bool padded, sx_id *n);
/* Returns true if the type says that blocks of an axis have one element on all ranks. */
bool run_is_single(const struct planner *b, const struct view *v, unsigned axis);
/* Returns true if only the outermost (or the gathered) axis is clipped; then only the elements are
 * moved. The answer uses sizes of blocks only if both sides know them. */
bool run_is_plain(const struct planner *b, const struct view *v, int gathered);
sx_id run_product(struct planner *b, const struct view *v, const sx_id *n,
                  int without); /* axis that is left out; -1: none */
sx_id run_condition(struct planner *b, const struct view *v,
                    const sx_id *n);                     /* the condition for being a run */
bool sx_holds(const struct planner *b, sx_id condition); /* certainly */
/* Finds the run of memory of a view. Checks it at run time if it is not certain, and reports an error if
 * it is none. */
bool run_of(struct planner *b, const struct view *v, const sx_id *n, struct plan_view *out);

/* Helpers for a box of the result and windows of operands on it (plan_op.c). */
void plan_task_start(struct plan_task *t, enum rt_kernel kernel);
void plan_task_emit(struct planner *b, struct plan_task *t);
/* Requires that v's block covers [off, off + len) of an axis. Checked at run time if it is not constant. */
void plan_require_inside(struct planner *b, const struct view *v, unsigned axis, sx_id off, sx_id len);
/* Reports an error unless an axis that every element of the result needs is whole on this rank. */
bool plan_require_whole(struct planner *b, op_id op, const struct view *v, unsigned axis);
/* Makes the window of a box on v. Dim i has n[i] elements and runs along axis map[i] of v; -1: it
 * repeats one element. at: coordinates of the first element. Dims of extent 1 are left out before
 * `keep`. */
bool plan_window(struct planner *b, const struct view *v, unsigned nd, const sx_id *n, const int *map,
                 const sx_id *at, unsigned keep, struct plan_view *out);
/* Finds the coordinates of an operand for a box of the result. Axis c runs along dim dim[c]; -1: from
 * its own start. An axis of extent 1 that is broadcast keeps its coordinate. map is the inverse of dim. */
void plan_follow(struct planner *b, const struct view *v, const int *dim, unsigned nd, const sx_id *n,
                 const sx_id *at, const int64_t *extent, int *map, sx_id *coordinate);
/* Emit a copy now; a copy after the wait for a statement; all copies after the wait for a statement. */
void plan_copy_now(struct planner *b, const struct plan_view *to, const struct plan_view *from);
void plan_copy_after(struct planner *b, op_id op, const struct plan_view *to, const struct plan_view *from);
void plan_unpack_after(struct planner *b, op_id op);

/* A block of the result as a box. */
struct box {
	unsigned nd;
	sx_id n[IR_MAX_LOGICAL], at[IR_MAX_LOGICAL];
	int64_t extent[IR_MAX_LOGICAL];
	int map[IR_MAX_LOGICAL];
};

struct box plan_box_of(const struct view *result);
/* Makes the window of an operand whose axis c runs along dim[c] of the result's box. */
bool plan_operand_window(struct planner *b, const struct view *operand, const struct box *box, const int *dim,
                         unsigned keep, struct plan_view *out);
bool plan_result_window(struct planner *b, const struct view *result, const struct box *box, unsigned keep,
                        struct plan_view *out);
void plan_align_right(unsigned rank, unsigned nd,
                      int *dim); /* dims of an operand's axes, aligned at the right */
struct operand_ref {
	struct view *view; /* NULL: it is the scalar */
	struct plan_operand scalar;
};
/* Returns true if an axis of an operand may be summed up: it is whole on this rank, or the result is
 * pending over the mesh axes on which it is spread. Otherwise reports it. */
bool plan_may_reduce(struct planner *b, const struct view *result, const struct view *operand, unsigned axis);
void plan_reduce(struct planner *b, op_id op, const struct view *result, const struct view *operand);
void plan_contraction(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in,
                      unsigned n);
/* Copies a box of n extents from `from` of the operand to `to` of the result. Axis k of the result is
 * axis map[k] of the operand; -1: broadcast. */
void plan_copy_box(struct planner *b, const struct view *result, const struct view *operand, const int *map,
                   const sx_id *to, const sx_id *from, const sx_id *n);
void plan_fill_box(struct planner *b, const struct view *result, const sx_id *to, const sx_id *n,
                   double literal, sx_id value);
/* Copies between values that are cut into the same blocks; a loop may cut the written ones
 * (plan_blocks.c). Returns false, with nothing done, if the blocks differ. */
bool plan_copy_blocks(struct planner *b, const struct view *to, const struct view *from);
/* plan_shape.c; each reports the cases that it cannot plan. */
void plan_reshape(struct planner *b, const struct view *result, const struct view *operand);
/* slice, pad, cat, result k of a split */
void plan_pieces(struct planner *b, op_id op, unsigned k, const struct view *result,
                 const struct operand_ref *in, unsigned n);
void plan_experts(struct planner *b, op_id op); /* plan_experts.c: dispatch, combine */
/* plan_index.c */
void plan_scan(struct planner *b, op_id op, const struct view *result, const struct view *operand);
/* Plans result k. *found: the indices in scratch memory, which result 0 leaves for result 1. */
void plan_topk(struct planner *b, op_id op, unsigned k, const struct view *result, const struct view *operand,
               struct plan_view *found);
void plan_take(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in);
void plan_put(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in);
void plan_grouped(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in);
void plan_one_hot(struct planner *b, const struct view *result, const struct view *operand);
/* plan_norm.c; false: no such operation */
bool plan_norm(struct planner *b, op_id op, unsigned k, struct view *result, const struct operand_ref *in,
               unsigned n, struct plan_view *found);

#endif
