/* queue_adversary: the structures of the engine that delays work; see queue_adversary.c; private to
 * src/rt. */
#ifndef HIRC_RT_QUEUE_ADVERSARY_H
#define HIRC_RT_QUEUE_ADVERSARY_H
#include "base/vec.h"
#include "rt/queue_impl.h"
#include "rt/rt_region.h"

struct adverse_stream;

enum adverse_kind { ADVERSE_TASK, ADVERSE_JOIN, ADVERSE_WAIT, ADVERSE_COMM };

struct adverse_item {
	struct adverse_item *next; /* next of its stream */
	enum adverse_kind kind;
	enum rt_mark mark;
	uint64_t order; /* number in the order of issue */
	struct rt_origin at;
	struct rt_task copy;        /* TASK that is not fixed */
	const struct rt_task *task; /* TASK: the caller's record, or `copy` */
	struct rt_ticket ticket;    /* for WAIT */
	struct adverse_comm *comm;  /* COMM: may start */
	struct adverse_stream *of;  /* JOIN: wait until this has executed `count` items */
	uint64_t count;
};

struct adverse_stream {
	struct rt_stream base;
	struct adverse_item *head, *last;
	uint64_t issued, done; /* numbers of items */
	uint32_t number;
	bool shown; /* the board shows the wait at the head */
};

struct adverse_comm {
	struct rt_comm_item item;
	struct adverse_comm *next;  /* next of its team, in the order of issue */
	struct rt_request *running; /* in flight */
	char *shadow; /* owned: receives the result, which is copied to `out` later; NULL: no shadow */
	char *out;
	uint64_t order;
	bool reached; /* its stream has done its earlier work */
	int shown;    /* message: its place on the board, or -1 */
};

struct adverse_team {
	struct adverse_comm *head, *last; /* communications that are not done */
	struct rt_board_line *board;      /* NULL: none */
	int line;
	bool used; /* line and board are set */
};

/* States that ranks publish in memory that all see. */
enum adverse_state {
	ADVERSE_GOES,
	ADVERSE_WAITS /* it waits for others and can do nothing else */,
	ADVERSE_IDLE
};
struct adverse_rank {
	_Atomic uint32_t state; /* enum adverse_state */
	_Atomic uint32_t looks; /* number of looks that found this state; wraps */
	_Atomic uint32_t moves; /* number of steps made; wraps */
	_Atomic uint64_t turn;  /* turn of the item that it withholds for older ones; UINT64_MAX: none */
	char apart[40];
};
struct adverse_shared {
	_Atomic uint32_t awaited_done; /* the last run whose awaited items are all done on this rank */
	char apart[60];
	struct adverse_rank rank[];
};

/* A possible next step. */
struct adverse_choice {
	struct adverse_stream *stream; /* the task at its head */
	struct adverse_comm *comm;     /* or this communication may start, or its result may be delivered */
	bool lands;
	uint64_t order, key; /* the least key goes first */
};

struct adverse_engine {
	struct rt_engine base;
	struct rt_adversary how;
	uint64_t random, salt;
	uint32_t streams; /* number of streams made */
	uint32_t run;     /* from 1 on; incremented by each drain */
	uint64_t issued;
	int64_t outstanding, window;        /* items, and communications that are not done */
	VEC(struct adverse_comm *) waiting; /* not in flight, whether reached or not */
	VEC(struct adverse_comm *) running; /* in flight */
	VEC(struct adverse_comm *) arrived; /* done, with their results still in shadows */
	VEC(struct adverse_team) team;      /* by id */
	int64_t awaited;                    /* items marked awaited that are not done */
	bool awaited_seen;                  /* there were some */
	bool withheld;                      /* at the last look, something was withheld for other ranks */
	bool held;                          /* at the last look, something was held for awaited work */
	uint64_t turn;                      /* see struct adverse_rank */
	struct rt_region region;
	struct adverse_shared *shared; /* in a shared region; NULL: ranks cannot see each other */
	struct adverse_shared own;     /* used without shared memory */
	uint32_t *looks;               /* looks of other ranks when this rank last let something start */
	struct adverse_sweep {
		uint32_t looks, moves;
	} * sweep;     /* by rank: counts when adverse_nothing_moves began to watch */
	bool sweeping; /* it watches, and this rank has made no step since */
};

/* Tells that an item with this mark is done: queue_adversary.c. */
void adverse_marked_done(struct adverse_engine *e, enum rt_mark mark);

/* Communications: queue_adversary_comm.c. */

struct adverse_team *adverse_team_of(struct adverse_engine *e, int id);
/* Returns true if no earlier communication of its team is left, except those of its group that are in
 * flight. */
bool adverse_may_start(struct adverse_engine *e, const struct adverse_comm *c);
/* Removes it from e->waiting: it is in flight or done. */
void adverse_comm_start(struct adverse_engine *e, struct adverse_comm *c);
/* Copies the result to its place, and frees the communication. */
void adverse_comm_land(struct adverse_engine *e, struct adverse_comm *c);
/* Ends the communications in flight that have finished; *moved is set if there were any. */
void adverse_poll(struct adverse_engine *e, bool *moved);
void adverse_comm_free(struct adverse_comm *c);

/* Results apart from where they belong: queue_adversary_land.c. */

/* Gives c, which is about to start, a shadow if it has a result. */
void adverse_shadow(struct adverse_engine *e, struct adverse_comm *c);
void adverse_land(struct adverse_engine *e, struct adverse_comm *c);

/* The choice of the next step: queue_adversary_pick.c. */

void adverse_pick_start(struct adverse_engine *e);
/* Returns true if this rank's communications are withheld for others that can still continue. */
bool adverse_is_slow(const struct adverse_engine *e);
/* Returns true if results are delivered only after everything in flight is done, or when nothing moves
 * on any rank. */
bool adverse_lands_last(const struct adverse_engine *e);
/* Returns true if, as far as is known, some other rank has not waited since this rank last let an item
 * go. */
bool adverse_others_go(const struct adverse_engine *e);
/* Returns true if, while each other rank looked for something to do twice, no rank made a step, and none
 * withholds an item before `turn`. The second look began after the first was seen to be over, so it
 * would have found a message in flight to that rank. */
bool adverse_may_overtake(struct adverse_engine *e, uint64_t turn);
/* Tells that this rank has made a step. */
void adverse_moved(struct adverse_engine *e);
void adverse_let_go(struct adverse_engine *e);
/* Considers a choice: it replaces *best if it goes before it. */
void adverse_weigh(struct adverse_engine *e, struct adverse_choice *best, struct adverse_choice c);
/* Publishes the state to other ranks. */
void adverse_tell(struct adverse_engine *e, enum adverse_state state);

#endif
