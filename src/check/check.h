/* check: proves that the effect of a host-level program follows from its text on every rank, whatever the
 * speed of streams and ranks. Nothing is run.
 *
 * The program is walked once for each rank, loops step by step, as the runtime would issue it. Errors are
 * reported to d: accesses that nothing orders (races), buffers used outside their life, waits
 * and Communications that do not match. checker.h defines the order of two accesses. */
#ifndef HIRC_CHECK_CHECK_H
#define HIRC_CHECK_CHECK_H
#include "ir/ir.h"

enum {
	CHECK_MAX_WORK = 1 << 24, /* statements that are stepped, all ranks together */
	CHECK_COMPARISONS = 8,    /* of accesses, which take as long as a statement */
	CHECK_QUEUE = 1024,       /* statements that streams hold, by default */
};

struct witness;

/* Elements that a rank moves when it issues a message or collective. */
struct check_moved {
	int64_t elements; /* of a message, of a collective of equal parts, or of each block without a list */
	bool has_blocks;  /* members give each other blocks, of sizes that data does not decide */
	/* By member of the team: elements of the block that it is given, and of the block that is taken from
	 * it; equal lists are one. NULL: all of these blocks are of `elements`. Of allgather only `taken` is
	 * a list, of reduce_scatter only `given`. */
	const int64_t *given, *taken;
};

struct check_options {
	int64_t ranks;   /* ranks 0 … ranks - 1 are walked */
	int64_t streams; /* stream indices are taken modulo this; 0: unbounded */
	int64_t queue;   /* statements that a stream holds; with more its host waits. 0: a host waits at each
	                    wait */
	uint64_t work;   /* at most CHECK_MAX_WORK */
	bool each;       /* every rank is walked; otherwise those that stand for others, which do alike */
	struct witness *witness; /* zeroed: becomes one of the first error; NULL: none is wanted */
	/* Called now and then while ranks are walked, done 0 … 1; NULL: not. Several times up to 1, if what
	 * is found is looked at once more. */
	void (*progress)(void *to, double done);
	void *to;
	/* Sets *out to the data that a rank moves when it issues a message or collective for the nth time,
	 * from 0 on, as its plan says (src/cli/gate.c); false: that is not known. The lists live as long as
	 * the check. NULL: the types say the elements. */
	bool (*moved)(void *plans, int64_t rank, op_id op, uint32_t nth, struct check_moved *out);
	void *plans;
	bool strict; /* what provides inputs and memory, and takes inputs and outputs back, is work on
	                the initial stream */
};

enum check_status {
	CHECK_CLEAN,   /* nothing but warnings */
	CHECK_WRONG,   /* errors were reported */
	CHECK_UNKNOWN, /* a scalar or an extent has no value; *what and *at say which */
	CHECK_TOO_LONG /* more work than allowed */
};

struct check_result {
	int64_t ranks, accesses, communications; /* of all ranks */
	int64_t taken_as_written; /* reads of memory of which only a larger part is known to be written */
	char what[256];           /* CHECK_UNKNOWN: a sentence for a diagnostic */
	uint32_t at;              /* source offset of it */
};

enum check_status check_program(struct module *m, struct diag *d, const struct check_options *o,
                                struct check_result *out);

#endif
