/* needs: which tasks of a rank use the results of its other tasks, whatever the order in which they were
 * issued.
 *
 *     T = linear(X, W)        1
 *     Y <- allreduce(T)       2 needs 1
 *     y = select(Y, index=i)
 *     Z = relu(y)             3 needs 2
 *     Y <- full(0.0)          4 needs nothing: another buffer could have it
 *
 * Only certain uses are found: of the whole of a buffer, or through the same view with the same index. Reads
 * of other ranks' memory are left out. */
#ifndef HIRC_SIM_NEEDS_H
#define HIRC_SIM_NEEDS_H
#include "sim/rank.h"

struct sim_makers; /* the tasks that made the contents of buffers */

struct sim_makers *sim_makers_new(struct module *m, struct arena *a);
void sim_makers_free(struct sim_makers *k);
/* The task carries out the statement: it needs the tasks that made its operands, and makes its results. */
void sim_makers_task(struct sim_makers *k, op_id op, uint32_t task, struct sim_rank *r);
/* The results of an allocation are others than those of the same statement before. */
void sim_makers_allocate(struct sim_makers *k, op_id op);
/* So is the result of a view, of an index, if it has one. */
void sim_makers_view(struct sim_makers *k, op_id op, int64_t index);

#endif
