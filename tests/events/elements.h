/* elements: compares the numbers of elements in the plans with the types, and between ranks.
 *
 *     rank 0   send(A, peer=1): 16      rank 1   recv(C, peer=0): 16      both 16, as in A and C
 *
 * The n-th message from one rank to another has equally many elements at both ends. All members of a meeting
 * move equally many elements, or each gives to each other as many as that one takes. This holds only for
 * programs in which `hirc check` finds nothing. */
#ifndef TESTS_EVENTS_ELEMENTS_H
#define TESTS_EVENTS_ELEMENTS_H
#include "events/events.h"

/* Appends the first number of a rank that is missing or differs from its type, and returns true. *compared:
 * numbers compared with a type. */
bool elements_differ_by_type(const struct module *m, const struct events *plan,
                             const struct plan_counts *moved, uint64_t *compared, struct buf *out);
/* The same for ends that do not match. lists: one for each of n ranks, from 0. */
bool elements_differ_by_rank(const struct module *m, int64_t n, const struct events *plan,
                             const struct plan_counts *moved, uint64_t *compared, struct buf *out);

#endif
