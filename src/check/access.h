/* access: memory, and the order of accesses to it. */
#ifndef HIRC_CHECK_ACCESS_H
#define HIRC_CHECK_ACCESS_H
#include "check/checker.h"

/* Checks and records the accesses of one statement, in step `step` of a thread with clock `clock`. */
void access_all(struct rank_check *w, op_id op, struct access *list, unsigned n, const struct clock *clock,
                uint32_t thread, uint32_t step);
void access_free(struct rank_check *w, op_id op, value_id v);
/* Ends the accesses of a rank: checks the caller's accesses after the program, and reports buffers that are
 * never deallocated. */
void access_end(struct rank_check *w);

#endif
