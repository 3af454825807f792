/* blocks: the blocks that members of a collective give each other. */
#ifndef HIRC_CHECK_BLOCKS_H
#define HIRC_CHECK_BLOCKS_H
#include "check/checker.h"

/* Adds a member to those that have arrived. Returns true if all have one size or one list. *arrived: in, the
 * last member before; out, this one. */
bool blocks_are_alike(struct rank_check *w, op_id op, const struct membership *me,
                      const struct check_moved *moved, uint32_t *arrived);
/* Compares the blocks of the member that arrived last with those of the others. Returns false after reporting
 * a difference. where: the name of the meeting. */
bool blocks_agree(struct rank_check *w, const struct membership *me, uint32_t arrived, const char *where);

#endif
