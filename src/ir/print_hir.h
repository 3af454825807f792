/* print_hir: the state and functions that the printers of the concise surface share. */
#ifndef HIRC_IR_PRINT_HIR_H
#define HIRC_IR_PRINT_HIR_H
#include "ir/ir.h"

struct hir_printer {
	struct module *m;
	struct buf *out;
	bool outputs_inline;     /* print `output Y: … = …`, not `output Y` at the end */
	bool ids;                /* print axis numbers */
	struct buf text;         /* the texts of the types printed so far, each with its NUL */
	VEC(uint32_t) type_text; /* by type: offset in text + 1 */
	VEC(uint8_t)
	needs_schedule; /* by type, for inputs/outputs and other values: 0 unknown, 1 no, 2 yes */
};

void hir_printer_free(struct hir_printer *p);

void hir_name(const struct module *m, name_id name, struct buf *out);
void hir_attr_value(const struct module *m, const struct attr *a, struct buf *out);
/* Prints ` {key=value, …}`, or nothing without attributes. */
void hir_attrs(const struct module *m, attrs_id attrs, struct buf *out);
/* Prints a type as print_type_stated does, and keeps the text. */
void hir_stated_type(struct hir_printer *p, type_id t);
/* Prints the line `schedule` of a value of the stated type, if it needs one. */
void hir_schedule(struct hir_printer *p, value_id v, type_id stated, unsigned indent);
/* Prints the line `ids` of a value, if the program's axes have numbers to keep. */
void hir_ids(struct hir_printer *p, value_id v, unsigned indent);
/* Prints ` local` or another memory, unless a statement's result (op 0: an input) is in its default
 * memory. */
void hir_memory(const struct module *m, op_id op, type_id t, struct buf *out);
void hir_region(struct hir_printer *p, region_id r, unsigned indent);

#endif
