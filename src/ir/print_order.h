/* print_order: lists the things that nvFuser's surface prints, by first appearance. */
#ifndef HIRC_IR_PRINT_ORDER_H
#define HIRC_IR_PRINT_ORDER_H
#include "ir/ir.h"
#include "ir/printed_numbers.h"

enum { PRINT_ORDER_INDEX = 1u << 31 }; /* set: an index_id; otherwise a param_id */

static inline int32_t *print_order_scalar_number(struct module *m, uint32_t s)
{
	return s & PRINT_ORDER_INDEX ? &m->index.at[s & ~PRINT_ORDER_INDEX].number : &m->param.at[s].number;
}

struct print_order {
	VEC(value_id) value;
	VEC(uint32_t) scalar; /* params and loop indices: */
	uint32_t printed_n;   /* first the printed_n that are printed, then unused params */
	VEC(handle_id) handle;
	VEC(op_id) numbered; /* Communications, transfers, end_coalescing */
	VEC(op_id) loop;
	VEC(op_id) unit;    /* units, whose texts follow the body */
	uint64_t *selected; /* by value: bit set of the logical axes that a select names */
	op_id *maker;       /* by value: the permute or view that makes it; 0: none */
	/* by value: a sum along a device axis whose operand the next Communication prints; not printed itself */
	uint8_t *term;
	uint8_t *posts; /* by op, for transfers: number of posts of this transfer alone (2: two or more) */
	uint8_t *flags; /* by op: PRINT_POSTED, … */
	VEC(uint8_t)
	block; /* by type and other arguments of printed_needs_block: its answer; 0: not computed */
	enum printed_rule {
		PRINTED_BY_HIRC,
		PRINTED_BY_NUMBER,
		PRINTED_BY_ALL_NUMBERS, /* by number, and no tensor has a block */
	} rule;
	struct printed_choice *choice;  /* by value, as all numbers tell; NULL: by another rule */
	bool rule_stated;               /* the text must say that it follows the rule */
	struct printed_numbers numbers; /* of all loop axes; by number, the way in which they are read */
};
enum {
	PRINT_POSTED = 1,       /* some statement posts it */
	PRINT_SHARED_EARLY = 2, /* an earlier share_mem_handles names it */
	PRINT_SEEN = 4,
	PRINT_NAMES_LATER = 8, /* a post of a transfer that stands later in the text */
};

void print_order_make(struct module *m, struct print_order *out);
void print_order_free(struct print_order *o);

/* Returns true if a statement is not printed: it makes a term, or is a send or receive that is printed only
 * where another statement announces or posts it. Parsing then puts the statement back to its place. */
bool print_order_elides(const struct module *m, const struct print_order *o, op_id op);
/* Returns true if a loop's kind differs from the kind that its body implies. The body of a stream loop
 * begins with SetCurrentStream of its index. */
bool print_order_loop_kind_stated(const struct module *m, op_id loop);
/* Finds the axis of `FOR streamIdx in istreamIdx3{8}:`, which nvFuser prints. Returns false if the loop prints its
 * bounds. */
bool print_order_loop_axis(struct module *m, op_id loop, value_id *v, unsigned *axis);
/* Returns true if the body of a loop implies a stream-parallel loop. */
bool print_order_loop_is_stream(const struct module *m, op_id loop);

#endif
