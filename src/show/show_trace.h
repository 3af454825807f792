/* show_trace: makes a timeline from the file of `hirc run --trace`.
 *
 * Ranks with spans of the same statements, each equally often, form a class; the rank that ends last is drawn
 * for it. A trace has no memory. */
#ifndef HIRC_SHOW_SHOW_TRACE_H
#define HIRC_SHOW_SHOW_TRACE_H
#include "sim/timeline.h"

/* path: a trace of program m, made with the same options. Returns false after reporting; otherwise end it
 * with timeline_close. */
bool trace_timeline(struct module *m, const char *path, struct diag *d, struct timeline *t);

#endif
