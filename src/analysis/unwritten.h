/* unwritten: finds program outputs that nothing writes. */
#ifndef HIRC_ANALYSIS_UNWRITTEN_H
#define HIRC_ANALYSIS_UNWRITTEN_H
#include "ir/ir.h"

/* Warns of every output whose storage no statement writes, neither as a whole nor through a view. Such
 * an output is poison when the program runs. */
void unwritten_outputs_warn(struct module *m, struct diag *d);

#endif
