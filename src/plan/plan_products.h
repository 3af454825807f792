/* plan_products: joins products with the copies right before and the functions right after them. */
#ifndef HIRC_PLAN_PLAN_PRODUCTS_H
#define HIRC_PLAN_PLAN_PRODUCTS_H
#include "plan/plan.h"

/* Joins a product with copies that only transpose its matrices and with the function that follows, if
 * the target supports it and no other statement reads the values in between. Those values then get no
 * memory. plan->varies must be known. Tasks and instructions get new numbers. */
void plan_products(struct plan *p, const struct plan_target *target);

#endif
