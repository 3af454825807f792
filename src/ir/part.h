/* part: finds the elements of a tensor that a rank has in an iteration.
 *
 *     X: f32[10@x, 4], x = 3                 rank 1          axis 0: 4 to 8         axis 1: 0 to 4
 *     Y: f32[16@stream(2)@x], x = 2          stream 1        rank 1: 12 to 16
 *                                            all streams     rank 1: 4 to 8 and 12 to 16
 *
 *          0       4       8      12      16
 *          |       |#######|       |#######|      from 4 to 16, runs of 4, 8 apart
 *
 * The transforms below an axis cut it into blocks, and cut each block again. A cut either leaves one
 * block here or all blocks. For a mesh axis it is the rank's block, and for a bound loop the block of
 * its step. If one block is left, the interval (or each run) becomes shorter. If all are left and the
 * next cut leaves one block, the result is runs. The last block is clipped at the end of the piece that
 * is cut:
 *
 *     Z: f32[10@block(3)@x], x = 2     blocks of 4, 4, 2, each in halves of 2
 *                                      rank 0: 0 to 2, 4 to 6, 8 to 10      rank 1: 2 to 4, 6 to 8
 *
 * Other code does similar work. A plan computes the same numbers with scalars at run time
 * (plan/plan_view.c, compared in debug builds). plan/data_map.c also finds the place of each element in
 * memory. cost/local.c finds the largest part of all ranks. ref/ref_local.c is an independent
 * implementation to compare with. */
#ifndef HIRC_IR_PART_H
#define HIRC_IR_PART_H
#include "base/collective.h"
#include "ir/bound.h"

enum {
	PART_LEVELS = 7, /* enough for the 8 placements of an axis */
	PART_ALL = -1,   /* number of a block: all blocks are here */
};

/* The first level is a set of runs in [from, to). Each later level is a set of runs in every run of the
 * level before. The first run begins at the begin of the enclosing one; the last may be clipped at its
 * end. */
struct part_level {
	int64_t run, step; /* run: elements of a run; step: from one run to the next */
};
struct part_axis {
	int64_t extent;   /* extent of the whole axis */
	int64_t from, to; /* first element, and the one after the last; 0, 0: empty */
	int64_t block;    /* a full block of the last cut that leaves one; extent: no cut */
	uint8_t levels;   /* 0: all elements of [from, to) are here */
	struct part_level level[PART_LEVELS];
};

struct part {
	uint8_t n;   /* number of visible axes */
	bool exact;  /* false: some of these elements are not here, since merged or swizzled axes are cut */
	bool absent; /* the rank is not in the tensor's mesh, so all axes are empty */
	struct part_axis axis[IR_MAX_LOGICAL];
};

/* Finds the part of a rank. Loops outside of `bound` (NULL: all loops) count with all their steps.
 * Returns false if an extent has no value. */
bool part_of(const struct module *m, type_id t, int64_t rank, const struct bound_at *bound, struct part *out);

/* ---- elements */

struct part_span {
	int64_t from, to;
};
/* Finds the next interval of an axis, in ascending order: `for (struct part_span s = {0}; part_next(x,
 * &s);)`. No two intervals touch. The initial {0, 0} is not an interval. */
bool part_next(const struct part_axis *x, struct part_span *s);
static inline bool part_is_whole(const struct part_axis *x)
{
	return !x->levels && !x->from && x->to == x->extent;
}
int64_t part_count(const struct part_axis *x);
/* Returns true if all elements of an interval are here. */
bool part_has(const struct part_axis *x, struct part_span needs);
/* Returns true if all elements that `needs` has are here. */
bool part_contains(const struct part_axis *x, const struct part_axis *needs);
/* Counts all elements; returns -1 on overflow. */
int64_t part_elements(const struct part *p);
/* Counts the common elements of two parts of the same tensor; returns -1 on overflow. */
int64_t part_common(const struct part *a, const struct part *b);
bool part_axis_same(const struct part_axis *a, const struct part_axis *b);
bool part_same(const struct part *a, const struct part *b);

/* Counts the elements that member `from` of a team sends to member `to`, which may be the same. in: the
 * part of the operand on `from`; out: the part of the result on `to`. */
int64_t part_delivered(enum collective c, int root, unsigned from, unsigned to, const struct part *in,
                       const struct part *out);

/* ---- cuts, for those who find blocks otherwise than by `bound` */

/* A cut: element k is element k % size of block k / size. */
struct part_cut {
	int64_t size, count; /* elements of a full block; number of blocks, 0 if it has no place */
	uint8_t axis;        /* the loop axis that numbers the blocks */
	uint8_t place;       /* enum axis_place */
	uint8_t mesh_axis;   /* for PLACE_MESH */
	uint8_t swizzled;    /* step r is block (r + index along swizzle_axis) mod count */
	uint8_t swizzle_axis;
};
struct part_cuts {
	int64_t extent;
	uint64_t joint; /* bits: placed axes in no cut, below a merge or a cut swizzle */
	unsigned n;
	struct part_cut at[IR_MAX_AXES]; /* outermost first; the last one has a place */
};
/* Reads the cuts of a visible axis. Returns false if an extent has no value, which is *offending. */
bool part_cuts_read(const struct module *m, type_id t, unsigned axis, struct part_cuts *out,
                    expr_id *offending);
/* Finds the index of a rank along each axis of a type's mesh (IR_MAX_MESH_AXES entries). Returns false
 * if the rank is not in the mesh. */
bool part_indices(const struct module *m, type_id t, int64_t rank, uint32_t *index);
/* Returns the block of a cut that is here, or PART_ALL. */
int64_t part_block(const struct part_cut *c, const uint32_t *index, const struct bound_at *bound);
/* Starts with a whole axis. Cuts are applied to it outermost first. */
void part_start(struct part_axis *x, int64_t extent);
/* Applies a cut that leaves one block or all. Returns false if this needs too many levels; then the axis
 * keeps too many elements, also after later cuts. */
bool part_narrow(struct part_axis *x, int64_t size, int64_t block);

#endif
