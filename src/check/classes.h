/* classes: ranks that stand for others. Each function returns true if every rank stands for itself, and
 * false once it has found a broken turn. */
#ifndef HIRC_CHECK_CLASSES_H
#define HIRC_CHECK_CLASSES_H
#include "check/checker.h"

bool classes_same(struct rank_check *w, expr_id e);               /* all ranks of an orbit find one value */
bool classes_peer(struct rank_check *w, expr_id e, int64_t peer); /* the expression gives a device, which
                                                                     turns as the ranks do */
/* the expression gives an index into a team, which turns as its members do */
bool classes_member(struct rank_check *w, const struct membership *me, expr_id e);
/* Returns true if the ranks that stand for the members of a slice are members of it. Call it before
 * classes_member. */
bool classes_meet(struct rank_check *w, team_id team, const struct membership *me);
/* Returns true if an interval that moves so on each turn stays where the turn moves members of a team to each
 * other. */
bool classes_stay(struct rank_check *w, const struct membership *team, const int64_t *by);
/* If one member of a slice is the root, counts the members for which the walk's rank stands; otherwise
 * returns 0. */
uint32_t classes_roots(const struct rank_check *w, const struct membership *me, int64_t root);
/* Makes each rank stand for itself, because a root has other blocks than the ranks for which it would
 * stand. */
bool classes_alone(struct rank_check *w);
/* Returns true if a device is walked. */
bool classes_stands(const struct checker *c, uint32_t device);
/* Finds how far the index of a part, one of `count`, moves on each turn. by: SYMMETRY_MOST zeros. */
bool classes_index(struct rank_check *w, expr_id e, int64_t count, int64_t *by);
/* Notes that a part of a buffer along an axis (domain 0: a logical axis) is touched, and that it moves by
 * `by`. */
bool classes_parts(struct rank_check *w, value_id v, domain_id domain, uint32_t axis, const int64_t *by);
struct classes_cut {      /* cuts of a part of a buffer, in blocks */
	value_id value;   /* the buffer */
	domain_id domain; /* the domain whose axes tell its slices apart */
	mesh_id mesh;
	const struct part_cut *cut;
	struct cut slice;
	int64_t of; /* number of elements that are cut in blocks */
	bool outermost;
};
/* Adds to by[turn] how far the part moves. by NULL: only tests its size. */
bool classes_cut(struct rank_check *w, const struct classes_cut *x, int64_t *by);

#endif
