/* witness: an order of statements that makes an error found by a check happen.
 *
 *     race        one access is held back until the other is done: nothing forbids this order
 *     mismatch    each rank does its statements as soon as it issues them
 *     deadlock    the same; if `queue` is set, a stream holds that many statements and hosts wait for room
 *
 * A statement is named by its number in the compiled program and the indices of the loops around it, so that
 * a run finds it if the same program is compiled with the same options. */
#ifndef HIRC_CHECK_WITNESS_H
#define HIRC_CHECK_WITNESS_H
#include "ir/ir.h"

/* kind, its name, meaning */
#define WITNESS_KINDS(X)                                                                                     \
	X(NONE, "none", "no error was found")                                                                \
	X(RACE, "race", "an order of two accesses")                                                          \
	X(LIFETIME, "lifetime", "an order of an access and a deallocate")                                    \
	X(CALLER, "caller", "the caller uses a buffer before it is ready; hirc run waits")                   \
	X(UNWRITTEN, "unwritten", "an element is read, or of an output, that nothing has written")           \
	X(MISMATCH, "mismatch", "ranks do not match, or wait for a statement that was not issued")           \
	X(DEADLOCK, "deadlock", "where each rank stands")

/* role, its name, meaning */
#define WITNESS_ROLES(X)                                                                                     \
	X(HOLD, "hold",                                                                                      \
	  "the statement, or the start of a Communication, comes after the ones marked `until`")             \
	X(HOLD_RESULT, "hold-result", "the result of a Communication comes after the ones marked `until`")   \
	X(UNTIL, "until", "the statement, or the end of a Communication")                                    \
	X(STANDS, "stands", "the statement is part of the error")

enum witness_kind {
#define WITNESS_KIND_ENUM(kind, name, meaning) WITNESS_##kind,
	WITNESS_KINDS(WITNESS_KIND_ENUM)
#undef WITNESS_KIND_ENUM
	    WITNESS_KIND_COUNT
};
enum witness_role {
#define WITNESS_ROLE_ENUM(role, name, meaning) WITNESS_ROLE_##role,
	WITNESS_ROLES(WITNESS_ROLE_ENUM)
#undef WITNESS_ROLE_ENUM
	    WITNESS_ROLE_COUNT
};
const char *witness_kind_name(enum witness_kind k);
const char *witness_role_name(enum witness_role r);

struct witness_event {
	enum witness_role role;
	int64_t rank;
	uint32_t statement; /* its number in the compiled program, from 1, in the order of the text */
	unsigned n;
	int64_t index[IR_MAX_NESTING]; /* indices of the loops around, the outermost first */
	char *text, *where;            /* owned: the statement and its place, for a reader; where may be "" */
};

struct witness {
	enum witness_kind kind;
	uint32_t error; /* while a check runs: number of the report for which this is the witness */
	int64_t queue;  /* number of statements that a stream holds, where the error is that it is full;
	                   otherwise 0 */
	VEC(struct witness_event) event;
};

void witness_free(struct witness *w);
/* Returns the number of a statement, 0: it is not in the program; and the reverse. */
uint32_t witness_number(const struct module *m, op_id op);
op_id witness_statement(const struct module *m, uint32_t number);

struct checker;
/* Returns true, after a report, if it is the first error and the caller wants a witness. */
bool witness_is_wanted(struct checker *c, enum witness_kind kind);
void witness_add(struct checker *c, enum witness_role role, op_id op, int64_t rank, uint32_t iteration);

#endif
