/* check_rank: the statements of a rank, in the order in which it issues them. */
#ifndef HIRC_CHECK_CHECK_RANK_H
#define HIRC_CHECK_CHECK_RANK_H
#include "check/checker.h"

void check_rank(struct checker *c, int64_t rank);
/* Evaluates the k-th scalar operand. Returns false after check_unknown, or if a rank for which this one
 * stands finds another number. */
bool check_scalar(struct rank_check *w, op_id op, unsigned k, enum walk_follow how, int64_t *out);
bool check_value(struct rank_check *w, expr_id e, uint32_t at, int64_t *out);
/* Begins the next step on the current stream. All accesses that follow belong to it. */
uint32_t check_step(struct rank_check *w);
bool check_membership(const struct rank_check *w, team_id team, struct membership *out);

#endif
