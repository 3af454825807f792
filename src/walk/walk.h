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
 * The walk evaluates loops, conditions, stream numbers, scalars, posts and groups, and finds the transfer
 * that a wait ends. It does this once for all readers. A walk can pause between any two steps, so that
 * several ranks can be walked side by side.
 *
 * A rank may stand for others (analysis/symmetry.h). Some numbers decide which statements a rank issues. For
 * each such number `follows` proves that the other ranks find the number that they must find. */
#ifndef HIRC_WALK_WALK_H
#define HIRC_WALK_WALK_H
#include "base/diag.h"
#include "ir/expr.h"
#include "ir/ir.h"
#include "walk/walk_program.h"

#define WALK_NONE UINT32_MAX

enum { WALK_FIRST_STREAM = -1 /* number of the stream that is current when a rank begins */ };

enum step_kind {
	STEP_WORK,      /* a statement of the current stream */
	STEP_VIEW,      /* select, shard_by_stream */
	STEP_ALLOCATE,  /* a buffer */
	STEP_FREE,      /* the end of the buffers or symmetric views that a deallocate names */
	STEP_FENCE,     /* a symmetric view: the ranks of its team meet */
	STEP_SHARE,     /* handles are announced to peers */
	STEP_MEET,      /* a collective, or a dispatch or combine over a team */
	STEP_MESSAGE,   /* a send or recv is issued */
	STEP_PREPARE,   /* the rank reaches a send or recv that a post will issue */
	STEP_ABSENT,    /* the same, but the rank is not in the tensor's mesh: nothing is sent or received */
	STEP_GROUP,     /* the messages and collectives up to END_GROUP start together */
	STEP_END_GROUP, /* those messages and collectives start now */
	STEP_WAIT,      /* the current stream waits for a transfer */
	STEP_MISSING,   /* a wait or post names a statement that the rank has not reached, or has already
	                   waited for */
	STEP_JOIN,      /* the current stream synchronizes with another, or with itself */
	STEP_ITERATION, /* an iteration of a loop begins */
	STEP_LEAVE,     /* a loop or condition ends */
	STEP_OTHERS,    /* a branch begins that only other ranks take; its messages, meetings and waits
	                   give no steps */
	STEP_END_OTHERS,
	STEP_END,   /* the program ends */
	STEP_FAILED /* the walk has failed, see walk_failure; every later step is FAILED, too */
};

/* A transfer is a collective, a message or a group that a wait can wait for. MEET, MESSAGE and END_GROUP
 * begin a transfer, unless the statement is inside a group or the stream blocks until it is done. WAIT ends
 * it. The number of a transfer is used again after its end. ABSENT begins a transfer that moves nothing. */
struct step {
	uint8_t kind;  /* enum step_kind */
	bool others;   /* in a branch that only other ranks take */
	bool more;     /* other steps of the same wait or post follow */
	uint16_t part; /* the k-th statement that a wait or post names; other steps: 0 */
	op_id op;
	op_id of;          /* MESSAGE, PREPARE: the send or recv, which may be issued by a post (op); WAIT,
	                      MISSING: the statement that the wait or post names */
	int64_t iteration; /* index of the innermost loop; -1: outside loops */
	int64_t peer;      /* MESSAGE, PREPARE: a device; it may be outside the program */
	uint32_t stream;   /* the current stream: an index into walker.stream */
	uint32_t joined;   /* JOIN: the other stream, an index into walker.stream */
	uint32_t transfer; /* see above; WALK_NONE: none */
};

enum walk_follow {
	WALK_ANY,  /* ranks may find different numbers */
	WALK_SAME, /* all ranks must find the same number */
	WALK_PEER  /* the number is a device that moves as the ranks do */
};

struct walk_options {
	int64_t streams;  /* stream indices are taken modulo this; 0: used as they are */
	bool whole_units; /* a unit is one step of WORK, not one step for each of its statements */
	/* Proves that the ranks for which this walk stands find the number that they must find. If it returns
	 * false, the walk ends with no text. NULL: the rank stands only for itself. */
	bool (*follows)(void *to, op_id op, expr_id e, enum walk_follow how, int64_t value);
	/* Returns true if on some other rank the condition has the other value than `holds`. NULL: the walk
	 * has no OTHERS. */
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
	VEC(int64_t) stream;        /* stream numbers, in the order in which the walk meets them */
	uint32_t current;           /* index into `stream` */
	op_id named_by;             /* the last set_stream; 0: none yet */
	uint64_t named_at;          /* value of `walked` at that set_stream */
	VEC(struct walk_loop) loop; /* the loops around, the outermost first */
	uint64_t walked;            /* statements and iterations so far, including those that give no step */
	unsigned others;            /* number of branches around that only other ranks take */

	/* private to walk.c */
	VEC(struct walk_frame) frame;
	uint32_t *handle;  /* by handle_id: index into `stream` */
	int64_t *prepared; /* by op_id: peer of a message that a post issues; NULL: the program has no
	                      posts */
	bool *is_prepared;
	uint8_t *is_in;            /* by mesh_id: enum is_in of walk.c */
	uint32_t *oldest, *latest; /* by op_id: transfer + 1; 0: none */
	VEC(uint32_t) next;        /* by transfer: the next one of the same statement, + 1 */
	uint32_t free_transfer;    /* first unused number + 1; `next` chains the others */
	op_id parts_of;            /* a wait or post with operands that are not done; 0: none */
	unsigned part;             /* its next operand */
	bool in_group, failed;
	enum diagnostic failure;
	op_id failed_op;
	struct buf failure_text;
};

/* Begins at the first statement of a rank. Copies the options. End it with walk_end. */
void walk_begin(struct walker *w, struct walk_program *p, int64_t rank, const struct walk_options *o);
/* Begins again at the first statement of a region. The loops around have the indices in walker.index. */
void walk_begin_region(struct walker *w, region_id r);
void walk_end(struct walker *w);

/* Goes on to the next step. Returns false at STEP_END and STEP_FAILED. */
bool walk_next(struct walker *w, struct step *out);

/* Sets *out to the current value of a statement's k-th scalar operand. Returns false if the walk has
 * failed. */
bool walk_scalar(struct walker *w, op_id op, unsigned k, enum walk_follow how, int64_t *out);
/* Sets *out to the value of an expression of a statement. Returns false if the walk has failed. */
bool walk_value(struct walker *w, op_id op, expr_id e, int64_t *out);
struct expr_env walk_env(const struct walker *w);

/* Returns why the walk failed, to be used in a message to which the caller adds the rank: "'n' has no value".
 * Returns NULL if `follows` ended the walk. */
const char *walk_failure(const struct walker *w, enum diagnostic *code, op_id *op);

#endif
