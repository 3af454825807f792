/* print_hir: the shared parts of the files that print the concise surface. */
#ifndef HIRC_IR_PRINT_HIR_H
#define HIRC_IR_PRINT_HIR_H
#include "ir/ir.h"

struct hir_printer {
	struct module *m;
	struct buf *out;
	bool outputs_inline;         /* `output Y: … = …` rather than `output Y` at the end */
	bool ids;                    /* axis numbers are stated */
	struct buf text;             /* types printed so far, each with its NUL */
	VEC(uint32_t) type_text;     /* by type: place in text + 1 */
	VEC(uint8_t) needs_schedule; /* by type, for io and other values: 0 unknown, 1 no, 2 yes */
};

void hir_printer_free(struct hir_printer *p);

void hir_name(const struct module *m, name_id name, struct buf *out);
void hir_attr_value(const struct module *m, const struct attr *a, struct buf *out);
/* ` {key=value, …}`; nothing for none. */
void hir_attrs(const struct module *m, attrs_id attrs, struct buf *out);
/* print_type_stated, made once a type. */
void hir_stated_type(struct hir_printer *p, type_id t);
/* The lines `schedule` and `ids` of a value that has the stated type, where it needs them. */
void hir_schedule(struct hir_printer *p, value_id v, type_id stated, unsigned indent);
/* ` local`, …: where a statement's result (op 0: an input) is, if not where it usually is. */
void hir_memory(const struct module *m, op_id op, type_id t, struct buf *out);
void hir_region(struct hir_printer *p, region_id r, unsigned indent);

#endif
