/* steps: how gathers and reductions inside a loop are done.
 *
 *     kind         the gather's result        the reduction's operand        a step
 *     broadcast    n@stream(size(x))          n@stream(size(x)) partial(x)   broadcast from, reduce to, rank
 * i permute      n@swizzle1d(x)             n@swizzle1d(x) partial(x)      a ring collective
 * n@block(x)@stream(s)       (as it is)                     an allgather of one chunk p2p          as
 * permute, each permute then becomes a send and a receive (lower-collectives) */
#ifndef HIRC_PASS_STEPS_H
#define HIRC_PASS_STEPS_H
#include "pass/pass.h"

enum step_kind { STEP_AS_LAYOUT, STEP_BROADCAST, STEP_PERMUTE, STEP_COLLECTIVE, STEP_P2P };

/* Changes the layouts of the results of such gathers, and of all values computed from them in the same
 * slices, to those of a kind. offset: broadcasts become permutes where the layout decides. False after
 * reporting. */
bool steps_retarget(struct module *m, struct pass_context *cx, enum step_kind kind, bool offset);

#endif
