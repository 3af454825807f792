/* checked: what `hirc check` finds in a text without errors. */
#ifndef HIRC_LSP_CHECKED_H
#define HIRC_LSP_CHECKED_H
#include "lsp/snapshot.h"

/* Adds to the snapshot's messages what check_program reports of the program as it is written, at its own
 * number of ranks, and outputs that nothing writes. Nothing where the text has errors, a scalar or an extent
 * has no value, or the program takes more work. Once for a snapshot. */
void snapshot_check(struct snapshot *x);

#endif
