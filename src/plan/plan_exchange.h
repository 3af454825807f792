/* plan_exchange: plans communications that pack and unpack; private to the planner.
 *
 * For each pair of members, the first sends the elements of the operand that it has and that the second
 * needs for the result. If each rank's part is one interval an axis, a pair exchanges one box; otherwise
 * it exchanges several pieces. A part that is not one run of memory is packed before it is sent, and
 * unpacked after the wait. */
#ifndef HIRC_PLAN_PLAN_EXCHANGE_H
#define HIRC_PLAN_PLAN_EXCHANGE_H
#include "plan/planner.h"

/* The exchange of a team: the parts that each member gives to each other. Members that hold the same
 * part of the operand share the work of giving it. */
struct exchange {
	struct planner *b;
	op_id op;
	const struct plan_team *team;
	uint32_t own;          /* index in the team */
	struct view *in, *out; /* also for ranks outside of the mesh */
	int64_t giver, taker;  /* the only member that gives (scatter) or takes (gather); -1: all do */
	/* Results: */
	struct plan_collective *c;
	plan_reg *counts, *offsets, *send_counts, *send_offsets;
};

/* A window on a buffer, as large as the piece of another buffer that is copied to or from it. */
struct exchange_copy {
	struct plan_view from, to;
};

/* Sets *c except for kind, team, dtype and root, and emits the copies that pack. The copies that unpack
 * are kept for plan_unpack_after. Returns false after reporting. */
bool plan_exchange(struct exchange *x);

/* ---- plan_exchange_elements.c: parts that are several intervals, which no loop cuts */
bool exchange_elements(struct exchange *x);

/* ---- for both */
/* Returns the member of a class that gives to the taker. class, by member: the first member that holds
 * the same part; first: any member of the class. */
uint32_t exchange_turn(const uint32_t *class, uint32_t n, uint32_t first, uint32_t taker);
/* Returns a view of the start of a buffer's slot, from which offsets are counted. */
struct plan_view exchange_base(struct exchange *x, uint32_t buffer, sx_id slot);
/* Makes a buffer for the exchange, of the result's dtype. */
uint32_t exchange_buffer(struct exchange *x, int64_t elements, sx_id *slot);

#endif
