/* check_memory: tests if the buffers of all ranks fit in a limit. */
#ifndef HIRC_CLI_CHECK_MEMORY_H
#define HIRC_CLI_CHECK_MEMORY_H
#include "base/diag.h"
#include "ir/ir.h"

/* Returns false after reporting the first rank whose buffers take more than the limit, or that has no plan.
 * Buffers whose live ranges overlap count separately. limit: bytes per rank. */
bool check_memory(const struct module *m, struct diag *d, int64_t ranks, int64_t streams, int64_t limit);

#endif
