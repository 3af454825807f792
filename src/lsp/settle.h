/* settle: chooses the layouts that a program leaves out, with the pass propagate-shardings. */
#ifndef HIRC_LSP_SETTLE_H
#define HIRC_LSP_SETTLE_H
#include "lsp/snapshot.h"

/* Returns the program after the pass; values have the same numbers as in x->module. NULL: it has errors. Made
 * once for each snapshot, which owns it. */
const struct module *settle_layouts(struct snapshot *x, const struct sema_options *options);

#endif
