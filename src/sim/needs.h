/* needs: finds which tasks of a rank use results of its other tasks. The order of issue plays no part.
 *
 *     T = linear(X, W)        1
 *     Y <- allreduce(T)       2 needs 1
 *     y = select(Y, index=i)
 *     Z = relu(y)             3 needs 2
 *     Y <- full(0.0)          4 needs nothing: another buffer could have it
 *
 * It finds only uses that are certain: of a whole buffer, or through the same view with the same index. It
 * skips reads of other ranks' memory. */
#ifndef HIRC_SIM_NEEDS_H
#define HIRC_SIM_NEEDS_H
#include "sim/rank.h"

struct sim_makers; /* the tasks that wrote the contents of buffers */

struct sim_makers *sim_makers_new(struct module *m, struct arena *a);
void sim_makers_free(struct sim_makers *k);
/* Notes that a task runs a statement: it needs the tasks that wrote its operands, and it writes its
 * results. */
void sim_makers_task(struct sim_makers *k, op_id op, uint32_t task, struct sim_rank *r);
/* Notes that an allocation gives new memory, not that of its last execution. */
void sim_makers_allocate(struct sim_makers *k, op_id op);
/* Notes the same for the result of a view, with its index if it has one. */
void sim_makers_view(struct sim_makers *k, op_id op, int64_t index);

#endif
