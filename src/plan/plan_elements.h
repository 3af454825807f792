/* plan_elements: copies, element by element, of values whose layout is not a box; for the planner. */
#ifndef HIRC_PLAN_PLAN_ELEMENTS_H
#define HIRC_PLAN_PLAN_ELEMENTS_H
#include "plan/planner.h"

enum { MAX_ELEMENTS = 1 << 26 }; /* of a statement, all parts that a rank looks at together */

/* Elements of the logical tensor, ascending, and their places in memory. */
struct elements {
	int64_t n, *linear, *offset;
	uint64_t hash;                 /* of the first two */
	bool per_axis;                 /* they are a product of */
	int64_t count[IR_MAX_LOGICAL]; /* so many of each axis */
};

/* Lists the elements that a rank has of a value that no loop cuts. Takes from *room; reports and returns
 * false when that is too little. */
bool elements_of(struct planner *b, const struct view *v, int64_t rank, int64_t *room, struct elements *e);
/* Returns true if no loop cuts this rank's part of a value, and the value is no view of another. */
bool elements_whole(const struct planner *b, const struct view *v);

/* Equal runs at equal distances. */
struct element_piece {
	int64_t from, to;
	unsigned nd;
	int64_t n[RT_MAX_DIMS], from_step[RT_MAX_DIMS], to_step[RT_MAX_DIMS]; /* innermost first */
};

/* The elements of both: pairs of places, nd = 0. p: room for the shorter list. */
int64_t elements_common(const struct elements *have, const struct elements *need, struct element_piece *p);
/* Copies pairs of elements from a view's buffer to another's; after: after the wait for a statement (0: now).
 */
bool elements_copy(struct planner *b, struct element_piece *p, int64_t n, const struct view *from,
                   const struct view *to, op_id after);
/* Copies all elements of `to`; `from` holds all of them on this rank. */
bool elements_set(struct planner *b, const struct view *from, const struct view *to);

#endif
