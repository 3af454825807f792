/* rewrite: edits that several passes make. */
#ifndef HIRC_PASS_REWRITE_H
#define HIRC_PASS_REWRITE_H
#include "ir/edit.h"
#include "ir/ir.h"

/* Makes a new value of a type by `set(v)` right before a statement. */
value_id rewrite_set_before(struct module *m, op_id where, value_id v, type_id type);
/* Finds an earlier `set(v)` of the same block whose result has this type, if nothing in between writes
 * v; 0: none. */
value_id rewrite_find_set(struct module *m, op_id where, value_id v, type_id type);
/* Makes a statement define a new value of a type. A `set` of the new value right after it defines or
 * writes its former result. Returns the set. */
op_id rewrite_set_after(struct module *m, op_id op, type_id type);
/* Like rewrite_set_after, for result k of several; none of them may be a buffer. */
op_id rewrite_set_after_result(struct module *m, op_id op, unsigned k, type_id type);
/* Replaces a statement's reads of a value, in the order of its operands. */
void rewrite_reads(struct module *m, op_id op, value_id from, value_id to);
/* Replaces the k-th value that a statement reads, and no other operand. */
void rewrite_read(struct module *m, op_id op, unsigned k, value_id to);
/* Adds an ALLOCATE right before `where` that defines v; the statement that defined v writes it instead. */
op_id rewrite_allocate(struct module *m, op_id where, value_id v);
/* Makes a statement write another value in place of its result v. */
void rewrite_write(struct module *m, op_id op, value_id v, value_id instead);
/* Returns true if a buffer is written after its definition, also through views. */
bool rewrite_is_written(struct module *m, value_id v);

/* Hidden reduce axes follow from operands (infer_reduce_axes). A pass that changes types calls begin
 * before and end after. Results whose reduce axes were the default then get the new default. */
struct rewrite_reduce {
	uint8_t *stated; /* by value: its reduce axes are not the default */
	uint32_t n;
};
void rewrite_reduce_begin(struct module *m, struct rewrite_reduce *r);
void rewrite_reduce_end(struct module *m, struct rewrite_reduce *r);

#endif
