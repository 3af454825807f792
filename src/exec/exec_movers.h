/* exec_movers: chooses who moves the data of each collective of a plan, before the first run. */
#ifndef HIRC_EXEC_EXEC_MOVERS_H
#define HIRC_EXEC_EXEC_MOVERS_H
#include "base/table.h"
#include "exec/exec_records.h"

/* A choice and its reason. */
struct exec_mover {
	op_id statement;
	enum mover mover;
	char *why; /* owned */
};

/* Chooses the movers, by base/mover.h, and makes them ready. Collective, after exec_records_make. Does nothing unless the
 * user has asked for movers. */
enum status exec_movers_choose(struct exec *e, const struct exec_options *o);
/* Puts a line for each choice, as comments among recorded calls. */
void exec_movers_put_comments(const struct exec *e, struct buf *out);
void exec_movers_free(struct exec *e);

#endif
