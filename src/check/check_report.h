/* check_report: messages about what the check finds. */
#ifndef HIRC_CHECK_CHECK_REPORT_H
#define HIRC_CHECK_CHECK_REPORT_H
#include "check/checker.h"

/* Returns true if this is the first report of its kind about two statements; it counts as an error then. */
bool report_once(struct checker *c, const char *what, op_id a, op_id b);
/* The same for a warning. */
bool report_warns(struct checker *c, const char *what, op_id a, op_id b);
/* The same for an error in the statements of one rank. The ranks for which it stands have the error, too. */
bool report_own(struct checker *c, const char *what, op_id a, op_id b);
bool report_own_warning(struct checker *c, const char *what, op_id a, op_id b);
/* Reports a race. op 0: the program's caller. thread: of the later access; CHECK_NONE: the caller. */
void report_race(struct rank_check *w, const struct storage *storage, op_id op, enum access_kind kind,
                 uint32_t thread, const struct record *before);
/* Reports a race on one buffer between two ranks, one or both of which use a symmetric view. who: the devices
 * of `before` and of op. */
void report_race_of_ranks(struct rank_check *w, const struct storage *storage, op_id op,
                          const struct access *a, uint32_t thread, const struct record *before,
                          const uint32_t *who);
/* Reports a race of two accesses of one statement. */
void report_race_with_itself(struct rank_check *w, const struct storage *storage, op_id op,
                             const struct access *a, const struct access *b, const uint32_t *who);
/* Reports a use of a buffer that the op `freed` deallocated. */
void report_freed(struct rank_check *w, value_id v, op_id freed, uint32_t freed_iteration, op_id op,
                  enum access_kind kind);
/* Reports that a buffer is freed while other ranks see it. */
void report_shown(struct rank_check *w, const struct symmetric *s, op_id op);
/* Reports a read of elements that nothing has written. index: of one of them; NULL: not known. */
void report_unwritten(struct rank_check *w, op_id op, value_id v, const int64_t *index);
void report_incomplete(struct checker *c, const struct incomplete *x);
void report_leak(struct rank_check *w, value_id v, op_id made);
/* Reports a transfer of v whose memory is not the announced memory. */
void report_handle(struct rank_check *w, op_id transfer, value_id v, const struct announced *a);
/* Reports a wait or post for a statement that the rank has not reached or has already waited for. */
void report_not_started(struct rank_check *w, op_id by, op_id named);
void report_not_waited(struct rank_check *w, const struct transfer *t);

#endif
