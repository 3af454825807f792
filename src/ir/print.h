/* print: prints a program in either surface.
 *
 * A fact is printed iff parsing the text without it would give another fact. Printers and the semantic
 * step call the same functions for defaults. So print(parse(print(m))) = print(m), and both surfaces
 * carry the same IR. */
#ifndef HIRC_IR_PRINT_H
#define HIRC_IR_PRINT_H
#include "ir/ir.h"

/* Prints a program. If `out` has a file, the text is written to it in parts (buf_drain). */
void ir_print_hir(struct module *m, struct buf *out);
void ir_print_nvfuser(struct module *m, struct buf *out);

/* Prints one statement on one line, without its regions, in the concise surface, for messages. */
void ir_print_statement(struct module *m, op_id op, struct buf *out);
/* Prints a statement of a module in which ir_number has numbered everything. Use it to print many
 * statements. */
void ir_print_statement_numbered(struct module *m, op_id op, struct buf *out);
/* Prints a type in the concise surface: `bf16[t@x, 4*h] partial(y)`. For transforms without sugar only
 * the extents are printed. */
void ir_print_type(struct module *m, type_id t, struct buf *out);
/* Prints the name of a value in the concise surface: its own, or TN. */
void ir_print_value_name(struct module *m, value_id v, struct buf *out);

#endif
