/* plan_elements: copies values whose layout is not a box, element by element; private to the planner. */
#ifndef HIRC_PLAN_PLAN_ELEMENTS_H
#define HIRC_PLAN_PLAN_ELEMENTS_H
#include "plan/planner.h"

enum { MAX_ELEMENTS = 1 << 26 }; /* most elements of a statement, over all parts that a rank lists */

/* Elements of the logical tensor, ascending, and their places in memory. */
struct elements {
	int64_t n, *linear, *offset;
	uint64_t hash;                 /* hash of the first two lists */
	bool per_axis;                 /* the elements are a product of lists, one an axis */
	int64_t count[IR_MAX_LOGICAL]; /* by axis: length of its list */
};

/* Lists the elements that a rank has of a value that no loop cuts. Subtracts them from *room; reports
 * and returns false if there are more. */
bool elements_of(struct planner *b, const struct view *v, int64_t rank, int64_t *room, struct elements *e);
/* Returns true if no loop cuts this rank's part of a value, and the value is not a view. */
bool elements_whole(const struct planner *b, const struct view *v);

/* Equal runs at equal distances, nested. */
struct element_piece {
	int64_t from, to;
	unsigned nd;
	int64_t n[RT_MAX_DIMS], from_step[RT_MAX_DIMS], to_step[RT_MAX_DIMS]; /* innermost first */
};

/* Finds the common elements of two lists, as pairs of places with nd = 0. p: room for the shorter list. */
int64_t elements_common(const struct elements *have, const struct elements *need, struct element_piece *p);
/* Copies pairs of elements from the buffer of one view to that of another. after: copy after the wait
 * for this statement; 0: now. */
bool elements_copy(struct planner *b, struct element_piece *p, int64_t n, const struct view *from,
                   const struct view *to, op_id after);
/* Copies all elements of `to`. `from` must hold all of them on this rank. */
bool elements_set(struct planner *b, const struct view *from, const struct view *to);

#endif
