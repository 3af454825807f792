/* part: the elements of a tensor that a rank has in an iteration.
 *
 *     X: f32[10@x, 4], x = 3                 rank 1          axis 0: 4 to 8         axis 1: 0 to 4
 *     Y: f32[16@stream(2)@x], x = 2          stream 1        rank 1: 12 to 16
 *                                            all streams     rank 1: 4 to 8 and 12 to 16
 *
 *          0       4       8      12      16
 *          |       |#######|       |#######|      from 4 to 16, runs of 4, 8 apart
 *
 * The transforms below an axis cut it in blocks, each of which is cut again. Of a cut one block is here (of a
 * mesh axis that of the rank, of a bound loop that of its step) or all are. One block makes the interval, or
 * each run, shorter; all of them, followed by one block of the next cut, make runs. Blocks are clipped at the
 * end of what they are cut from:
 *
 *     Z: f32[10@block(3)@x], x = 2     blocks of 4, 4, 2, each in halves of 2
 *                                      rank 0: 0 to 2, 4 to 6, 8 to 10      rank 1: 2 to 4, 6 to 8
 *
 * A plan has the same as scalars that are worked out as a program runs (plan/plan_view.c, compared in debug
 * builds). plan/data_map.c also finds where each element stands in memory, cost/local.c the largest part of
 * all ranks, and ref/ref_local.c is written anew, to compare with. */
#ifndef HIRC_IR_PART_H
#define HIRC_IR_PART_H
#include "base/collective.h"
#include "ir/bound.h"

enum {
	PART_LEVELS = 7, /* enough for the 8 placements of an axis */
	PART_ALL = -1,   /* of a cut: all blocks are here */
};

/* The first level is of runs in [from, to), each other one of runs in every run of the level before. The
 * first run begins where that begins; the last may be clipped there. */
struct part_level {
	int64_t run, step; /* runs of `run` elements, `step` apart */
};
struct part_axis {
	int64_t extent;   /* of the whole axis */
	int64_t from, to; /* the first element and the one after the last; 0, 0: none */
	int64_t block;    /* a full block of the last cut of which one block is here; extent: of none */
	uint8_t levels;   /* 0: all elements of [from, to) */
	struct part_level level[PART_LEVELS];
};

struct part {
	uint8_t n;   /* visible axes */
	bool exact;  /* false: not all of these elements are here: cuts of merged or swizzled axes are cut */
	bool absent; /* the rank is not in the tensor's mesh: all axes are empty */
	struct part_axis axis[IR_MAX_LOGICAL];
};

/* Finds the part of a rank; loops that are not in `bound` (NULL: all) count as all of their steps. False: an
 * extent has no value. */
bool part_of(const struct module *m, type_id t, int64_t rank, const struct bound_at *bound, struct part *out);

/* ---- elements */

struct part_span {
	int64_t from, to;
};
/* Finds the next interval of an axis, ascending; none touch: `for (struct part_span s = {0}; part_next(x,
 * &s);)`. The two equal ones that it begins with are no interval. */
bool part_next(const struct part_axis *x, struct part_span *s);
static inline bool part_is_whole(const struct part_axis *x)
{
	return !x->levels && !x->from && x->to == x->extent;
}
int64_t part_count(const struct part_axis *x);
/* Counts all elements; -1: more than 64 bits count. */
int64_t part_elements(const struct part *p);
/* Counts the elements that two parts of one tensor's index space have in common; -1: as part_elements. */
int64_t part_common(const struct part *a, const struct part *b);
bool part_axis_same(const struct part_axis *a, const struct part_axis *b);
bool part_same(const struct part *a, const struct part *b);

/* Counts the elements that member `from` of a team gives member `to`, which may be the same one. in: the part
 * of `from` of the operand; out: the part of `to` of the result. */
int64_t part_delivered(enum collective c, int root, unsigned from, unsigned to, const struct part *in,
                       const struct part *out);

/* ---- cuts, for those who find blocks otherwise than by `bound` */

/* Element k is in block k / size, as its element k % size. */
struct part_cut {
	int64_t size, count; /* elements of a full block; blocks, 0 where it has no place */
	uint8_t axis;        /* the axis of the loop domain that numbers the blocks */
	uint8_t place;       /* enum axis_place */
	uint8_t mesh_axis;   /* PLACE_MESH */
	uint8_t swizzled;    /* step r is block (r + index along swizzle_axis) mod count */
	uint8_t swizzle_axis;
};
struct part_cuts {
	int64_t extent;
	uint64_t joint; /* bits: axes with a place that are in no cut, below a merge or a cut swizzle */
	unsigned n;
	struct part_cut at[IR_MAX_AXES]; /* outermost first; the last has a place */
};
/* Reads the cuts of a visible axis. False: the offending extent has no value. */
bool part_cuts_read(const struct module *m, type_id t, unsigned axis, struct part_cuts *out,
                    expr_id *offending);
/* Finds a rank's index along each axis of a type's mesh (IR_MAX_MESH_AXES of them); false: it is not in the
 * mesh. */
bool part_indices(const struct module *m, type_id t, int64_t rank, uint32_t *index);
/* Returns the block of a cut that is here, or PART_ALL. */
int64_t part_block(const struct part_cut *c, const uint32_t *index, const struct bound_at *bound);
/* Starts with a whole axis, from which cuts take, the outermost first. */
void part_start(struct part_axis *x, int64_t extent);
/* Keeps one block of a cut, or all. False: this would need more levels; later cuts can keep nothing less. */
bool part_narrow(struct part_axis *x, int64_t size, int64_t block);

#endif
