/* verify: tests if a program is well formed, and finds the stages it has reached. */
#ifndef HIRC_IR_VERIFY_H
#define HIRC_IR_VERIFY_H
#include "ir/ir.h"

/* Properties that passes require and establish; recomputed, never stored. */
enum ir_property {
	IR_SHARDED = 1,    /* no layout is open */
	IR_DECOMPOSED = 2, /* only set changes layouts, no op but set/collectives communicates */
	IR_LOOPED = 4,     /* no statement outside a loop has a result with an unbound stream axis that it
	                      computes piecewise */
	IR_LOWERED = 8,    /* no set changes the layout over devices */
	IR_SCHEDULED = 16,
	IR_STREAMED = 32, /* stream loops set streams */
	IR_BOUND = 64,    /* every result is bound */
};
unsigned ir_properties(struct module *m);

/* Checks links, def before use, operand roles and arity, types against rules, domains (each loop axis
 * derives from logical ones once), views' roots, Waits of existing Communications, teams. Reports
 * every violation; returns true if there was none. */
bool ir_verify(struct module *m, struct diag *d);
/* The types of a statement's results against the rule of its operation, which ir_verify has checked as far as
 * it is about constants. Reports the first that is another, and returns true if there was none. */
bool ir_verify_types(struct module *m, struct diag *d, op_id op);

#endif
