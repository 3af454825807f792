/* lsp_checked: what `hirc check` finds in a text without errors. */
#ifndef HIRC_LSP_LSP_CHECKED_H
#define HIRC_LSP_LSP_CHECKED_H
#include "lsp/snapshot.h"

/* Adds to the snapshot's messages what check_program reports of the program as it is written, at its own
 * number of ranks, outputs that nothing writes, and what the params' values make of shapes. Of check_program
 * nothing where these do not fit, a scalar or an extent has no value, or the program takes more work. Nothing
 * at all where the text has errors. Once for a snapshot. */
void snapshot_check(struct snapshot *x);

#endif
