/* print: a program as text, in either surface.
 *
 * A fact is printed iff parsing without it would supply another one: printers call the same default
 * functions as the semantic step. So print(parse(print(m))) = print(m), and both surfaces carry the
 * same IR. */
#ifndef HIRC_IR_PRINT_H
#define HIRC_IR_PRINT_H
#include "ir/ir.h"

/* The text goes through out to its file, if it has one (buf_drain). */
void ir_print_hir(struct module *m, struct buf *out);
void ir_print_nvfuser(struct module *m, struct buf *out);

/* One statement on one line, without its regions, for messages (concise surface). */
void ir_print_statement(struct module *m, op_id op, struct buf *out);
/* Prints a statement of a module that ir_number has numbered: for all statements of a program, one after the
 * other. */
void ir_print_statement_numbered(struct module *m, op_id op, struct buf *out);
/* A type as the concise surface writes it: `bf16[t@x, 4*h] partial(y)`; transforms that the sugar
 * cannot say show as extents only. */
void ir_print_type(struct module *m, type_id t, struct buf *out);
/* The name a value has in the concise surface: its own, or TN. */
void ir_print_value_name(struct module *m, value_id v, struct buf *out);

#endif
