/* lsp_checked: the findings of `hirc check` in a text without errors. */
#ifndef HIRC_LSP_LSP_CHECKED_H
#define HIRC_LSP_LSP_CHECKED_H
#include "lsp/snapshot.h"

/* Adds to the snapshot's messages the reports of check_program on the program as it is written, at its own
 * number of ranks, outputs that nothing writes, and faults of shapes with the params' values. Leaves
 * check_program out if the shapes do not fit, a scalar or an extent has no value, or the program takes more
 * work. Adds nothing if the text has errors. Once for a snapshot. */
void snapshot_check(struct snapshot *x);

#endif
