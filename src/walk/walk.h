/* walk: the statements of a rank, in the order in which it issues them.
 *
 *     main = get_current_stream()       main names the current stream
 *     for i in 0..2 parallel(stream)    ITERATION  i = 0
 *       set_stream(i)                   i, modulo the number of streams, is the current stream
 *       synchronize(main)               JOIN       of main
 *       T = shard_by_stream(X, i)       VIEW
 *       Y <- relu(T)                    WORK
 *       Z <- allreduce(Y) as c          MEET       starts transfer 0
 *       wait(c)                         WAIT       for transfer 0
 *                                       ITERATION  i = 1 …
 *                                       LEAVE      the loop
 *     if rank == 0 { … }                the statements of the branch that the rank takes, then LEAVE
 *                                       END
 *
 * Loops, conditions, stream numbers, scalars, posts, groups and the oldest instance of a waited statement are
 * worked out here, once for all who need an account of what a rank does. A walk can be left and taken up
 * again between any two steps, so that ranks can be walked side by side.
 *
 * A rank may stand for others (analysis/symmetry.h). Then `follows` proves for each number that decides what
 * the rank issues that it is as it has to be on the others. */
#ifndef HIRC_WALK_WALK_H
#define HIRC_WALK_WALK_H
#include "base/diag.h"
#include "ir/expr.h"
#include "ir/ir.h"
#include "walk/walk_program.h"

#define WALK_NONE UINT32_MAX

enum { WALK_FIRST_STREAM = -1 /* number of the stream on which a rank begins */ };

enum step_kind {
	STEP_WORK,      /* a statement of the current stream */
	STEP_VIEW,      /* select, shard_by_stream */
	STEP_ALLOCATE,  /* a buffer */
	STEP_FREE,      /* the end of the buffers that a deallocate names, or of symmetric views */
	STEP_FENCE,     /* a symmetric view, where its team meets */
	STEP_SHARE,     /* handles are announced to peers */
	STEP_MEET,      /* a collective, or experts of a team */
	STEP_MESSAGE,   /* a send or recv is issued */
	STEP_PREPARE,   /* a send or recv is come to that a post issues */
	STEP_ABSENT,    /* … of a tensor in whose mesh the rank is not: nothing is sent or received */
	STEP_GROUP,     /* the messages and collectives up to END_GROUP start together */
	STEP_END_GROUP, /* … now */
	STEP_WAIT,      /* for a transfer */
	STEP_MISSING,   /* a wait or post names a statement that was not come to, or is waited for already */
	STEP_JOIN,      /* the current stream synchronizes with another, or with itself */
	STEP_ITERATION, /* of a loop begins */
	STEP_LEAVE,     /* a loop or condition is done */
	STEP_OTHERS,    /* a branch begins that only other ranks take; its messages, meetings and waits are no
	                   steps */
	STEP_END_OTHERS,
	STEP_END,   /* of the program */
	STEP_FAILED /* see walk_failure; it stays so */
};

/* A transfer is what a wait waits for: a collective, a message or a group. MEET, MESSAGE and END_GROUP begin
 * one, unless the statement is of a group or ends before the stream goes on; WAIT ends one. The number of a
 * transfer is used again once it has ended. ABSENT begins one that nothing moves in. */
struct step {
	uint8_t kind;  /* enum step_kind */
	bool others;   /* in a branch that only other ranks take */
	bool more;     /* other steps of the same wait or post follow */
	uint16_t part; /* of a wait or post: which of the statements that it names; else 0 */
	op_id op;
	op_id of;          /* MESSAGE, PREPARE: the send or recv, which a post may issue; WAIT, MISSING: the
	                    * statement that the wait or post names */
	int64_t iteration; /* index of the innermost loop; -1: outside of loops */
	int64_t peer;      /* of MESSAGE, PREPARE: a device; it may be none of the program */
	uint32_t stream;   /* current, in walker.stream */
	uint32_t joined;   /* of JOIN, likewise */
	uint32_t transfer; /* see below; WALK_NONE: none */
};

enum walk_follow {
	WALK_ANY,  /* ranks may find different numbers */
	WALK_SAME, /* all must find the same number */
	WALK_PEER  /* a device, which moves as the ranks do */
};

struct walk_options {
	int64_t streams;  /* streams are numbered modulo this; 0: as they are */
	bool whole_units; /* a unit is one step of WORK, not each of its statements */
	/* Proves that the ranks that the walk stands for find a number as it must be. False ends the walk,
	 * without a text. NULL: the rank stands for itself. */
	bool (*follows)(void *to, op_id op, expr_id e, enum walk_follow how, int64_t value);
	/* Returns true if another rank finds that a condition does not hold, or holds. NULL: no OTHERS. */
	bool (*divides)(void *to, op_id op, bool holds);
	void *to;
};

struct walk_loop {
	op_id op;
	int64_t start, stop, at;
};

struct walk_frame;

struct walker {
	struct walk_program *program;
	struct module *m;
	struct walk_options o;
	int64_t rank;
	int64_t *index;             /* by index_id */
	VEC(int64_t) stream;        /* numbers, in the order in which they are come to */
	uint32_t current;           /* in `stream` */
	op_id named_by;             /* the last set_stream; 0: none yet */
	uint64_t named_at;          /* `walked` at that time */
	VEC(struct walk_loop) loop; /* around, the outermost first */
	uint64_t walked;            /* statements and iterations so far, with those that are no step */
	unsigned others;            /* branches around that only other ranks take */

	/* the walk's own */
	VEC(struct walk_frame) frame;
	uint32_t *handle;  /* by handle_id: in `stream` */
	int64_t *prepared; /* by op_id: peer of a posted message; NULL: there are no posts */
	bool *is_prepared;
	uint8_t *is_in;            /* by mesh_id: enum is_in of walk.c */
	uint32_t *oldest, *latest; /* by op_id: transfer + 1; 0: none */
	VEC(uint32_t) next;        /* by transfer: a later one of the same statement, + 1 */
	uint32_t free_transfer;    /* + 1; in `next` */
	op_id parts_of;            /* a wait or post with operands left; 0: none */
	unsigned part;             /* the next one */
	bool in_group, failed;
	enum diagnostic failure;
	op_id failed_op;
	struct buf failure_text;
};

/* Begins at the first statement of a rank; walk_end it. options are copied. */
void walk_begin(struct walker *w, struct walk_program *p, int64_t rank, const struct walk_options *o);
/* Begins again, with the first statement of a region, whose loops have the indices of walker.index. */
void walk_begin_region(struct walker *w, region_id r);
void walk_end(struct walker *w);

/* Goes on to the next step. Returns false at STEP_END and STEP_FAILED. */
bool walk_next(struct walker *w, struct step *out);

/* The k-th scalar operand of a statement, now. False: the walk has failed. */
bool walk_scalar(struct walker *w, op_id op, unsigned k, enum walk_follow how, int64_t *out);
/* An expression of a statement, likewise. */
bool walk_value(struct walker *w, op_id op, expr_id e, int64_t *out);
struct expr_env walk_env(const struct walker *w);

/* Why the walk failed, for a message to which the caller adds the rank: "'n' has no value". NULL: `follows`
 * has ended it. */
const char *walk_failure(const struct walker *w, enum diagnostic *code, op_id *op);

#endif
