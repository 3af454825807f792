/* elements: the counts of elements of the plans, compared with the types and from rank to rank.
 *
 *     rank 0   send(A, peer=1): 16      rank 1   recv(C, peer=0): 16      both 16, as A and C have there
 *
 * The n-th message from a rank to another has as many elements at both ends. The members of a meeting move as
 * many elements each, or each gives as many elements to another as that one takes. Only programs for which
 * `hirc check` finds nothing have to. */
#ifndef TESTS_EVENTS_ELEMENTS_H
#define TESTS_EVENTS_ELEMENTS_H
#include "events/events.h"

/* Appends the first count of a rank that is missing, or differs from its type, and returns true. *compared
 * counts those that were compared with a type. */
bool elements_differ_by_type(const struct module *m, const struct events *plan,
                             const struct plan_counts *moved, uint64_t *compared, struct buf *out);
/* Likewise of ends that do not match. lists: of each of n ranks, from 0 on. */
bool elements_differ_by_rank(const struct module *m, int64_t n, const struct events *plan,
                             const struct plan_counts *moved, uint64_t *compared, struct buf *out);

#endif
