/* report_deadlock: the message about a circle. */
#ifndef HIRC_CHECK_REPORT_DEADLOCK_H
#define HIRC_CHECK_REPORT_DEADLOCK_H
#include "check/checker.h"

/* Reports a circle. Each node comes after the next one, the last one after the first. */
void report_deadlock(struct checker *c, const struct circle *circle, enum progress_level level);

#endif
