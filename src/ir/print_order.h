/* print_order: the things that the nvFuser surface prints, in order of first appearance. */
#ifndef HIRC_IR_PRINT_ORDER_H
#define HIRC_IR_PRINT_ORDER_H
#include "ir/ir.h"

enum { PRINT_ORDER_INDEX = 1u << 31 }; /* set: an index_id, else a param_id */

static inline int32_t *print_order_scalar_number(struct module *m, uint32_t s)
{
	return s & PRINT_ORDER_INDEX ? &m->index.at[s & ~PRINT_ORDER_INDEX].number : &m->param.at[s].number;
}

struct print_order {
	VEC(value_id) value;
	VEC(uint32_t) scalar; /* params and loop indices, */
	uint32_t printed_n;   /* the first so many of which are printed; then unused params */
	VEC(handle_id) handle;
	VEC(op_id) numbered; /* Communications, transfers, end_coalescing */
	VEC(op_id) loop;
	VEC(op_id) unit;    /* their texts follow the body */
	uint64_t *selected; /* by value: bit a is set when a select names logical axis a */
	uint8_t *posts;     /* by op: of a transfer, how many statements post it alone (2: more) */
	uint8_t *flags;     /* by op: PRINT_POSTED, … */
	VEC(uint8_t) block; /* of printed_needs_block, by type and what else it looks at; 0: not asked yet */
};
enum {
	PRINT_POSTED = 1,       /* some statement posts it */
	PRINT_SHARED_EARLY = 2, /* a share_mem_handles that names it stands before it */
	PRINT_SEEN = 4,
};

void print_order_make(struct module *m, struct print_order *out);
void print_order_free(struct print_order *o);

/* Returns true if a send or receive that is posted elsewhere is printed only there: the statements that
 * follow announce or post it so that parsing puts the declaration back. */
bool print_order_elides(const struct module *m, const struct print_order *o, op_id op);
/* Returns true if a loop's kind differs from the one that its body implies (a stream loop begins with
 * SetCurrentStream of its index). */
bool print_order_loop_kind_stated(const struct module *m, op_id loop);
/* Returns true if the body of a loop implies a stream-parallel one. */
bool print_order_loop_is_stream(const struct module *m, op_id loop);

#endif
