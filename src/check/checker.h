/* checker: the shared parts of the files of a check.
 *
 *     check.c            ranks, one after the other; the result
 *     classes.c          ranks that stand for others
 *     check_rank.c             statements of a rank in the order in which it issues them
 *     check_view.c       names as parts of memory
 *     access.c           memory, and the order of accesses to it
 *     written.c          reads of memory that nothing wrote
 *     transfer.c         Communications: their start, their wait
 *     check_handles.c    buffers that are announced to peers
 *     check_part.c       the elements that a view names
 *     check_symmetric.c  views of other ranks' memory, fences
 *     match.c            the statements that ranks issue on one communicator
 *     blocks.c           the blocks that members of a collective give each other
 *     progress.c         the order of waits and starts, on all ranks
 *     words.c            the names of things in messages
 *     witness.c          an order of statements that shows an error
 *     check_report.c     messages; report_deadlock.c: of circles
 *
 * Two accesses of a rank are ordered when one happens before the other: both are of one stream, in
 * program order; the later one's stream has synchronized with the other's since; one is before the
 * start of a Communication and the other is the Communication, or one is the Communication and the
 * other is after its wait. Communications of one communicator are not taken to be ordered: the
 * copies that unpack the data of one run on the stream that waits for it. Nor do other ranks order accesses,
 * but where they come to a fence. */
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
	VIEW_MAX_CHUNKS = 4, /* axes that loops around a buffer bind; with more, slices count as all of it */
};

/* ---- all ranks */

struct match_entry {
	op_id op;
	uint32_t member;  /* who issued it first */
	int64_t root;     /* -1: none */
	value_id value;   /* of a fence: the buffer that is seen; else 0 */
	int64_t elements; /* that must be equal on all members; -1: not known, or they differ by right */
	spread_id part;   /* of a message: see check_part.c */
	uint32_t meeting; /* progress_node */
	uint32_t arrived; /* of checker.arrival: the last member that has come; 0: none has blocks */
};

struct arrival { /* a member of a collective with blocks, see blocks.c */
	uint32_t rank, member;
	op_id op;
	struct check_moved moved;
	bool is_alike; /* one size or list holds for it and all that came before */
	uint32_t next; /* the member that came before; 0: none */
};

/* A meeting place of ranks: a slice, or sender and receiver of messages, with a backend. */
struct channel {
	bool message;
	bool handles; /* announcements of messages' buffers */
	bool broken;  /* a difference was reported */
	name_id backend;
	team_id team;     /* messages: of a CollectivePermute; 0: none */
	uint32_t slice;   /* 0: messages */
	uint32_t ends[2]; /* messages: sender, receiver */
	uint32_t n;       /* members */
	uint32_t *count;  /* by member: its issued statements */
	VEC(struct match_entry) entry;
};

enum progress_kind { PROGRESS_START, PROGRESS_MEET, PROGRESS_WAIT, PROGRESS_ROOM };
enum progress_level { PROGRESS_ALWAYS, PROGRESS_DEVICE, PROGRESS_HOST };

struct progress_node { /* see progress.c */
	op_id op;      /* of a meeting: the first to come */
	uint32_t rank; /* and iteration: of a start or wait */
	uint32_t iteration;
	uint8_t kind;
};

struct progress_edge {
	uint32_t from, to; /* nodes */
	uint8_t level;
};

struct progress {
	VEC(struct progress_node) node; /* 0 unused */
	VEC(struct progress_edge) edge;
};

struct circle {
	VEC(uint32_t) node;
};

/* A spread that was found for one rank of a slice is that of all, in the same iterations. */
struct known_spread {
	op_id op;
	uint32_t slice;
	spread_id from, is; /* a part of which */
	const int64_t *at;  /* indices of the loops around */
};

struct reported {
	op_id a, b;
	const char *what;
};

struct iteration { /* an iteration of a loop on a rank; 0: outside of loops */
	int64_t at;
	index_id index;
	uint32_t outer; /* iteration of the loop around */
};

struct shift { /* how far the parts of a buffer along an axis move on a turn of the ranks, see classes.c */
	value_id value;
	domain_id domain; /* and axis: as of a condition (region.h) */
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
	bool asymmetric;  /* a turn was found that the program does not follow: it is broken */
	int64_t weight;   /* ranks that the walk's rank stands for */
	int64_t rank_now; /* the walk's */
	uint64_t work;
	struct arena *arena;
	struct parts parts;
	struct spreads spreads;
	VEC(struct known_spread) known;     /* 0 unused */
	VEC(struct channel) channel;        /* 0 unused */
	VEC(struct arrival) arrival;        /* 0 unused */
	struct hash_table channels, knowns; /* of the ids of both */
	struct walk_program walk_program;
	VEC(uint32_t *)
	moves; /* by slice of the walk, then by turn: how far its members move (classes.c);
	        * NULL: not known yet */
	VEC(struct reported) reported;
	VEC(struct incomplete) incomplete; /* one a value */
	VEC(struct iteration) iteration;   /* of all ranks; 0: outside of loops */
	struct progress progress;
	bool is_symmetric;  /* some view shows other ranks' memory */
	op_id *set_stream;  /* by op_id of a loop: the first in its body that names a stream by an index; 0:
	                       none */
	bool *names_stream; /* by op_id of a loop or condition: a set_stream stands in it */
	bool *is_shared;    /* by op_id: a share_mem_handles names it */
	bool *is_returned;  /* by value_id: the program's caller takes its contents */
	bool *is_shown;     /* by value_id: of a symmetric view, the caller takes the memory seen by it */
	/* By type_id: the domain without mesh axes, which tells slices apart of memory that other ranks see:
	 * a memory t@x@stream(3), a view has as t@block(x)@stream(3), with the same slices of each block.
	 * Of types of a program without symmetric views: NULL. */
	domain_id *slices_of;
};

/* ---- a rank */

struct view {
	uint32_t storage; /* of walk.storage; CHECK_NONE: the name has no value here */
	region_part_id region;
	region_part_id alike; /* of memory that other ranks see: the part of it that all ranks have here */
	bool absent;          /* the rank is not in the value's mesh */
	bool vague;   /* which blocks of its type are bound is not known: slices of it count as all of it */
	bool loose;   /* the region is larger than the view in the logical axes of the buffer */
	bool dropped; /* a select took an axis away */
	uint32_t symmetric;             /* through which symmetric view, 0: none */
	spread_id spread;               /* the part that all ranks touch through it */
	int64_t chunk[VIEW_MAX_CHUNKS]; /* the buffer holds these blocks of the first chunk_n stream and
	                                   serial axes of its type: loops around it bind them */
	uint8_t chunk_n;
	uint8_t bound_n;              /* axes that loops around or slices bound */
	uint8_t axis[IR_MAX_LOGICAL]; /* its visible axes, as logical axes of the buffer */
};

enum access_kind {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_ALLOCATE,
	ACCESS_FREE,
	ACCESS_PROVIDE,
	ACCESS_TAKE,
	ACCESS_VIEW, /* a symmetric view begins */
};

struct access {
	struct view view;
	enum access_kind kind;
	uint32_t one_of; /* one of so many of the ranks that the walk's stands for does it; 0: all do */
};

struct record { /* an access that later ones are compared with */
	uint32_t thread, step;
	region_part_id region, alike; /* as of a view */
	op_id op;
	uint32_t symmetric; /* and spread: as of a view */
	spread_id spread;
	uint32_t iteration; /* in checker.iteration */
	uint8_t kind;       /* enum access_kind */
	bool others;        /* in a branch that this rank does not take */
};

struct symmetric { /* an instance of a symmetric view */
	value_id value;
	uint32_t storage; /* of the own buffer */
	uint32_t slice;   /* of the ranks that it shows the buffers of */
	int axis;         /* of the buffer's logical ones, along which the blocks are; -1: not known */
	uint32_t member;  /* which of them this is */
	spread_id own;    /* each rank's own buffer */
	spread_id all;
	uint32_t iteration;
	op_id freed; /* 0: alive */
	uint32_t freed_iteration;
};

struct fenced { /* the known steps of the other ranks of a slice */
	uint32_t slice;
	VEC(uint32_t)
	as; /* by thread: the thread whose steps are those that are over on all of them; 0: none */
};

struct storage {
	value_id value;
	int64_t slot;                /* buffers of one ALLOCATE in a loop: which copy */
	uint32_t next;               /* of the same value; CHECK_NONE: none */
	uint32_t made;               /* how often it was allocated */
	VEC(region_part_id) written; /* since then */
	VEC(uint64_t) written_bit;   /* by part */
	bool written_loosely;        /* a part is not in `written`: only a larger one is known */
	op_id freed;                 /* 0: alive */
	uint32_t freed_iteration;
	VEC(struct record) record;
};

struct thread {         /* a stream or a Communication */
	op_id op;       /* of a Communication, the last that this was; 0: a stream */
	int64_t stream; /* number of the stream, WALK_FIRST_STREAM for the first; of a Communication: of the
	                   stream that waited for it */
	uint32_t step;
	bool busy; /* a Communication that was not waited for */
	bool copy; /* stands for the known steps of another on other ranks, see struct fenced */
};

struct behind { /* statements of a stream after this number come after a progress_node */
	uint32_t issued, node;
};

struct stream {
	int64_t number;
	uint32_t thread;
	uint32_t after;          /* progress_node that its next statement comes after; 0: none */
	uint32_t issued, passed; /* statements; of `behind`, those that the host may wait for no more */
	VEC(struct behind) behind;
	struct clock clock;
};

struct transfer { /* that is not waited for yet; op 0: none */
	op_id op;
	uint32_t iteration;
	uint32_t nth;          /* of the transfers of the rank */
	uint32_t n;            /* Communications of a coalescing group; 0: the rank takes no part */
	uint32_t *thread;      /* n of them */
	uint32_t *meeting;     /* progress_node of each */
	struct clock *started; /* the steps that each follows */
};

struct message { /* a send or receive on its way to the statement that issues it */
	op_id op;
	struct view view;
	int64_t peer, elements;
	spread_id part;
};

struct announced { /* where a transfer's buffer was announced last, and which memory that was */
	op_id op;  /* 0: nowhere */
	uint32_t iteration, storage, made;
};

struct start { /* of a Communication or message, with its accesses */
	op_id op;
	uint32_t meeting; /* progress_node */
	unsigned n;
	struct access list[2];
};

struct saved { /* clocks of a rank's streams */
	struct clock *clock;
	uint32_t n;
};

struct rank_check {
	struct checker *c;
	struct module *m;
	int64_t rank;
	struct walker walker;
	struct view *view;
	uint32_t *storage_of; /* by value_id: the last one made; CHECK_NONE: none */
	VEC(struct storage) storage;
	VEC(struct symmetric) symmetric; /* 0 unused */
	VEC(struct fenced) fenced;
	VEC(struct stream) stream; /* as in the walk */
	uint32_t current;
	VEC(struct thread) thread;
	VEC(struct transfer) transfer; /* by number of the walk */
	uint32_t transfers;            /* so far */
	struct message *posted;        /* by op_id; op 0: not come to yet */
	struct announced *announced;   /* by op_id */
	uint32_t *issued;              /* by op_id: how often a message or collective was issued */
	VEC(struct start) group;
	VEC(uint32_t) iteration_of; /* by loop around: its iteration, in checker.iteration */
	uint32_t now;               /* iteration */
	uint64_t forgotten_at;   /* walker.walked when the text began to leave open which stream is current */
	bool others;             /* in a branch that only other ranks take */
	VEC(struct saved) saved; /* at the begin of each such branch around */
	uint32_t room;           /* of the last that a host waits for before it issues more */
	uint32_t host;           /* progress_node of the last wait; 0: none */
	uint32_t collective;     /* of the last collective's meeting */
};

static inline struct clock *check_clock(struct rank_check *w)
{
	return &w->stream.at[w->current].clock;
}
/* Returns true if the check goes on. */
static inline bool check_goes_on(const struct checker *c)
{
	return (c->status == CHECK_CLEAN || c->status == CHECK_WRONG) && !c->asymmetric;
}
/* Counts work; false when there is none left. */
bool check_spend(struct checker *c, uint64_t work);
/* Ends the check: something has no value. */
bool check_unknown(struct checker *c, uint32_t at, const char *what);

/* check_rank.c */
void check_rank(struct checker *c, int64_t rank);
/* The k-th scalar operand; false after check_unknown, or if ranks that the rank stands for find another. */
bool check_scalar(struct rank_check *w, op_id op, unsigned k, enum walk_follow how, int64_t *out);
bool check_value(struct rank_check *w, expr_id e, uint32_t at, int64_t *out);
/* Takes the next step on the current stream; all that follows is of this step. */
uint32_t check_step(struct rank_check *w);
bool check_membership(const struct rank_check *w, team_id team, struct membership *out);

struct cut { /* a slice along an axis of a type's loop domain */
	int axis;
	int64_t at;
	expr_id index; /* the expression of which `at` is the value; 0: a constant */
};

/* classes.c: each is true where ranks stand for themselves; false after a turn was found to be broken. */
bool classes_same(struct rank_check *w, expr_id e);               /* all ranks of an orbit find one value */
bool classes_peer(struct rank_check *w, expr_id e, int64_t peer); /* a device, which turns as ranks do */
/* An index into a team, likewise. */
bool classes_member(struct rank_check *w, const struct membership *me, expr_id e);
/* Returns true if the ranks that stand for the members of a slice are members of it. It comes before
 * classes_member. */
bool classes_meet(struct rank_check *w, team_id team, const struct membership *me);
/* Counts the members of a slice that the walk's rank stands for, if one of several is the root; else 0. */
uint32_t classes_roots(const struct rank_check *w, const struct membership *me, int64_t root);
/* Makes each rank stand for itself: a root has other blocks than the ranks for which it would stand. */
bool classes_alone(struct rank_check *w);
/* A device is walked. */
bool classes_stands(const struct checker *c, uint32_t device);
/* Finds how far the index of a part, of which there are `count`, moves on each turn; by: SYMMETRY_MOST
 * zeros. */
bool classes_index(struct rank_check *w, expr_id e, int64_t count, int64_t *by);
/* A part of a buffer along an axis (domain 0: a logical one) is touched, which moves so. */
bool classes_parts(struct rank_check *w, value_id v, domain_id domain, uint32_t axis, const int64_t *by);
struct classes_cut {      /* of a part of a buffer, in blocks */
	value_id value;   /* the buffer */
	domain_id domain; /* by whose axes its slices are told apart */
	mesh_id mesh;
	const struct part_cut *cut;
	struct cut slice;
	int64_t of; /* elements that are cut in blocks */
	bool outermost;
};
/* Adds to by[turn] how far the part moves; NULL: only its size is asked for. */
bool classes_cut(struct rank_check *w, const struct classes_cut *x, int64_t *by);

/* check_view.c */
bool check_view_is_here(const struct rank_check *w, value_id v);
void check_view_input(struct rank_check *w, value_id v);
void check_view_buffer(struct rank_check *w, value_id v); /* ALLOCATE, or a result without one */
void check_view_shard(struct rank_check *w, op_id op);
void check_view_select(struct rank_check *w, op_id op);
/* Finds the interval of an axis of a view's type that the walk's rank has, where a slice along an axis of the
 * loop domain has index `cut.at`; cut.axis -1: there is none. by: NULL, or SYMMETRY_MOST zeros: how far the
 * interval moves on each turn. False: it is several intervals, or not known. */
bool check_view_axis(struct rank_check *w, const struct view *x, type_id type, unsigned axis, struct cut cut,
                     struct part_axis *out, int64_t *by);

/* check_part.c */
/* The part of a tensor that a view names, 0: not known, and its elements, -1: not known. sender: of the
 * message that moves the part; -1: it is of no message. */
spread_id check_part_find(struct rank_check *w, value_id v, int64_t sender, int64_t *elements);
/* Counts the elements of that part; -1: not known. */
static inline int64_t check_part_elements(struct rank_check *w, value_id v)
{
	int64_t elements;
	check_part_find(w, v, -1, &elements);
	return elements;
}
/* The first axis of two tensors of equal extents along which the parts are not the same; -1: there is none.
 */
int check_part_differs(const struct spreads *s, spread_id a, spread_id b);

/* check_symmetric.c */
void symmetric_view(struct rank_check *w, op_id op);
void symmetric_free(struct rank_check *w, op_id op, value_id v);
/* A symmetric view x is cut by op, whose scalar operand is the index: along a logical axis of the buffer (-1:
 * not known), by a slice of a type along an axis of its loop domain (-1: none), or by a select. */
void symmetric_cut(struct rank_check *w, op_id op, struct view *x, int axis, type_id type, int logical,
                   int leaf);
/* Ranks that take other branches than those around an access do not touch the memory that it sees. */
void symmetric_leave_out(struct rank_check *w, op_id op, struct view *x);
/* Returns true if some rank takes another branch of an IF than a rank that takes the first iff the condition
 * `holds`. */
bool symmetric_divides(struct rank_check *w, op_id op, bool holds);
/* Returns true if a slice's index is the same on all ranks, in any of their iterations. */
bool symmetric_is_alike(const struct rank_check *w, op_id op);
/* Returns true if two accesses may touch one element on two ranks; who: a device each. */
bool symmetric_meets(struct rank_check *w, const struct view *a, const struct view *b, uint32_t *who);
/* Returns true if a step of a thread is over on all ranks that a view shows, for every rank that has the
 * clock. */
bool symmetric_is_over(const struct rank_check *w, uint32_t symmetric, const struct clock *clock,
                       uint32_t thread, uint32_t step);
/* A live view of a buffer; 0: there is none. */
uint32_t symmetric_of(const struct rank_check *w, uint32_t storage);
void symmetric_free_all(struct rank_check *w);

/* access.c */
/* The accesses of one statement, by step `step` of a thread whose clock is `clock`. */
void access_all(struct rank_check *w, op_id op, struct access *list, unsigned n, const struct clock *clock,
                uint32_t thread, uint32_t step);
void access_free(struct rank_check *w, op_id op, value_id v);
/* Ends the accesses of a rank: checks those of the caller after the program, and buffers that are never
 * deallocated. */
void access_end(struct rank_check *w);

/* written.c */
void written_add(struct rank_check *w, const struct access *a);
void written_clear(struct storage *x);
void written_free(struct storage *x);
void written_check(struct rank_check *w, op_id op, const struct access *a);
/* Notes an output of which an element is not written at the program's end. */
void written_end(struct rank_check *w, uint32_t storage);

/* transfer.c */
void transfer_collective(struct rank_check *w, const struct step *s);
/* A message is come to, which a post issues. */
void transfer_prepare(struct rank_check *w, const struct step *s);
/* A message of a tensor that the rank does not hold. */
void transfer_absent(struct rank_check *w, const struct step *s);
void transfer_message(struct rank_check *w, const struct step *s);
void transfer_end_group(struct rank_check *w, const struct step *s);
void transfer_wait(struct rank_check *w, const struct step *s);
void transfer_end(struct rank_check *w);
void transfer_free_all(struct rank_check *w);

/* blocks.c */
/* Adds a member to those that have come, and returns true if one size or list holds for them all.
 * *arrived: the last of them, becomes this one. */
bool blocks_are_alike(struct rank_check *w, op_id op, const struct membership *me,
                      const struct check_moved *moved, uint32_t *arrived);
/* Compares the blocks of the last member to come with those of the others; false: a difference was reported.
 * where: names the meeting. */
bool blocks_agree(struct rank_check *w, const struct membership *me, uint32_t arrived, const char *where);

/* check_handles.c */
void handles_share(struct rank_check *w, op_id op);
void handles_use(struct rank_check *w, op_id transfer); /* a transfer is issued */

/* match.c: the issued statements of a rank. Each gives the progress_node at which all who issue it meet. */
uint32_t match_fence(struct rank_check *w, op_id op, const struct membership *me, value_id value);
uint32_t match_collective(struct rank_check *w, op_id op, const struct membership *me, int64_t root,
                          const struct check_moved *moved);
/* team: of a CollectivePermute, 0 for sends and receives. */
uint32_t match_message(struct rank_check *w, op_id op, team_id team, bool send, int64_t peer,
                       int64_t elements, spread_id part);
/* Announces a transfer with a peer. */
void match_handles(struct rank_check *w, op_id op, bool send, int64_t peer);
/* Checks that all members issued the same; false after reporting a missing statement or a difference. */
bool match_end(struct checker *c);

/* progress.c */
/* Adds the meeting of the ranks that start the communication of op, after the meeting `before` (0: none). */
uint32_t progress_meeting(struct checker *c, op_id op, uint32_t before);
/* A statement is issued to the current stream. */
void progress_issue(struct rank_check *w);
/* The current stream comes to a Communication. */
void progress_start(struct rank_check *w, op_id op, uint32_t meeting);
/* The current stream goes on after a meeting that it came to. */
void progress_stand(struct rank_check *w, uint32_t meeting);
void progress_wait(struct rank_check *w, op_id op, const struct transfer *t);
/* The current stream goes on after the work that another one waited for. */
void progress_join(struct rank_check *w, op_id op, uint32_t stream);
/* Reports a deadlock, of programs in which all that is issued has its counterparts. */
void progress_check(struct checker *c);
void progress_free(struct progress *p);

/* words.c */
void words_value(const struct checker *c, value_id v, struct buf *out);   /* 'X' */
void words_statement(const struct checker *c, op_id op, struct buf *out); /* allreduce c0; 0: the caller */
void words_statement_name(const struct checker *c, op_id op, struct buf *out); /* c0 */
void words_place(const struct checker *c, uint32_t device, uint32_t iteration,
                 struct buf *out); /* (rank 1, i = 2) */

/* check_report.c */
/* Returns true if this is the first report of its kind about two statements; it counts as an error then. */
bool report_once(struct checker *c, const char *what, op_id a, op_id b);
/* Returns true if this is the first report of its kind about two statements; it counts as a warning then. */
bool report_warns(struct checker *c, const char *what, op_id a, op_id b);
/* op 0: the program's caller. thread: of the later access, CHECK_NONE: of the caller. */
void report_race(struct rank_check *w, const struct storage *storage, op_id op, enum access_kind kind,
                 uint32_t thread, const struct record *before);
/* Through a view on one rank, in the view or the own buffer on another. who: the devices of before and of op.
 */
void report_race_of_ranks(struct rank_check *w, const struct storage *storage, op_id op,
                          const struct access *a, uint32_t thread, const struct record *before,
                          const uint32_t *who);
/* Reports a race of two accesses of one statement. */
void report_race_with_itself(struct rank_check *w, const struct storage *storage, op_id op,
                             const struct access *a, const struct access *b, const uint32_t *who);
/* A use of the buffer that op `freed` deallocated. */
void report_freed(struct rank_check *w, value_id v, op_id freed, uint32_t freed_iteration, op_id op,
                  enum access_kind kind);
/* A buffer is freed that others see. */
void report_shown(struct rank_check *w, const struct symmetric *s, op_id op);
/* index: of an element that nothing has written; NULL: it is not known. */
void report_unwritten(struct rank_check *w, op_id op, value_id v, const int64_t *index);
void report_incomplete(struct checker *c, const struct incomplete *x);
void report_leak(struct rank_check *w, value_id v, op_id made);
/* A transfer of v, which is not the memory that was announced. */
void report_handle(struct rank_check *w, op_id transfer, value_id v, const struct announced *a);
/* A wait or post names a statement that the rank has not come to, or has waited for. */
void report_not_started(struct rank_check *w, op_id by, op_id named);
void report_not_waited(struct rank_check *w, const struct transfer *t);

/* report_deadlock.c: each node of a circle comes after the next one, the last one after the first. */
void report_deadlock(struct checker *c, const struct circle *circle, enum progress_level level);

#endif
