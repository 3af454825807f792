/* plan_flops: counts the floating-point operations of the contractions of a plan.
 *
 * A contraction of m x n results over k counts 2 m n k, whatever its dtype. A dry run follows loops and
 * branches as the executor does, and submits nothing. */
#ifndef HIRC_PLAN_PLAN_FLOPS_H
#define HIRC_PLAN_PLAN_FLOPS_H
#include "plan/plan.h"

/* Counts the floating-point operations of one run on this rank. */
double plan_flops(const struct plan *p);

#endif
