/* check_memory: tests if the buffers of all ranks fit in a limit. */
#ifndef HIRC_CLI_CHECK_MEMORY_H
#define HIRC_CLI_CHECK_MEMORY_H
#include "base/diag.h"
#include "ir/ir.h"

/* limit: bytes of a rank. False after reporting the first rank whose buffers, those that live at once in
 * places of their own, take more, or one that has no plan. */
bool check_memory(const struct module *m, struct diag *d, int64_t ranks, int64_t streams, int64_t limit);

#endif
