/* plan_products: what stands right before and after products, as parts of their tasks. */
#ifndef HIRC_EXEC_PLAN_PRODUCTS_H
#define HIRC_EXEC_PLAN_PRODUCTS_H
#include "exec/plan.h"

/* Makes one task of a product, of copies that only transpose its matrices, and of the function that follows,
 * as far as the target takes them, where nothing else sees what stands in between, which has no memory then.
 * Which registers vary must be known; tasks and instructions get other numbers. */
void plan_products(struct plan *p, const struct plan_target *target);

#endif
