/* witness: an order of statements that shows an error that a check found.
 *
 *     race        the held work is done after the work that it waits for: the order that nothing forbids
 *     mismatch    each rank does its statements as soon as it issues them
 *     deadlock    the same; where `queue` is set, hosts wait for room in streams that hold so many statements
 *
 * Statements are told by their number in the compiled program and the indices of the loops around them, so
 * that a run of the same program, compiled alike, finds them. */
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
	uint32_t statement; /* its number in the compiled program, from 1 on, in the order of the text */
	unsigned n;
	int64_t index[IR_MAX_NESTING]; /* of the loops around, the outermost first */
	char *text, *where;            /* owned: the statement and its place, for people; where may be "" */
};

struct witness {
	enum witness_kind kind;
	uint32_t error; /* number of the report that it is of; while a check runs */
	int64_t queue;  /* statements that a stream holds, where the error is that it is full; else 0 */
	VEC(struct witness_event) event;
};

void witness_free(struct witness *w);
/* The number of a statement, 0 if it is none of the program's, and the other way round. */
uint32_t witness_number(const struct module *m, op_id op);
op_id witness_statement(const struct module *m, uint32_t number);

struct checker;
/* For a check, after a report: true if it is the first error, of which a witness is wanted. */
bool witness_is_wanted(struct checker *c, enum witness_kind kind);
void witness_add(struct checker *c, enum witness_role role, op_id op, int64_t rank, uint32_t iteration);

#endif
