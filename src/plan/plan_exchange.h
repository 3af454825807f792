/* plan_exchange: communications that pack and unpack; for the planner.
 *
 * For each two members of a team, the first sends the elements that it has of the operand and the second
 * needs for the result. Operand and result are cut into boxes (one a pair, if each rank's part is one
 * interval an axis) or into pieces (several). A part that is not a run of memory is packed before it is sent,
 * and unpacked after the wait. */
#ifndef HIRC_PLAN_PLAN_EXCHANGE_H
#define HIRC_PLAN_PLAN_EXCHANGE_H
#include "plan/planner.h"

/* The exchange of a team: the parts that each member gives each other one. Members that hold the same part of
 * the operand take turns. */
struct exchange {
	struct planner *b;
	op_id op;
	const struct plan_team *team;
	uint32_t own;          /* index in the team */
	struct view *in, *out; /* absent ones included */
	int64_t giver, taker;  /* the only member that gives (scatter), takes (gather); -1: all */
	/* results: */
	struct plan_collective *c;
	plan_reg *counts, *offsets, *send_counts, *send_offsets;
};

/* A window on a buffer as large as the piece of another that is copied to or from it. */
struct exchange_copy {
	struct plan_view from, to;
};

/* Fills *c but for kind, team, dtype and root; packs. False after reporting. The copies that
 * unpack are kept for plan_unpack_after. */
bool plan_exchange(struct exchange *x);

/* ---- plan_exchange_elements.c: parts that are several intervals, which no loop cuts */
bool exchange_elements(struct exchange *x);

/* ---- for both */
/* Returns the member of a class that gives to the taker. class: the members that hold the same of the
 * operand; first: any of them. */
uint32_t exchange_turn(const uint32_t *class, uint32_t n, uint32_t first, uint32_t taker);
/* The start of a slot of a buffer, which offsets count from. */
struct plan_view exchange_base(struct exchange *x, uint32_t buffer, sx_id slot);
/* A buffer for the exchange, of elements of the result's dtype. */
uint32_t exchange_buffer(struct exchange *x, int64_t elements, sx_id *slot);

#endif
