/* show_trace: the file of `hirc run --trace`, as a timeline.
 *
 * A rank whose spans are of the same statements, each as often, is of the class of another; of a class the
 * rank is drawn that ends last. Memory is not in a trace. */
#ifndef HIRC_SHOW_SHOW_TRACE_H
#define HIRC_SHOW_SHOW_TRACE_H
#include "sim/timeline.h"

/* path: a trace of the program m, with the same options. False after reporting; else timeline_close it. */
bool trace_timeline(struct module *m, const char *path, struct diag *d, struct timeline *t);

#endif
