/* plan_products: joins products with the copies right before and the functions right after them. */
#ifndef HIRC_PLAN_PLAN_PRODUCTS_H
#define HIRC_PLAN_PLAN_PRODUCTS_H
#include "plan/plan.h"

/* Makes one task of a product, of copies that only transpose its matrices, and of the function that follows,
 * as far as the target allows it and no other statement sees the values in between, which get no memory then.
 * Needs to know which registers vary; tasks and instructions get other numbers. */
void plan_products(struct plan *p, const struct plan_target *target);

#endif
