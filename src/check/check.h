/* check: proves that a program has one outcome, whatever the speed of its streams and ranks. Nothing is run.
 *
 * Each rank's statements are walked in the order in which the runtime would issue them, each iteration of a
 * loop by itself. Errors are reported to d: accesses that nothing orders (races), uses of buffers before
 * allocation or after deallocation, waits and Communications that do not match. checker.h defines the order
 * of two accesses. */
#ifndef HIRC_CHECK_CHECK_H
#define HIRC_CHECK_CHECK_H
#include "ir/ir.h"

enum {
	CHECK_MAX_WORK = 1 << 26, /* statements walked, all ranks together */
	CHECK_MORE_WORK =
	    1 << 22,           /* statements walked after the first error, which may be that of many ranks */
	CHECK_COMPARISONS = 8, /* comparisons of accesses that take as long as one statement */
	CHECK_QUEUE = 1024,    /* default number of statements that a stream can hold */
};

struct witness;

/* Number of elements that a rank moves when it issues a message or collective. */
struct check_moved {
	int64_t elements; /* of a message; of a collective of equal parts; or of each block, where given or
	                     taken is NULL */
	bool has_blocks;  /* members give each other blocks, whose sizes do not depend on data */
	/* Sizes of blocks by member of the team: given to this member, and taken from it. Equal lists have
	 * one address. NULL: each block has `elements`. An allgather has only `taken`, a reduce_scatter only
	 * `given`. */
	const int64_t *given, *taken;
};

struct check_options {
	int64_t ranks;   /* ranks 0 … ranks - 1 are walked */
	int64_t streams; /* stream indices are taken modulo this; 0: unbounded */
	int64_t queue;   /* statements that a stream can hold; its host waits before it issues more. 0: a
	                    host waits at each wait */
	uint64_t work;   /* at most CHECK_MAX_WORK */
	bool each;       /* walk every rank; false: walk one rank for several that behave alike, where
	                    possible */
	struct witness *witness; /* zeroed; gets the witness of the first error; NULL: none */
	/* Called now and then while ranks are walked, with done from 0 to 1. It may begin again at 0 when all
	 * ranks are walked to report a finding. May be NULL. */
	void (*progress)(void *to, double done);
	void *to;
	/* Sets *out to the data that a rank moves when it issues a message or collective for the nth time,
	 * from 0 on, as its plan says (src/cli/gate.c). Returns false if that is not known. The lists are
	 * valid until the check ends. NULL: numbers of elements come from the types. */
	bool (*moved)(void *plans, int64_t rank, op_id op, uint32_t nth, struct check_moved *out);
	void *plans;
	bool certain; /* no race of views is reported whose types number blocks in different ways */
	bool strict;  /* the caller provides inputs and memory, and takes them back, by work on the initial
	                stream */
};

enum check_status {
	CHECK_CLEAN,   /* no errors; there may be warnings */
	CHECK_WRONG,   /* errors were reported */
	CHECK_UNKNOWN, /* a scalar or an extent has no value; `what` and `at` say which */
	CHECK_TOO_LONG /* more work than allowed */
};

struct check_result {
	int64_t ranks, accesses, communications; /* of all ranks */
	int64_t taken_as_written;                /* reads where only a larger part is known to be written */
	/* Set by gate_check (src/cli/gate.c): */
	const char
	    *unproved;      /* why it is not proved that statements get the elements that they need, and that
	                         sums are complete; NULL: it is proved */
	bool refused;       /* set by gate_prove: the plan has the errors */
	bool too_long;      /* unproved, since the proof takes more work than allowed */
	op_id trusted;      /* the first statement whose result is taken as right; 0: none */
	uint32_t trusted_n; /* number of such statements */
	char what[256];     /* CHECK_UNKNOWN: a sentence for a diagnostic */
	uint32_t at;        /* CHECK_UNKNOWN: source offset */
};

enum check_status check_program(struct module *m, struct diag *d, const struct check_options *o,
                                struct check_result *out);

#endif
