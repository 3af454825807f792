/* check_order: the order in memory of the elements that a view names. */
#ifndef HIRC_CHECK_CHECK_ORDER_H
#define HIRC_CHECK_CHECK_ORDER_H
#include "check/checker.h"

/* Finds the order in memory of the axes of a view that have several elements here. 0: it is not known. */
spread_id check_order_find(struct rank_check *w, value_id v);
/* Returns true if the orders, of tensors with equal extents, are known and differ. */
bool check_order_differs(const struct spreads *s, spread_id a, spread_id b);
/* Appends `elements by axes (1, 0) in memory`. */
void check_order_put(const struct spreads *s, spread_id order, struct buf *out);

#endif
