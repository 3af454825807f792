/* checker: the structures that the files of the check share; README.md says what each file does.
 *
 * Two accesses of a rank are ordered when one happens before the other:
 *
 *  - both are on one stream, in program order;
 *  - the later one's stream has synchronized with the other's stream in between;
 *  - one is before the start of a Communication and the other is by that Communication;
 *  - one is by a Communication and the other is after its wait.
 *
 * Two Communications of one communicator are not ordered: the copies that unpack data run on the stream that
 * waits. Other ranks order accesses only by fences. */
#ifndef HIRC_CHECK_CHECKER_H
#define HIRC_CHECK_CHECKER_H
#include "analysis/symmetry.h"
#include "base/hash.h"
#include "check/check.h"
#include "check/clock.h"
#include "check/region.h"
#include "check/spread.h"
#include "check/witness.h"
#include "ir/part.h"
#include "walk/walk.h"

enum {
	CHECK_NONE = UINT32_MAX,
	VIEW_MAX_CHUNKS = 4, /* axes bound by loops around a buffer; with more, a slice counts as the whole
	                        buffer */
};

/* ---- all ranks */

struct match_entry {
	op_id op;
	uint32_t member;  /* the member that issued it first */
	int64_t root;     /* -1: none */
	value_id value;   /* a fence: the buffer that others see; otherwise 0 */
	int64_t elements; /* number that must be equal on all members; -1: not known, or it may differ */
	spread_id part;   /* of a message, or of the operand of a reduction; 0: not compared */
	spread_id order;  /* of a message's elements in memory; 0: not compared */
	uint32_t
	    permute; /* of a message of a collective_permute: the number of this in its channel; otherwise 0 */
	uint32_t meeting; /* progress_node */
	uint32_t arrived; /* index into checker.arrival: the last member to arrive; 0: no member has blocks */
};

struct arrival { /* a member of a collective with blocks, see blocks.c */
	uint32_t rank, member;
	op_id op;
	struct check_moved moved;
	bool is_alike; /* it and all that arrived before have one size or one list */
	uint32_t next; /* the member that arrived before; 0: none */
};

/* A place where ranks meet, for one backend: the slice of a team, or sender and receiver of messages. */
struct channel {
	bool message;
	bool handles; /* it counts announcements of the messages' buffers */
	bool broken;  /* a difference has been reported */
	name_id backend;
	team_id team;     /* messages: the team of a CollectivePermute; 0: sends and receives */
	uint32_t slice;   /* index into the walk's slices; 0: messages */
	uint32_t ends[2]; /* messages: sender, receiver */
	uint32_t n;       /* number of members */
	uint32_t *count;  /* by member: how many statements it has issued */
	VEC(struct match_entry) entry;
};

enum progress_kind { PROGRESS_START, PROGRESS_MEET, PROGRESS_WAIT, PROGRESS_ROOM };
enum progress_level { PROGRESS_ALWAYS, PROGRESS_DEVICE, PROGRESS_HOST };

struct progress_node { /* see progress.c */
	op_id op;      /* a meeting: the op of the first rank to arrive */
	uint32_t rank; /* rank, iteration: of a start or wait */
	uint32_t iteration;
	uint8_t kind;
};

struct progress_edge {
	uint32_t from, to; /* nodes */
	uint8_t level;
};

struct progress {
	VEC(struct progress_node) node; /* [0] is unused */
	VEC(struct progress_edge) edge;
};

struct circle {
	VEC(uint32_t) node;
};

/* A spread found for one rank of a slice. The other ranks of the slice use it in the same iterations. */
struct known_spread {
	op_id op;
	uint32_t slice;
	spread_id from, is; /* is: a part of from */
	const int64_t *at;  /* indices of the loops around */
};

struct reported {
	op_id a, b;
	const char *what;
};

struct iteration { /* an iteration of a loop on a rank; number 0: outside loops */
	int64_t at;
	index_id index;
	uint32_t outer; /* iteration of the loop around */
};

struct shift { /* how far the parts of a buffer along an axis move when ranks turn, see classes.c */
	value_id value;
	domain_id domain; /* domain, axis: as in a condition (region.h) */
	uint32_t axis;
	unsigned turn;
	int64_t by;
};

struct incomplete { /* an output with an element that nothing has written */
	value_id value;
	uint32_t rank;
	int64_t *index; /* of the element; NULL: not known */
};

struct checker {
	struct module *m;
	struct diag *d;
	const struct check_options *o;
	struct check_result *result;
	enum check_status status;
	struct symmetry *symmetry; /* NULL: each rank stands for itself */
	VEC(struct shift) shift;
	bool asymmetric;     /* the program does not follow a turn: that turn is broken */
	int64_t weight;      /* number of ranks for which the walk's rank stands */
	int64_t rank_now;    /* the rank that is walked */
	uint64_t work, most; /* work done, and the work at which the check ends */
	struct arena *arena;
	struct parts parts;
	struct spreads spreads;
	VEC(struct known_spread) known;     /* [0] is unused */
	VEC(struct channel) channel;        /* [0] is unused */
	VEC(struct arrival) arrival;        /* [0] is unused */
	struct hash_table channels, knowns; /* of `channel` and `known` */
	struct walk_program walk_program;
	VEC(uint32_t *)
	moves; /* by slice of the walk, then by turn: how far its members move (classes.c); NULL: not known
	          yet */
	VEC(struct reported) reported;
	bool unlike; /* the ranks for which the walk's rank stands may have other findings than it */
	VEC(struct incomplete) incomplete; /* one for each value */
	VEC(struct iteration) iteration;   /* of all ranks; [0]: outside loops */
	struct progress progress;
	bool is_symmetric;  /* some symmetric view shows other ranks' memory */
	op_id *set_stream;  /* by op_id of a loop: the first statement of its body that names a stream by
	                       an index; 0: none */
	bool *names_stream; /* by op_id of a loop or condition: it contains a set_stream */
	bool *is_shared;    /* by op_id: a share_mem_handles names it */
	bool *is_returned;  /* by value_id: the program's caller takes the contents */
	bool *is_shown;     /* by value_id of a symmetric view: the caller takes the memory that the view
	                       shows */
	/* By type_id: the domain without mesh axes, which tells apart the slices of memory that other ranks
	 * see. A buffer of type t@x@stream(3) has a view of type t@block(x)@stream(3), whose blocks each have
	 * the same slices. NULL: the program has no symmetric views. */
	domain_id *slices_of;
};

/* ---- a rank */

struct view {
	uint32_t storage; /* index into walk.storage; CHECK_NONE: the name has no value here */
	region_part_id region;
	region_part_id alike; /* in memory that other ranks see: the part of it that is the same on all
	                         ranks */
	bool absent;          /* the rank is not in the value's mesh */
	bool vague;           /* the blocks that are bound are not known: a slice counts as the whole view */
	bool in_loop;         /* a loop made the buffer: the statement that writes it may decide its blocks */
	bool loose;           /* in the logical axes of the buffer the region is larger than the view */
	bool dropped;         /* a select has removed an axis */
	uint32_t symmetric;   /* the symmetric view that it goes through; 0: none */
	spread_id spread;     /* the part that each rank touches through that view */
	int64_t chunk[VIEW_MAX_CHUNKS]; /* the blocks of the first chunk_n stream and serial axes of its
	                                   type that the buffer holds; loops around it bind them */
	uint8_t chunk_n;
	uint8_t bound_n;              /* number of axes that loops around or slices have bound */
	uint8_t axis[IR_MAX_LOGICAL]; /* its axes, as logical axes of the buffer */
};

enum access_kind {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_ALLOCATE,
	ACCESS_FREE,
	ACCESS_PROVIDE,
	ACCESS_TAKE,
	ACCESS_VIEW, /* beginning of a symmetric view */
};

struct access {
	struct view view;
	enum access_kind kind;
	uint32_t one_of; /* one of this many of the ranks for which the walk's rank stands does the access;
	                    0: all do */
};

struct record { /* an access kept for comparison with later ones */
	uint32_t thread, step;
	region_part_id region, alike; /* as in a view */
	op_id op;
	uint32_t symmetric; /* symmetric, spread: as in a view */
	spread_id spread;
	uint32_t iteration; /* index into checker.iteration */
	uint8_t kind;       /* enum access_kind */
	bool others;        /* made in a branch that this rank does not take */
};

struct symmetric { /* an instance of a symmetric view */
	value_id value;
	uint32_t storage; /* the rank's own buffer */
	uint32_t slice;   /* the ranks whose buffers the view shows */
	int axis;         /* logical axis of the buffer along which the blocks lie; -1: not known */
	uint32_t member;  /* index of this rank in the slice */
	spread_id own;    /* each rank's own buffer */
	spread_id all;
	uint32_t iteration;
	op_id freed; /* 0: alive */
	uint32_t freed_iteration;
};

struct fenced { /* the steps of a slice's other ranks that are known to be over */
	uint32_t slice;
	VEC(uint32_t)
	as; /* by thread: the thread that counts its steps that are over on all those ranks; 0: none */
};

struct storage {
	value_id value;
	int64_t slot;                /* copy of a buffer that a loop allocates */
	uint32_t next;               /* another storage of the same value; CHECK_NONE: none */
	uint32_t made;               /* how often it was allocated */
	VEC(region_part_id) written; /* since the last allocation */
	VEC(uint64_t) written_bit;   /* by part */
	bool written_unnumbered;     /* a part is in `written` without the numbers of its blocks */
	bool written_loosely;        /* a written part is missing in `written`: only a larger part is known */
	op_id freed;                 /* 0: alive */
	uint32_t freed_iteration;
	VEC(struct record) record;
};

struct thread {         /* a stream or a Communication */
	op_id op;       /* the Communication that it was last; 0: a stream */
	int64_t stream; /* number of the stream, WALK_FIRST_STREAM for the first; for a Communication, of
	                   the stream that waited for it */
	uint32_t step;
	bool busy; /* it is a Communication that has not been waited for */
	bool copy; /* it stands for steps of another thread on other ranks, see struct fenced */
};

struct behind { /* the statements of a stream after this number follow a progress_node */
	uint32_t issued, node;
};

struct stream {
	int64_t number;
	uint32_t thread;
	uint32_t after;          /* the progress_node before the stream's next statement; 0: none */
	uint32_t issued, passed; /* numbers of statements; the first `passed` entries of `behind` are no
	                            longer needed for the host's waits */
	VEC(struct behind) behind;
	struct clock clock;
};

struct transfer { /* a transfer that has not been waited for; op 0: unused */
	op_id op;
	uint32_t iteration;
	uint32_t nth;          /* its number among the transfers of the rank */
	uint32_t n;            /* number of Communications in its coalescing group; 0: the rank takes no
	                          part */
	uint32_t *thread;      /* n of them */
	uint32_t *meeting;     /* progress_node of each */
	struct clock *started; /* the steps that each one follows */
};

struct message { /* a send or receive between its text and the post that issues it */
	op_id op;
	struct view view;
	int64_t peer, elements;
	spread_id part, order;
	uint32_t permute; /* as in match_entry */
};

struct announced { /* the last announcement of a transfer's buffer, and the memory that it named */
	op_id op;  /* 0: not announced */
	uint32_t iteration, storage, made;
};

struct start { /* the start of a Communication or message, with its accesses */
	op_id op;
	uint32_t meeting; /* progress_node */
	unsigned n;
	struct access list[2];
};

struct saved { /* saved clocks of a rank's streams */
	struct clock *clock;
	uint32_t n;
};

struct rank_check {
	struct checker *c;
	struct module *m;
	int64_t rank;
	struct walker walker;
	struct view *view;
	uint32_t *storage_of; /* by value_id: the storage made last; CHECK_NONE: none */
	VEC(struct storage) storage;
	VEC(struct symmetric) symmetric; /* [0] is unused */
	VEC(struct fenced) fenced;
	VEC(struct stream) stream; /* by index of walker.stream */
	uint32_t current;
	VEC(struct thread) thread;
	VEC(struct transfer) transfer; /* by number of the walk */
	uint32_t transfers;            /* number so far */
	struct message *posted;        /* by op_id; op 0: not reached */
	struct announced *announced;   /* by op_id */
	uint32_t *issued;              /* by op_id: how often the rank has issued this message or
	                                  collective */
	VEC(struct start) group;
	VEC(uint32_t) iteration_of; /* by loop around: an index into checker.iteration */
	uint32_t now;               /* the current iteration */
	uint64_t forgotten_at;   /* walker.walked when the text began to leave open which stream is current */
	bool others;             /* the walk is in a branch that only other ranks take */
	VEC(struct saved) saved; /* for each such branch around: the clocks at its beginning */
	uint32_t room;           /* progress_node of the host's last wait for room in a stream */
	uint32_t host;           /* progress_node of the last wait; 0: none */
	uint32_t collective;     /* progress_node of the last collective's meeting */
};

static inline struct clock *check_clock(struct rank_check *w)
{
	return &w->stream.at[w->current].clock;
}
/* Returns true if the check can go on. */
static inline bool check_goes_on(const struct checker *c)
{
	return (c->status == CHECK_CLEAN || c->status == CHECK_WRONG) && !c->asymmetric;
}
/* Counts work; returns false when none is left. */
bool check_spend(struct checker *c, uint64_t work);
/* Ends the check because `what` has no value. */
bool check_unknown(struct checker *c, uint32_t at, const char *what);

struct cut { /* a slice along an axis of a type's loop domain */
	int axis;
	int64_t at;
	expr_id index; /* the expression that gives `at`; 0: a constant */
};

#endif
