/* queue_adversary: the structures of the engine that delays work; see queue_adversary.c; for src/rt only. */
#ifndef HIRC_RT_QUEUE_ADVERSARY_H
#define HIRC_RT_QUEUE_ADVERSARY_H
#include "base/vec.h"
#include "rt/queue_impl.h"
#include "rt/rt_region.h"

struct adverse_stream;

enum adverse_kind { ADVERSE_TASK, ADVERSE_JOIN, ADVERSE_WAIT, ADVERSE_COMM };

struct adverse_item {
	struct adverse_item *next; /* of its stream */
	enum adverse_kind kind;
	enum rt_mark mark;
	uint64_t order; /* of issue */
	struct rt_origin at;
	struct rt_task copy;        /* TASK that is not fixed */
	const struct rt_task *task; /* TASK: the caller's, or copy */
	struct rt_ticket ticket;    /* WAIT */
	struct adverse_comm *comm;  /* COMM: may start */
	struct adverse_stream *of;  /* JOIN: until this has done `count` items */
	uint64_t count;
};

struct adverse_stream {
	struct rt_stream base;
	struct adverse_item *head, *last;
	uint64_t issued, done; /* items */
	uint32_t number;
	bool shown; /* the board shows that the head waits */
};

struct adverse_comm {
	struct rt_comm_item item;
	struct adverse_comm *next;  /* of its team, in the order of issue */
	struct rt_request *running; /* under way */
	char *shadow; /* owned: gets the result, which lands in `out` later; NULL: it comes there at once */
	char *out;
	uint64_t order;
	bool reached; /* its stream has done its earlier work */
	int shown;    /* a message: place on the board, -1 */
};

struct adverse_team {
	struct adverse_comm *head, *last; /* not done */
	struct rt_board_line *board;      /* NULL: none */
	int line;
	bool used; /* line and board are set */
};

/* States that ranks tell each other, in memory that all see. */
enum adverse_state { ADVERSE_GOES, ADVERSE_WAITS /* for others, and can do nothing else */, ADVERSE_IDLE };
struct adverse_rank {
	_Atomic uint32_t state; /* enum adverse_state */
	_Atomic uint32_t looks; /* how often it found that so; wraps */
	_Atomic uint32_t moves; /* how often it went on; wraps */
	_Atomic uint64_t turn;  /* of the item that it withholds for older ones; UINT64_MAX: none */
	char apart[40];
};
struct adverse_shared {
	_Atomic uint32_t awaited_done; /* the last run of which what is marked RT_MARK_AWAITED is done, on the
	                                * rank that has it */
	char apart[60];
	struct adverse_rank rank[];
};

/* Something that can be done next. */
struct adverse_choice {
	struct adverse_stream *stream; /* its head, a task */
	struct adverse_comm *comm;     /* or this may start, or its result may land */
	bool lands;
	uint64_t order, key; /* the least key goes first */
};

struct adverse_engine {
	struct rt_engine base;
	struct rt_adversary how;
	uint64_t random, salt;
	uint32_t streams; /* made */
	uint32_t run;     /* from 1 on: one more after each drain */
	uint64_t issued;
	int64_t outstanding, window;        /* items, and communications that are not done */
	VEC(struct adverse_comm *) waiting; /* reached or not, not under way */
	VEC(struct adverse_comm *) running; /* under way */
	VEC(struct adverse_comm *) arrived; /* done, but for their results, which are in their shadows */
	VEC(struct adverse_team) team;      /* by id */
	int64_t awaited;                    /* items so marked that are not done */
	bool awaited_seen;                  /* there were some */
	bool withheld;                      /* by the last look: something is held back, for other ranks */
	bool held;                          /* by the last look: something is held, for awaited work */
	uint64_t turn;                      /* see struct adverse_rank */
	struct rt_region region;
	struct adverse_shared *shared; /* region's; NULL: ranks do not see each other */
	struct adverse_shared own;     /* in its place */
	uint32_t *looks;               /* of other ranks, when this one last let something start */
	struct adverse_sweep {
		uint32_t looks, moves;
	} * sweep;     /* by rank: where adverse_nothing_moves began to watch */
	bool sweeping; /* it did, and this rank has not gone on since */
};

/* Something so marked is done: queue_adversary.c. */
void adverse_marked_done(struct adverse_engine *e, enum rt_mark mark);

/* Communications: queue_adversary_comm.c. */

struct adverse_team *adverse_team_of(struct adverse_engine *e, int id);
/* Returns true if nothing of its team is before a communication, but those of its group that are under
 * way. */
bool adverse_may_start(struct adverse_engine *e, const struct adverse_comm *c);
/* Out of e->waiting: it is under way, or done. */
void adverse_comm_start(struct adverse_engine *e, struct adverse_comm *c);
/* Its result comes to where it belongs; it is freed. */
void adverse_comm_land(struct adverse_engine *e, struct adverse_comm *c);
/* Ends the finished ones of the communications in flight; *moved is set if there were any. */
void adverse_poll(struct adverse_engine *e, bool *moved);
void adverse_comm_free(struct adverse_comm *c);

/* Results apart from where they belong: queue_adversary_land.c. */

/* Gives c, which is about to start, a shadow if it has a result. */
void adverse_shadow(struct adverse_engine *e, struct adverse_comm *c);
void adverse_land(struct adverse_engine *e, struct adverse_comm *c);

/* The choice of the next step: queue_adversary_pick.c. */

void adverse_pick_start(struct adverse_engine *e);
/* Returns true if the communications of this rank are held back for others, which can still go on. */
bool adverse_is_slow(const struct adverse_engine *e);
/* Returns true if a result does not land before all under way is done, or nothing moves on any rank. */
bool adverse_lands_last(const struct adverse_engine *e);
/* Returns true if some other rank has not waited since this one last let an item go, as far as is known. */
bool adverse_others_go(const struct adverse_engine *e);
/* Returns true if no rank has gone on while each other one looked for something to do, twice, and none
 * withholds an item that goes before `turn`. The second look began after the first was seen to be over, and
 * would have found a message under way to that rank. */
bool adverse_may_overtake(struct adverse_engine *e, uint64_t turn);
/* This rank has gone on. */
void adverse_moved(struct adverse_engine *e);
void adverse_let_go(struct adverse_engine *e);
/* Adds the choice: it becomes *best if it goes before that. */
void adverse_weigh(struct adverse_engine *e, struct adverse_choice *best, struct adverse_choice c);
/* Tells other ranks. */
void adverse_tell(struct adverse_engine *e, enum adverse_state state);

#endif
