/* moves: statements of the fusion level that move data between ranks: a `set` or a pure collective that
 * is one Communication, with one operand and one result. */
#ifndef HIRC_PASS_MOVES_H
#define HIRC_PASS_MOVES_H
#include "ir/domain.h"
#include "pass/pass.h"
#include "pass/reshard.h"

/* Returns the kind of a statement that moves data; RESHARD_NONE: it moves none, or its devices are no slices
 * of a mesh. r: NULL, or filled with all that is known of the move. */
enum reshard_kind move_kind(struct module *m, op_id op, struct reshard *r);
/* "allgather", of the kinds that are one on one mesh outside of loops; else NULL. */
const char *move_name(enum reshard_kind kind);
/* A pure collective whose team is given as devices that are no slices of the operand's mesh. */
bool move_is_foreign(struct module *m, op_id op);
/* Makes it a `set` from one value to another, which it defines. */
void move_set(struct module *m, op_id op, value_id to, value_id from);

/* The layout of a value whose layout is one of placements, none of them loops or blocks. */
bool move_sugar(struct module *m, value_id v, struct sugar *out);
/* Returns true if the statement is pure local work: one result, no writes, no communication, no view. */
bool move_is_work(const struct module *m, op_id op);
/* Counts the statements that read a value; an output is read by the caller, too. */
unsigned move_reads(const struct module *m, value_id v);
/* Returns true if a buffer that a value is, or is a view of, is written by a statement between two of one
 * block. */
bool move_is_written_between(struct module *m, value_id v, op_id from, op_id to);

#endif
