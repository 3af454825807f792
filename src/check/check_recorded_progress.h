/* check_recorded_progress: follows the ranks of a recorded program to their ends. */
#ifndef HIRC_CHECK_CHECK_RECORDED_PROGRESS_H
#define HIRC_CHECK_CHECK_RECORDED_PROGRESS_H
#include "analysis/recorded_classes.h"
#include "base/diag.h"

/* Reports ranks that wait for each other for ever, and returns false then. The communications match. */
bool check_recorded_progress(const struct recorded *r, struct diag *d, struct arena *arena);
/* Appends `allreduce 'r'`. */
void check_recorded_put(const struct recorded *r, uint32_t comm, struct buf *out);

#endif
