/* match: the statements that ranks issue on one communicator. Functions that return a number return the
 * progress_node at which all ranks that issue the statement meet. */
#ifndef HIRC_CHECK_MATCH_H
#define HIRC_CHECK_MATCH_H
#include "check/checker.h"

uint32_t match_fence(struct rank_check *w, op_id op, const struct membership *me, value_id value);
/* The parts of the tensors that members of a collective give and take; 0: not known, or not comparable. */
struct match_parts {
	spread_id given, taken;
	uint32_t giver; /* device that gives `given` */
};
uint32_t match_collective(struct rank_check *w, op_id op, const struct membership *me, int64_t root,
                          const struct check_moved *moved, const struct match_parts *parts);
/* Returns how many collectives a member has issued in the channel of one of them. */
uint32_t match_issued(struct rank_check *w, op_id op, const struct membership *me);
/* team: of a CollectivePermute; 0 for sends and receives. */
uint32_t match_message(struct rank_check *w, team_id team, bool send, const struct message *x);
/* Counts the announcement of a transfer with a peer. */
void match_handles(struct rank_check *w, op_id op, bool send, int64_t peer);
/* Checks that all members of each channel issued the same number of statements. Returns false after reporting
 * a missing statement or a difference. */
bool match_end(struct checker *c);

#endif
