/* plan_copies: names the copies that reshapes, permutes, slices and splits need, and why. */
#ifndef HIRC_PLAN_PLAN_COPIES_H
#define HIRC_PLAN_PLAN_COPIES_H
#include "plan/plan.h"

/* Gives a remark for each copy of a view in the plan, in order; at: an offset of the source. ir_number must have been
 * called. */
void plan_copies_remark(const struct plan *p, struct module *m,
                        void (*remark)(void *to, uint32_t at, const char *text), void *to);

#endif
