/* exec_calls: what a rank asks of its GPU to run a plan, as text: see cuda/record.h. No GPU is needed. */
#ifndef HIRC_EXEC_EXEC_CALLS_H
#define HIRC_EXEC_EXEC_CALLS_H
#include "exec/exec.h"

/* Of one run over NCCL, from the memory's allocation on;
 * how: it computes, no other member is looked at.
 * STATUS_ABSENT after a message where hirc was built without CUDA. */
enum status exec_calls_print(const struct plan *p, const struct plan_labels *labels,
                             const struct exec_options *how, struct buf *out);

#endif
