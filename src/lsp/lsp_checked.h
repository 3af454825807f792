/* lsp_checked: runs `hirc check` on a text without errors. */
#ifndef HIRC_LSP_LSP_CHECKED_H
#define HIRC_LSP_LSP_CHECKED_H
#include "lsp/snapshot.h"

/* Adds to the snapshot's messages: reports of check_program on the program as written, with its own number of
 * ranks; outputs that nothing writes; errors in shapes with the params' values. Skips check_program if the
 * shapes do not fit, if a scalar or an extent has no value, or if the program takes too much work. Adds
 * nothing if the text has errors. Does its work once for each snapshot. */
void snapshot_check(struct snapshot *x);

#endif
