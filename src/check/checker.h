/* checker: the structures and functions that the files of the check share.
 *
 *     check.c            walks the ranks one after the other; the result
 *     classes.c          ranks that stand for others
 *     check_rank.c       statements of a rank in the order in which it issues them
 *     check_view.c       names as parts of memory
 *     access.c           memory, and the order of accesses to it
 *     written.c          reads of memory that nothing wrote
 *     transfer.c         Communications: their start, their wait
 *     check_handles.c    buffers that are announced to peers
 *     check_part.c       the elements that a view names
 *     check_order.c      their order in memory
 *     check_symmetric.c  views of other ranks' memory, fences
 *     match.c            the statements that ranks issue on one communicator
 *     blocks.c           the blocks that members of a collective give each other
 *     progress.c         the order of waits and starts, on all ranks
 *     check_recorded.c   recorded graphs that differ from rank to rank
 *     words.c            the names of things in messages
 *     witness.c          an order of statements that shows an error
 *     check_report.c     messages; report_deadlock.c: messages about circles
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
	bool asymmetric;  /* the program does not follow a turn: that turn is broken */
	int64_t weight;   /* number of ranks for which the walk's rank stands */
	int64_t rank_now; /* the rank that is walked */
	uint64_t work;
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

/* check_rank.c */
void check_rank(struct checker *c, int64_t rank);
/* Evaluates the k-th scalar operand. Returns false after check_unknown, or if a rank for which this one
 * stands finds another number. */
bool check_scalar(struct rank_check *w, op_id op, unsigned k, enum walk_follow how, int64_t *out);
bool check_value(struct rank_check *w, expr_id e, uint32_t at, int64_t *out);
/* Begins the next step on the current stream. All accesses that follow belong to it. */
uint32_t check_step(struct rank_check *w);
bool check_membership(const struct rank_check *w, team_id team, struct membership *out);

struct cut { /* a slice along an axis of a type's loop domain */
	int axis;
	int64_t at;
	expr_id index; /* the expression that gives `at`; 0: a constant */
};

/* classes.c. Each function returns true if every rank stands for itself, and false once it has found a broken
 * turn. */
bool classes_same(struct rank_check *w, expr_id e);               /* all ranks of an orbit find one value */
bool classes_peer(struct rank_check *w, expr_id e, int64_t peer); /* the expression gives a device, which
                                                                     turns as the ranks do */
/* the expression gives an index into a team, which turns as its members do */
bool classes_member(struct rank_check *w, const struct membership *me, expr_id e);
/* Returns true if the ranks that stand for the members of a slice are members of it. Call it before
 * classes_member. */
bool classes_meet(struct rank_check *w, team_id team, const struct membership *me);
/* Returns true if an interval that moves so on each turn stays where the turn moves members of a team to each
 * other. */
bool classes_stay(struct rank_check *w, const struct membership *team, const int64_t *by);
/* If one member of a slice is the root, counts the members for which the walk's rank stands; otherwise
 * returns 0. */
uint32_t classes_roots(const struct rank_check *w, const struct membership *me, int64_t root);
/* Makes each rank stand for itself, because a root has other blocks than the ranks for which it would
 * stand. */
bool classes_alone(struct rank_check *w);
/* Returns true if a device is walked. */
bool classes_stands(const struct checker *c, uint32_t device);
/* Finds how far the index of a part, one of `count`, moves on each turn. by: SYMMETRY_MOST zeros. */
bool classes_index(struct rank_check *w, expr_id e, int64_t count, int64_t *by);
/* Notes that a part of a buffer along an axis (domain 0: a logical axis) is touched, and that it moves by
 * `by`. */
bool classes_parts(struct rank_check *w, value_id v, domain_id domain, uint32_t axis, const int64_t *by);
struct classes_cut {      /* cuts of a part of a buffer, in blocks */
	value_id value;   /* the buffer */
	domain_id domain; /* the domain whose axes tell its slices apart */
	mesh_id mesh;
	const struct part_cut *cut;
	struct cut slice;
	int64_t of; /* number of elements that are cut in blocks */
	bool outermost;
};
/* Adds to by[turn] how far the part moves. by NULL: only tests its size. */
bool classes_cut(struct rank_check *w, const struct classes_cut *x, int64_t *by);

/* check_view.c */
bool check_view_is_here(const struct rank_check *w, value_id v);
/* Returns true if loops around the ALLOCATE or slices bind all stream and serial axes of a value's type. */
bool check_view_is_bound(const struct rank_check *w, value_id v);
void check_view_input(struct rank_check *w, value_id v);
void check_view_buffer(struct rank_check *w, value_id v); /* for an ALLOCATE, or a result without one */
void check_view_shard(struct rank_check *w, op_id op);
void check_view_select(struct rank_check *w, op_id op);
/* Narrows the view of the operand of a slice to the elements that it reads, if no rank or loop splits the
 * axis. */
void check_view_slice(struct rank_check *w, op_id op, struct view *x);
/* Finds the interval of an axis of a view's type that the walk's rank has. cut: a slice along an axis of the
 * loop domain, with index `cut.at`; cut.axis -1: none. by: NULL, or SYMMETRY_MOST zeros that become how far
 * the interval moves on each turn. Returns false if the rank has several intervals, or if they are not
 * known. */
bool check_view_axis(struct rank_check *w, const struct view *x, type_id type, unsigned axis, struct cut cut,
                     struct part_axis *out, int64_t *by);

/* check_part.c */
/* Returns the part of a tensor that a view names, 0: not known, and sets *elements to its size, -1: not
 * known. sender: of the message that moves the part; -1: no message moves it. */
spread_id check_part_find(struct rank_check *w, value_id v, int64_t sender, int64_t *elements);
/* Counts the elements of the part that check_part_find finds; -1: not known. */
static inline int64_t check_part_elements(struct rank_check *w, value_id v)
{
	int64_t elements;
	check_part_find(w, v, -1, &elements);
	return elements;
}
/* Finds the part that all members of a team must name: the same one on each. 0: not known. */
spread_id check_part_on_team(struct rank_check *w, value_id v, const struct membership *team);
/* Finds the part on a device for which the walk's rank stands. 0: not known. */
spread_id check_part_at(struct rank_check *w, value_id v, uint32_t device);
/* Returns the first axis along which parts of two tensors of equal extents differ; -1: none. */
int check_part_differs(const struct spreads *s, spread_id a, spread_id b);

/* check_order.c */
/* Finds the order in memory of the axes of a view that have several elements here. 0: it is not known. */
spread_id check_order_find(struct rank_check *w, value_id v);
/* Returns true if the orders are those of tensors with equal extents, and differ. */
bool check_order_differs(const struct spreads *s, spread_id a, spread_id b);
/* Appends `elements by axes (1, 0) in memory`. */
void check_order_put(const struct spreads *s, spread_id order, struct buf *out);

/* check_symmetric.c */
void symmetric_view(struct rank_check *w, op_id op);
void symmetric_free(struct rank_check *w, op_id op, value_id v);
/* Notes that op cuts a symmetric view x by an index, its scalar operand. axis: the logical axis of the
 * buffer, -1: not known. type and leaf: the axis of a type's loop domain, leaf -1: none. type 0: op is a
 * select. */
void symmetric_cut(struct rank_check *w, op_id op, struct view *x, int axis, type_id type, int logical,
                   int leaf);
/* Notes that ranks which do not take the branches around an access touch nothing through x. */
void symmetric_leave_out(struct rank_check *w, op_id op, struct view *x);
/* Returns true if some rank takes another branch of an IF than a rank on which the condition has the value
 * `holds`. */
bool symmetric_divides(struct rank_check *w, op_id op, bool holds);
/* Returns true if a slice's index is the same on all ranks and in all of their iterations. */
bool symmetric_is_alike(const struct rank_check *w, op_id op);
/* Returns true if two accesses may touch one element on two ranks. who: one device for each. */
bool symmetric_meets(struct rank_check *w, const struct view *a, const struct view *b, uint32_t *who);
/* Returns true if, for every rank with this clock, a step of a thread is over on all ranks that a view
 * shows. */
bool symmetric_is_over(const struct rank_check *w, uint32_t symmetric, const struct clock *clock,
                       uint32_t thread, uint32_t step);
/* Returns a view of a buffer that is not freed; 0: there is none. */
uint32_t symmetric_of(const struct rank_check *w, uint32_t storage);
void symmetric_free_all(struct rank_check *w);

/* access.c */
/* Checks and records the accesses of one statement, in step `step` of a thread with clock `clock`. */
void access_all(struct rank_check *w, op_id op, struct access *list, unsigned n, const struct clock *clock,
                uint32_t thread, uint32_t step);
void access_free(struct rank_check *w, op_id op, value_id v);
/* Ends the accesses of a rank: checks the caller's accesses after the program, and reports buffers that are
 * never deallocated. */
void access_end(struct rank_check *w);

/* written.c */
void written_add(struct rank_check *w, const struct access *a);
void written_clear(struct storage *x);
void written_free(struct storage *x);
void written_check(struct rank_check *w, op_id op, const struct access *a);
/* Notes an output with an element that is not written when the program ends. */
void written_end(struct rank_check *w, uint32_t storage);

/* transfer.c */
void transfer_collective(struct rank_check *w, const struct step *s);
/* Handles a message that the walk has reached and a post will issue. */
void transfer_prepare(struct rank_check *w, const struct step *s);
/* Handles a message of a tensor that the rank does not hold. */
void transfer_absent(struct rank_check *w, const struct step *s);
void transfer_message(struct rank_check *w, const struct step *s);
void transfer_end_group(struct rank_check *w, const struct step *s);
void transfer_wait(struct rank_check *w, const struct step *s);
void transfer_end(struct rank_check *w);
void transfer_free_all(struct rank_check *w);

/* blocks.c */
/* Adds a member to those that have arrived. Returns true if all have one size or one list. *arrived: in, the
 * last member before; out, this one. */
bool blocks_are_alike(struct rank_check *w, op_id op, const struct membership *me,
                      const struct check_moved *moved, uint32_t *arrived);
/* Compares the blocks of the member that arrived last with those of the others. Returns false after reporting
 * a difference. where: the name of the meeting. */
bool blocks_agree(struct rank_check *w, const struct membership *me, uint32_t arrived, const char *where);

/* check_handles.c */
void handles_share(struct rank_check *w, op_id op);
void handles_use(struct rank_check *w, op_id transfer); /* called when a transfer is issued */

/* match.c: the statements that a rank issues. Each function returns the progress_node at which all ranks that
 * issue the statement meet. */
uint32_t match_fence(struct rank_check *w, op_id op, const struct membership *me, value_id value);
/* The parts of the tensors that members of a collective give and take; 0: not known, or not comparable. */
struct match_parts {
	spread_id given, taken;
	uint32_t giver; /* device that gives `given` */
};
uint32_t match_collective(struct rank_check *w, op_id op, const struct membership *me, int64_t root,
                          const struct check_moved *moved, const struct match_parts *parts);
/* team: of a CollectivePermute; 0 for sends and receives. */
uint32_t match_message(struct rank_check *w, team_id team, bool send, const struct message *x);
/* Counts the announcement of a transfer with a peer. */
void match_handles(struct rank_check *w, op_id op, bool send, int64_t peer);
/* Checks that all members of each channel issued the same number of statements. Returns false after reporting
 * a missing statement or a difference. */
bool match_end(struct checker *c);

/* progress.c */
/* Adds the meeting of the ranks that start the communication of op. It comes after the meeting `before`, 0:
 * none. */
uint32_t progress_meeting(struct checker *c, op_id op, uint32_t before);
/* Notes that a statement is issued to the current stream. */
void progress_issue(struct rank_check *w);
/* Notes that the current stream starts a Communication. */
void progress_start(struct rank_check *w, op_id op, uint32_t meeting);
/* Notes that the current stream continues after a meeting. */
void progress_stand(struct rank_check *w, uint32_t meeting);
void progress_wait(struct rank_check *w, op_id op, const struct transfer *t);
/* Notes that the current stream continues after the work of the stream that op synchronizes with. */
void progress_join(struct rank_check *w, op_id op, uint32_t stream);
/* Reports a deadlock. Call it only if all issued statements have their counterparts. */
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
/* Reports a race. op 0: the program's caller. thread: of the later access; CHECK_NONE: the caller. */
void report_race(struct rank_check *w, const struct storage *storage, op_id op, enum access_kind kind,
                 uint32_t thread, const struct record *before);
/* Reports a race on one buffer between two ranks, one or both of which use a symmetric view. who: the devices
 * of `before` and of op. */
void report_race_of_ranks(struct rank_check *w, const struct storage *storage, op_id op,
                          const struct access *a, uint32_t thread, const struct record *before,
                          const uint32_t *who);
/* Reports a race of two accesses of one statement. */
void report_race_with_itself(struct rank_check *w, const struct storage *storage, op_id op,
                             const struct access *a, const struct access *b, const uint32_t *who);
/* Reports a use of a buffer that the op `freed` deallocated. */
void report_freed(struct rank_check *w, value_id v, op_id freed, uint32_t freed_iteration, op_id op,
                  enum access_kind kind);
/* Reports that a buffer is freed while other ranks see it. */
void report_shown(struct rank_check *w, const struct symmetric *s, op_id op);
/* Reports a read of elements that nothing has written. index: of one of them; NULL: not known. */
void report_unwritten(struct rank_check *w, op_id op, value_id v, const int64_t *index);
void report_incomplete(struct checker *c, const struct incomplete *x);
void report_leak(struct rank_check *w, value_id v, op_id made);
/* Reports a transfer of v whose memory is not the announced memory. */
void report_handle(struct rank_check *w, op_id transfer, value_id v, const struct announced *a);
/* Reports a wait or post for a statement that the rank has not reached or has already waited for. */
void report_not_started(struct rank_check *w, op_id by, op_id named);
void report_not_waited(struct rank_check *w, const struct transfer *t);

/* report_deadlock.c: reports a circle. Each node comes after the next one, the last one after the first. */
void report_deadlock(struct checker *c, const struct circle *circle, enum progress_level level);

#endif
