/* steps: chooses how gathers and reductions inside a loop are done.
 *
 *     kind        gather's result        reduction's operand            a step
 *     broadcast   n@stream(size(x))      n@stream(size(x)) partial(x)   broadcast from, or reduce to, rank i
 *     permute     n@swizzle1d(x)         n@swizzle1d(x) partial(x)      a step of a ring
 *     collective  n@block(x)@stream(s)   (not changed)                  an allgather of one chunk
 *     p2p         as permute; lower-collectives turns each permute into a send and a receive */
#ifndef HIRC_PASS_STEPS_H
#define HIRC_PASS_STEPS_H
#include "pass/pass.h"

enum step_kind { STEP_AS_LAYOUT, STEP_BROADCAST, STEP_PERMUTE, STEP_COLLECTIVE, STEP_P2P };

/* Changes the layouts of the results of such gathers, and of all values computed from them in the same
 * slices, to those of a kind. offset: turns broadcasts into permutes where the layout decides. Returns
 * false after reporting. */
bool steps_retarget(struct module *m, struct pass_context *cx, enum step_kind kind, bool offset);

#endif
