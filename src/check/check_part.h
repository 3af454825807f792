/* check_part: the elements that a view names. */
#ifndef HIRC_CHECK_CHECK_PART_H
#define HIRC_CHECK_CHECK_PART_H
#include "check/checker.h"

/* Returns the part of a tensor that a view names, 0: not known, and sets *elements to its size, -1: not
 * known. sender: of the message that moves the part; -1: no message moves it. */
spread_id check_part_find(struct rank_check *w, value_id v, int64_t sender, int64_t *elements);
/* Counts the elements of the part that check_part_find finds; -1: not known. */
static inline int64_t check_part_elements(struct rank_check *w, value_id v)
{
	int64_t elements;
	check_part_find(w, v, -1, &elements);
	return elements;
}
/* Finds the part that all members of a team must name: the same one on each. 0: not known. */
spread_id check_part_on_team(struct rank_check *w, value_id v, const struct membership *team);
/* Finds the part on a device for which the walk's rank stands. 0: not known. */
spread_id check_part_at(struct rank_check *w, value_id v, uint32_t device);
/* Returns the first axis along which parts of two tensors of equal extents differ; -1: none. */
int check_part_differs(const struct spreads *s, spread_id a, spread_id b);

#endif
