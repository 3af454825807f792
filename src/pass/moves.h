/* moves: handles statements of the fusion level that move data between ranks: a `set` or a pure
 * collective with one operand and one result that becomes one Communication. */
#ifndef HIRC_PASS_MOVES_H
#define HIRC_PASS_MOVES_H
#include "ir/domain.h"
#include "pass/pass.h"
#include "pass/reshard.h"

/* Returns the kind of a statement that moves data; RESHARD_NONE: it moves none, or its devices are not
 * slices of a mesh. r: NULL, or receives the details of the move. */
enum reshard_kind move_kind(struct module *m, op_id op, struct reshard *r);
/* Returns "allgather" and so on, for kinds that are one collective on one mesh outside of loops;
 * otherwise NULL. */
const char *move_name(enum reshard_kind kind);
/* Returns true for a pure collective whose team lists devices that are not slices of the operand's mesh. */
bool move_is_foreign(struct module *m, op_id op);
/* Turns the statement into a `set` from one value to another, which it defines. */
void move_set(struct module *m, op_id op, value_id to, value_id from);

/* Finds the layout of a value if it is made of placements and none of them is a loop or block. */
bool move_sugar(struct module *m, value_id v, struct sugar *out);
/* Returns true if the statement is pure local work: one result, no writes, no communication, no view. */
bool move_is_work(const struct module *m, op_id op);
/* Counts the statements that read a value. The caller reads an output as well. */
unsigned move_reads(const struct module *m, value_id v);
/* Returns true if a statement between two others of one block writes the buffer of a value, or the
 * buffer that the value is a view of. */
bool move_is_written_between(struct module *m, value_id v, op_id from, op_id to);

#endif
