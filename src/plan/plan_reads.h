/* plan_reads: tells which tasks read elements that lie apart as fast as their copy. */
#ifndef HIRC_PLAN_PLAN_READS_H
#define HIRC_PLAN_PLAN_READS_H
#include "plan/plan_fusion.h"

/* Returns true if the task reads and writes rows that lie apart as fast, however short they are. */
bool plan_reads_is_attention(const struct plan_task *t);
/* Returns true if rows are dense and begin at multiples of 16 bytes. */
bool plan_reads_has_rows(const struct plan *p, const struct plan_view *v);
/* Returns struct plan_fusion's `repeats`, for the caller to free. */
uint8_t *plan_reads_repeats(const struct plan *p);
/* Returns true if the task reads the elements of `after` as fast as those of `before`, one of its operands. */
bool plan_reads_apart(const struct plan_fusion *f, const struct plan_task *t, const struct plan_view *before,
                      const struct plan_view *after);

#endif
