/* verify: tests if a program is well formed, and finds the stages it has reached. */
#ifndef HIRC_IR_VERIFY_H
#define HIRC_IR_VERIFY_H
#include "ir/ir.h"

/* Properties that passes require and establish; recomputed, never stored. */
enum ir_property {
	IR_SHARDED = 1,    /* no layout is open */
	IR_DECOMPOSED = 2, /* only set changes layouts, and only set and collectives communicate */
	IR_LOOPED = 4,     /* every unbound stream axis is computed in a loop */
	IR_LOWERED = 8,    /* no set changes the layout over devices */
	IR_SCHEDULED = 16,
	IR_STREAMED = 32, /* stream loops set streams */
	IR_BOUND = 64,    /* every result is bound */
};
unsigned ir_properties(struct module *m);

/* Checks links, definitions before uses, roles and number of operands, types against rules, domains
 * (each loop axis derives from logical axes once), roots of views, Waits for existing Communications,
 * and teams. Reports every violation. Returns true if there was none. */
bool ir_verify(struct module *m, struct diag *d);
/* Checks the types of a statement's results against the rule of its operation; ir_verify has checked
 * only the constant parts. Reports the first violation. Returns true if there was none. */
bool ir_verify_types(struct module *m, struct diag *d, op_id op);

#endif
