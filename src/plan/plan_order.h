/* plan_order: compares the orders of axes in memory of the buffers of a collective. */
#ifndef HIRC_PLAN_PLAN_ORDER_H
#define HIRC_PLAN_PLAN_ORDER_H
#include "plan/plan_comm.h"

/* Checks that both buffers have the same memory order, and that `gathered`, if longer than 1, is outermost. */
bool plan_order_same(struct comm *s, const struct view *large, const struct view *small, int gathered);
/* The same for the blocks that a rank gives and takes, which keep their places in memory. */
bool plan_order_same_moved(struct comm *s, enum op_kind kind, const struct view *in, const struct view *out);

#endif
