/* plan_fusion: joins tasks of a finished plan; shared by plan_views.c, plan_products.c and plan_norms.c.
 *
 * Tasks are joined if only scalars are computed between them, and a task takes the place of the last one. The
 * tasks that are left out, and their instructions, go when the fusion is closed. */
#ifndef HIRC_PLAN_PLAN_FUSION_H
#define HIRC_PLAN_PLAN_FUSION_H
#include "plan/plan.h"

struct plan_fusion {
	struct plan *p;
	const struct plan_target *wanted;
	/* by buffer: number of its views, outputs, and buffers that show it; poison is no use */
	uint32_t *uses;
	bool *target; /* by instruction: a jump may lead to it */
	bool *gone;   /* by instruction: it is removed */
	bool *unused; /* by task: it is removed */
	/* by task: bit set of the batch axes along which an operand of a product repeats its matrix, before copies are left
	 * out. NULL except in plan_views.c. */
	const uint8_t *repeats;
};

/* plan->varies must be known. */
void plan_fusion_open(struct plan_fusion *f, struct plan *p, const struct plan_target *target);
/* Removes instructions and tasks that are gone, and gives the others new numbers. */
void plan_fusion_close(struct plan_fusion *f);

/* Returns true if the memory is private to this rank and the plan places it. */
bool plan_fusion_is_plain(const struct plan_buffer *buffer);
/* Returns true if an extent is 1 and never changes. */
bool plan_fusion_is_one(const struct plan *p, plan_reg r);
/* Returns true if both windows have the same elements; axes of extent 1 are ignored. */
bool plan_fusion_same_window(const struct plan *p, const struct plan_view *a, const struct plan_view *b);
/* Returns the view with the axes of `like`; both have the same axes apart from those with one element. */
struct plan_view plan_fusion_with_axes(const struct plan *p, const struct plan_view *v,
                                       const struct plan_view *like);
/* Returns the next instruction that is no scalar, if it is a task; 0 if it is not, or if a jump may lead to an
 * instruction in between. */
uint32_t plan_fusion_next(const struct plan_fusion *f, uint32_t at);
bool plan_fusion_is_poison(const struct plan_instruction *i);
/* Removes the poison that ends a buffer, since readers of another buffer now read this one. */
void plan_fusion_keep_contents(const struct plan_fusion *f, uint32_t buffer);
/* Removes the memory of a buffer that nothing uses any more. */
void plan_fusion_leave_out(const struct plan_fusion *f, uint32_t number);

#endif
