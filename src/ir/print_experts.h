/* print_experts: finds the dispatches and combines that nvFuser's form tells all about.
 *
 *     T3, T7, T4, T5, T8, T9 = dispatch(T0, T1, T2, num_experts=4)
 *     T6 = combine(T3, T4, T5, T8, T9)
 *
 *     Dispatch 0 (num_experts=4, backend=NCCL, in=T0…, topk_idx=T1…, topk_weights=T2…, out=T3…)
 *     Combine 1 (backend=NCCL, in=T3…, topk_weights=T4…, src_idx=T5…, out=T6…)
 *
 * The reader (parse/sema_experts.c) makes the other results. They are marked in print_order.term. */
#ifndef HIRC_IR_PRINT_EXPERTS_H
#define HIRC_IR_PRINT_EXPERTS_H
#include "ir/print_order.h"

void print_experts_find(struct module *m, struct print_order *o);
/* Returns true if the statement is a dispatch or combine that is printed so. */
bool print_experts_is_short(const struct module *m, const struct print_order *o, op_id op);

#endif
