/* plan_views: leaves out copies whose readers can read the source, or whose source can be written as the copy is. */
#ifndef HIRC_PLAN_PLAN_VIEWS_H
#define HIRC_PLAN_PLAN_VIEWS_H
#include "plan/plan.h"

/* plan->varies must be known. */
void plan_views(struct plan *p, const struct module *m, const struct plan_target *target);

#endif
