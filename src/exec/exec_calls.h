/* exec_calls: what a rank asks of its GPU to run a plan, as text: see cuda/record.h. No GPU is needed. */
#ifndef HIRC_EXEC_EXEC_CALLS_H
#define HIRC_EXEC_EXEC_CALLS_H
#include "exec/exec.h"

/* Of one run, from the memory's allocation on; tf32: see struct exec_options. STATUS_ABSENT after a message
 * where hirc was built without CUDA. */
enum status exec_calls_print(const struct plan *p, const struct plan_labels *labels, bool tf32,
                             struct buf *out);

#endif
