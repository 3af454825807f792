/* plan_epilogues: functions of products as parts of their tasks. */
#ifndef HIRC_EXEC_PLAN_EPILOGUES_H
#define HIRC_EXEC_PLAN_EPILOGUES_H
#include "exec/plan.h"

/* Makes one task of a product and the function of it that follows, where nothing else sees the product, which
 * has no memory then. functions: mask of enum rt_pointwise. Which registers vary must be known; tasks and
 * instructions get other numbers. */
void plan_epilogues(struct plan *p, uint64_t functions);

#endif
