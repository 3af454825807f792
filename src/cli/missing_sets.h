/* missing_sets: gives a program the layouts and `set`s that its source leaves out, as a run does.
 *
 * A program with Communications of its own is evaluated, and compared, rank by rank. Then each tensor needs a layout,
 * and each change of layout a statement. */
#ifndef HIRC_CLI_MISSING_SETS_H
#define HIRC_CLI_MISSING_SETS_H
#include "ir/ir.h"

/* Leaves a program as it is if the passes refuse it: it is lowered already, and lacks nothing. */
void missing_sets_add(struct module *m);

#endif
