/* planner: the shared parts of the files that build a plan.
 *
 *     plan.c            statements in their order: control, streams, memory
 *     plan_scalar.c     scalars: folding, ranges, registers
 *     plan_view.c       which block of a value is here, and where it stands in memory
 *     plan_storage.c    buffers
 *     plan_symmetric.c  those that peers see
 *     plan_memory.c     their places; plan_lifetime.c and plan_uses.c say which may be the same
 *     plan_op.c         local operations as kernel tasks
 *     plan_shape.c      reshape, cat, slice, pad, broadcast: several or odd copies
 *     plan_reduce.c     reductions and contractions
 *     plan_blocks.c     copies of several blocks
 *     plan_boxes.c      values that are several boxes in a step of a loop
 *     plan_bucket.c     pack and unpack
 *     plan_unit.c       several operations as one task
 *     plan_products.c   products with copies before and functions after them
 *     plan_norm.c       softmax, attention, norms
 *     plan_comm.c       collectives
 *     plan_pack.c       their buffers
 *     plan_exchange*.c those that pack and unpack
 *     plan_elements.c, plan_dense.c      layouts that are no boxes, and copies of them that are
 *     plan_message.c  sends, receives, groups, waits
 *     plan_run.c      blocks as runs of memory */
#ifndef HIRC_PLAN_PLANNER_H
#define HIRC_PLAN_PLANNER_H
#include "base/hash.h"
#include "ir/layout.h"
#include "plan/plan.h"

/* ---- scalars (plan_scalar.c): hash-consed, folded, each with the range of its values */

typedef uint32_t sx_id; /* never 0; index into struct planner's sx */

struct sx {
	uint8_t kind;   /* enum expr_kind CONST, INDEX, ADD …, or PLAN_LOOKUP (k: table) */
	sx_id a, b;     /* operands */
	int64_t k;      /* constant; INDEX: its register; LOOKUP: table */
	int64_t lo, hi; /* every defined value lies in [lo, hi] */
	plan_reg reg;   /* where it was computed, valid in the current block; 0: nowhere */
};

/* ---- values */

enum { VIEW_MAX_STEPS = 8, PLAN_MAX_SLOTS = 4096 };

/* One outer split on the way from a logical axis to its part in memory. */
struct view_step {
	sx_id index;            /* the block that is stored; 0: all of them, stride apart */
	int64_t block, stride;  /* elements of the axis; of memory */
	int64_t swizzle, count; /* block k stands at place (k - swizzle) mod count; count 0: at place k */
};

/* One visible axis of a value on this rank: the interval [off, off + len) of global coordinates. The
 * element x of it stands at start + (x - base) * stride. */
struct view_axis {
	sx_id off, len;
	sx_id start, base;
	int64_t extent; /* global */
	int64_t stride;
	int64_t room;   /* elements that memory has for the rank's part: a full block */
	bool full;      /* the interval is all that the rank holds: up to `room`, nothing else is stored */
	bool own;       /* the axis is a mesh axis itself: the rank's element is here */
	bool pieces;    /* the layout is several intervals: off, len are of no use */
	bool apart;     /* the interval lies in several places in memory: start, base are of no use */
	bool scattered; /* the storage is not made of outer splits */
	uint8_t step_n, stored_n;              /* without, and with, the last ones that leave no gaps */
	struct view_step step[VIEW_MAX_STEPS]; /* of the buffer's storage, outermost first */
	sx_id bound[VIEW_MAX_STEPS]; /* block of each stream or serial split, outermost first; 0: all */
};

struct view {
	value_id value;
	type_id type;
	bool absent;   /* the rank is not in the value's mesh */
	bool reported; /* that it cannot be used */
	uint32_t buffer;
	sx_id slot;
	sx_id origin; /* the addend of selected axes to the offset, elements */
	unsigned rank;
	struct view_axis axis[]; /* rank of them */
};

struct plan_loop {
	op_id op;
	sx_id index;         /* INDEX */
	int64_t start, stop; /* when known, else stop < start */
	bool stream;
	expr_id set_stream; /* index of the first set_stream in the body; 0: none */
};

struct planner {
	const struct module *m;
	struct diag *d;
	struct plan *p;
	struct arena *scratch;
	bool failed;
	op_id at; /* statement that is lowered */

	VEC(struct sx) sx;
	struct hash_table sx_ids;
	VEC(sx_id) computed; /* scalars with a register, in order; a block's go when it ends */
	struct {
		uint32_t generation;
		sx_id sx;
	} * lowered; /* by expr_id */
	uint32_t lowered_n;
	uint32_t generation; /* grows with each loop entered or left */
	sx_id *index;        /* by index_id: of the loop that is open */

	struct view **view; /* by value_id; NULL: not seen */
	struct place *
	    *place;        /* by value_id: of an ALLOCATE that no use has made a buffer of yet; NULL: none */
	uint32_t *queue;   /* by op_id: of its tickets, + 1; 0: none yet */
	bool *posted;      /* by op_id: issued by a post only */
	bool *waited;      /* by op_id: some wait names it */
	uint32_t *message; /* by op_id of a posted send or recv: message + 1 */

	struct plan_loop loop[IR_MAX_NESTING];
	unsigned loop_n;
	unsigned depth;
	sx_id stream; /* index of the current stream; 0: it is a handle's, or not known */
	struct communicator {
		team_id team;
		name_id backend;
		uint32_t first; /* of its slices in the plan's team */
	} * communicator;
	uint32_t communicators;
	bool in_unit;                   /* tasks become steps */
	bool in_group;                  /* between start_coalescing and end_coalescing */
	VEC(struct plan_unpack) unpack; /* copies that follow waits still to come */
	bool *settled;                  /* by op_id: a Communication that was waited for where it stands */
	int64_t *heap;                  /* by value_id: where a symmetric buffer stands */
	const struct plan_target *target;
	int64_t page; /* bytes: symmetric buffers are multiples of it */
	const uint8_t
	    *copies; /* by value_id: how many iterations of a stream may use its buffer at once; 0: one */
};

/* A copy that follows the wait for a statement. */
struct plan_unpack {
	op_id op;
	struct plan_view from, to;
};

/* The loops and the stream that a buffer is allocated in. */
struct place {
	unsigned loop_n;
	sx_id stream;
};

/* Reports at the statement that is lowered, and makes the plan fail. */
void planner_error(struct planner *b, enum diagnostic code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

sx_id sx_const(struct planner *b, int64_t k);
sx_id sx_index(struct planner *b, plan_reg reg, int64_t lo, int64_t hi);
sx_id sx_op(struct planner *b, enum expr_kind kind, sx_id x, sx_id y); /* NOT: y ignored */
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
sx_id sx_clamp(struct planner *b, sx_id x, int64_t hi); /* into [0, hi] */
bool sx_is_const(const struct planner *b, sx_id x, int64_t *out);
/* The scalar of an expression on this rank. Reports and returns false if it has no value here. */
bool sx_lower(struct planner *b, expr_id e, sx_id *out);
/* An extent or another expression without loop indices; reports and returns false. */
bool planner_value(struct planner *b, expr_id e, int64_t *out);
/* The register that holds it: emits missing computations before the next instruction. */
plan_reg sx_reg(struct planner *b, sx_id x);
void sx_text(const struct planner *b, sx_id x, struct buf *out); /* for messages */
void sx_free(struct planner *b);

/* ---- instructions (plan.c) */
uint32_t plan_emit(struct planner *b, struct plan_instruction i); /* its position */
/* Emits nothing when the condition surely holds. text: each PLAN_VALUE stands for the next of the values. */
void plan_emit_check(struct planner *b, sx_id condition, enum diagnostic code, const char *text,
                     const sx_id *value, unsigned values);
void scope_leave(struct planner *b,
                 uint32_t computed); /* forgets scalars computed since b->computed.n was this */

/* ---- views (plan_view.c, plan_storage.c) */
/* The view of a value that a statement reads; NULL after reporting. A buffer is made of an ALLOCATE at its
 * first use. */
struct view *view_of(struct planner *b, value_id v);
/* Returns the view of a result that op is about to write; it holds the chunk that op's operands have. */
struct view *view_of_result(struct planner *b, op_id op, unsigned k);
bool view_input(struct planner *b, unsigned input);
void view_allocate(struct planner *b, value_id v);
void view_shard(struct planner *b, op_id op);
void view_select(struct planner *b, op_id op);
/* An empty view of a value, with room for its axes. */
struct view *view_new(struct planner *b, value_id value);
/* Binds the blocks of a rank that is not in the value's mesh to the loops around, as if it were. */
void view_bind_by_loops(struct planner *b, struct view *v);
bool view_apart(const struct view *v); /* it is no box, or not in one place */
const struct view *view_anywhere(struct planner *b, const struct view *v); /* as on a rank that has it */
bool view_apart_anywhere(struct planner *b, const struct view *v); /* nor is what ranks of the mesh have */
bool view_pieces(const struct view *v);                            /* it is no box */
/* Returns true if the view is one block in one place; reports it where not. */
bool view_usable(struct planner *b, struct view *v);
/* Finds the interval that a rank holds of an axis of v, blocks of bound splits as here; false when it is not
 * one interval. */
bool view_interval(struct planner *b, const struct view *v, unsigned axis, int64_t rank, sx_id *off,
                   sx_id *len);
/* Counts the intervals of an axis that a rank holds; view_interval_at finds one of them. 0, false: splits
 * that are no outer ones. */
int64_t view_intervals(struct planner *b, const struct view *v, unsigned axis);
bool view_interval_at(struct planner *b, const struct view *v, unsigned axis, int64_t rank, int64_t piece,
                      sx_id *off, sx_id *len);
/* Elements from the slot's start to coordinates x (one a visible axis). */
sx_id view_offset(struct planner *b, const struct view *v, const sx_id *x);
enum dtype view_dtype(const struct planner *b, const struct view *v);
const char *value_text(const struct planner *b, value_id v); /* its name */

/* One split on the way from a logical axis to its leaves in a domain. */
struct axis_step {
	uint8_t place, mesh_axis, swizzled, swizzle_axis;
	uint8_t axis;         /* the leaf whose coordinate chooses the block */
	int64_t count, block; /* number and size of the blocks */
	bool whole;           /* the axis itself: blocks of one element */
};
struct axis_steps { /* outermost first */
	unsigned n;
	struct axis_step step[VIEW_MAX_STEPS];
};
/* Finds the splits of an axis in the loop or the allocation domain; false when the axis is merged or split
 * otherwise. */
bool axis_steps_find(struct planner *b, type_id t, unsigned logical, bool allocation, struct axis_steps *out);
/* The steps of an axis and which block of each is here (0: all of them); the first stored_n are those of its
 * storage. False: the storage has others. */
bool view_blocks(struct planner *b, const struct view *v, unsigned axis, struct axis_steps *steps,
                 sx_id *index);
/* A buffer for v with its chunks; bound[axis][k]: block of the k-th stream or serial split. */
struct view *storage_make(struct planner *b, value_id v, const sx_id (*bound)[VIEW_MAX_STEPS],
                          const struct place *place);
/* Bytes of a buffer for v on this rank, not bound to loops; -1 after reporting. */
int64_t storage_bytes(struct planner *b, value_id v);
/* A view of the blocks of x that the ranks of a team have along a mesh axis. */
struct view *storage_view(struct planner *b, value_id value, const struct view *x, const uint8_t *mesh_axes,
                          unsigned n, uint32_t team);
/* Scratch memory for the statement that is lowered, with the slot of the iteration. */
uint32_t storage_temporary(struct planner *b, value_id value, enum dtype t, int64_t elements, sx_id *slot);
/* The interval and the place in memory of an axis, by its chain, its bound splits and its storage; of several
 * intervals the one of this number (-1: they stay `pieces`). */
void axis_resolve(struct planner *b, struct view *v, unsigned axis, int64_t piece);
/* Index of this rank along an axis of a type's mesh; the rank is in the mesh. */
int64_t mesh_index(const struct planner *b, type_id t, unsigned mesh_axis, int64_t rank);

/* ---- symmetric memory (plan_symmetric.c) */
int64_t symmetric_bytes(const struct planner *b, int64_t bytes); /* rounded up to pages */
void symmetric_heap(struct planner *b); /* places all symmetric buffers; first of all */
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
/* The slice that holds this rank: its number in the plan's teams and the rank's index in it. */
bool plan_own_slice(const struct planner *b, op_id op, uint32_t *team, uint32_t *own);
/* Emits an instruction that makes a ticket, and a wait right behind it if no wait names the ticket. */
void plan_emit_async(struct planner *b, op_id op, struct plan_instruction i);
/* Returns true if nothing ever waits for the statement, with a target whose memory is as_checked; else
 * false. */
bool plan_is_never_waited(const struct planner *b, op_id op);
/* Returns true if a wait for the statement stands later in its block. */
bool plan_is_waited_here(const struct planner *b, op_id op);

/* ---- runs of memory (plan_run.c); n: moved elements of each axis */

/* Axes of a view in memory order, outermost first, without those of one element (n[i] 0: not known). */
unsigned run_axes(const struct planner *b, const struct view *v, const sx_id *n, uint8_t *axis);
void run_extents(struct planner *b, const struct view *v, int gathered, bool padded, sx_id *n);
/* Returns true if blocks of an axis are one element on all ranks, by the type. */
bool run_is_single(const struct planner *b, const struct view *v, unsigned axis);
/* Returns true if no axis but the outermost (or the gathered one) is clipped: then just the elements are
 * moved. Depends on blocks' sizes only where both sides know them. */
bool run_is_plain(const struct planner *b, const struct view *v, int gathered);
sx_id run_product(struct planner *b, const struct view *v, const sx_id *n,
                  int without);                                               /* of all axes but one (-1) */
sx_id run_condition(struct planner *b, const struct view *v, const sx_id *n); /* that it is a run */
bool sx_holds(const struct planner *b, sx_id condition);                      /* surely */
/* The run that a view is; checked at run time where it is not sure, reported when it is none. */
bool run_of(struct planner *b, const struct view *v, const sx_id *n, struct plan_view *out);

/* A box of the result, and how operands are windowed on it (plan_op.c). */
void plan_task_start(struct plan_task *t, enum rt_kernel kernel);
void plan_task_emit(struct planner *b, struct plan_task *t);
/* Requires that v's block covers [off, off + len) of an axis: folded where it can be, else checked at run
 * time. */
void plan_require_inside(struct planner *b, const struct view *v, unsigned axis, sx_id off, sx_id len);
/* An axis that every element of the result needs must be here as a whole; else reported. */
bool plan_require_whole(struct planner *b, op_id op, const struct view *v, unsigned axis);
/* The window on v of a box: dim i has n[i] elements and runs along axis map[i] of v (-1: the same
 * element again and again); at: coordinates of its first element. Dims that are 1 here are left out,
 * but for those from `keep` on. */
bool plan_window(struct planner *b, const struct view *v, unsigned nd, const sx_id *n, const int *map,
                 const sx_id *at, unsigned keep, struct plan_view *out);
/* Coordinates of an operand for a box of the result: axis c runs along dim dim[c] (-1: its own start);
 * an axis of extent 1 that is widened stays where it is. map is the inverse. */
void plan_follow(struct planner *b, const struct view *v, const int *dim, unsigned nd, const sx_id *n,
                 const sx_id *at, const int64_t *extent, int *map, sx_id *coordinate);
/* A copy; one that follows the wait for a statement; those of a statement. */
void plan_copy_now(struct planner *b, const struct plan_view *to, const struct plan_view *from);
void plan_copy_after(struct planner *b, op_id op, const struct plan_view *to, const struct plan_view *from);
void plan_unpack_after(struct planner *b, op_id op);

/* The block of the result, as a box. */
struct box {
	unsigned nd;
	sx_id n[IR_MAX_LOGICAL], at[IR_MAX_LOGICAL];
	int64_t extent[IR_MAX_LOGICAL];
	int map[IR_MAX_LOGICAL];
};

struct box plan_box_of(const struct view *result);
/* An operand whose axis c runs along dim[c] of the result's box. */
bool plan_operand_window(struct planner *b, const struct view *operand, const struct box *box, const int *dim,
                         unsigned keep, struct plan_view *out);
bool plan_result_window(struct planner *b, const struct view *result, const struct box *box, unsigned keep,
                        struct plan_view *out);
void plan_align_right(unsigned rank, unsigned nd,
                      int *dim); /* dim of each axis of an operand, from the right */
struct operand_ref {
	struct view *view; /* NULL: the scalar */
	struct plan_operand scalar;
};
/* Returns true if an axis of an operand may be summed away: it is whole here, or the result is pending where
 * it is spread; reports it where not. */
bool plan_may_reduce(struct planner *b, const struct view *result, const struct view *operand, unsigned axis);
void plan_reduce(struct planner *b, op_id op, const struct view *result, const struct view *operand);
void plan_contraction(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in,
                      unsigned n);
/* Copies [from, …) of the operand to [to, …) of the result; a box of n extents, axis k of the result is axis
 * map[k] of the operand (-1: broadcast). */
void plan_copy_box(struct planner *b, const struct view *result, const struct view *operand, const int *map,
                   const sx_id *to, const sx_id *from, const sx_id *n);
void plan_fill_box(struct planner *b, const struct view *result, const sx_id *to, const sx_id *n,
                   double literal, sx_id value);
/* Copies between values of the same blocks, of which a loop may cut those written (plan_blocks.c). False:
 * they are others, nothing is done. */
bool plan_copy_blocks(struct planner *b, const struct view *to, const struct view *from);
/* plan_shape.c; each reports the cases that it cannot plan. */
void plan_reshape(struct planner *b, const struct view *result, const struct view *operand);
/* slice, pad, cat, result k of a split */
void plan_pieces(struct planner *b, op_id op, unsigned k, const struct view *result,
                 const struct operand_ref *in, unsigned n);
void plan_experts(struct planner *b, op_id op); /* plan_experts.c: dispatch, combine */
/* plan_index.c */
/* Result k; *found: the indices in scratch, of result 0 for result 1. */
void plan_topk(struct planner *b, op_id op, unsigned k, const struct view *result, const struct view *operand,
               struct plan_view *found);
void plan_take(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in);
void plan_one_hot(struct planner *b, const struct view *result, const struct view *operand);
/* plan_norm.c; false: no such operation */
bool plan_norm(struct planner *b, op_id op, struct view *result, const struct operand_ref *in, unsigned n);

#endif
