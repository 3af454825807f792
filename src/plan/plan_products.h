/* plan_products: joins products with the functions, additions, scales and casts right after them. */
#ifndef HIRC_PLAN_PLAN_PRODUCTS_H
#define HIRC_PLAN_PLAN_PRODUCTS_H
#include "plan/plan.h"

/* Joins a product with the function, addition, scale or cast that follows, if the target supports it and no other statement reads the
 * value in between, which then gets no memory. plan->varies must be known. Tasks and instructions get new
 * numbers. */
void plan_products(struct plan *p, const struct plan_target *target);

#endif
