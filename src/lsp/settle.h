/* settle: the layouts that a program leaves out, as propagate-shardings chooses them. */
#ifndef HIRC_LSP_SETTLE_H
#define HIRC_LSP_SETTLE_H
#include "lsp/snapshot.h"

/* The program after the pass, where values have the numbers of x->module. NULL: it has errors. Made once a
 * snapshot, which owns it. */
const struct module *settle_layouts(struct snapshot *x, const struct sema_options *options);

#endif
