/* printed_options: lists the ways in which the ids of one tensor can be read by numbers.
 *
 *     T0[istreamIdx2{3}, ideviceIdx.x4{2}, iS5{3}]      of a listing where 0, 1 and 3 stand nowhere
 *       axis 0 or 1, split into 2 and 3, and 3 into 4 and 5
 *       axes 2, 3 and so on: no, 3 would have to be two axes
 *
 * A split makes two numbers in a row, which are larger than the number of the axis. That one stands nowhere then. The
 * logical axes of a tensor have numbers in a row. */
#ifndef HIRC_IR_PRINTED_OPTIONS_H
#define HIRC_IR_PRINTED_OPTIONS_H
#include "ir/printed_cover.h"

enum { PRINTED_MAX_OPTIONS = 4096 }; /* of all tensors */

struct printed_option {
	uint32_t tensor;
	uint32_t used_at; /* index into used */
	uint8_t used_n;
	int32_t base; /* the number of its first logical axis; -1: it has none */
	struct printed_choice choice;
};

struct printed_options {
	struct module *m;
	VEC(int32_t) missing; /* numbers that stand nowhere, sorted */
	VEC(struct printed_option) option;
	VEC(uint32_t) used; /* missing numbers, as indices into missing */
	bool inner;         /* splits that state the inner half are tried, too */
	bool in_order;      /* plain axes stand in order: only parallel ones were moved */
};

/* Returns true if a tensor's numbers are as said: no reshape or permute made its axes, and it is not pending. */
bool printed_options_apply(const struct printed_tensor *t);
/* Appends the options of a tensor. Returns false if it has none, or too many. */
bool printed_options_list(struct printed_options *c, const struct printed_tensor *t, uint32_t tensor);

#endif
