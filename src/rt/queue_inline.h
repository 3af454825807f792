/* queue_inline: the structures of the engine that runs on the host thread; see queue_inline.c; for src/rt
 * only.
 */
#ifndef HIRC_RT_QUEUE_INLINE_H
#define HIRC_RT_QUEUE_INLINE_H
#include "base/vec.h"
#include "rt/queue_impl.h"

enum item_kind { ITEM_TASK, ITEM_JOIN, ITEM_WAIT, ITEM_COMM, ITEM_MARK };

struct item {
	struct item *next; /* in the queue, or of the free ones */
	enum item_kind kind;
	bool reached; /* JOIN: its mark was; WAIT: the stream has come to it */
	struct rt_origin at;
	union {
		const struct rt_task *task; /* TASK: fixed, or a struct record's */
		struct rt_ticket ticket;    /* WAIT */
		struct comm *comm;          /* COMM: may start */
		struct {                    /* MARK: lets the join at the head of stream go on */
			struct item *join;
			struct stream *stream;
		};
	};
};

/* A copy of a task. */
struct record {
	struct rt_task task;
	struct record *next; /* free ones */
};

struct stream {
	struct rt_stream base;
	struct item *head, *last; /* NULL: idle, new work runs at once */
	bool blocked;             /* the head waits for something, and it is shown on the board */
	struct stream *next;      /* ready ones, or those blocked by one ticket */
};

/* A communication. */
struct comm {
	struct rt_comm_item item;
	struct rt_request *running;
	struct comm *next;           /* in the queue of its team, or of the free ones */
	struct comm *after, *before; /* among those that run */
	bool free_to_start;          /* its stream has done its earlier work */
	int shown;                   /* a message: place on the board, -1 */
};

struct team {
	struct comm *head, *last;    /* the head, with others of its group, runs or waits for its stream */
	struct rt_board_line *board; /* NULL: none */
	int line;
	bool used; /* line and board are set */
};

struct inline_engine {
	struct rt_engine base;
	struct item *free_items;
	struct record *free_records;
	struct comm *free_comms;
	VEC(void *) made;                  /* memory of the pools */
	VEC(struct comm *) comms;          /* all that were made */
	VEC(struct team) team;             /* by id */
	struct comm running;               /* head of the ring of those under way */
	struct stream *ready, *last_ready; /* unblocked, with items */
	int streams, busy;                 /* busy: with items */
	int64_t outstanding, window;       /* items but marks, and communications that are not done */
	int64_t patience_us;
	unsigned issued; /* queued since the last poll */
};

/* Lets a stream go on: its wait is over. */
void inline_unblock(struct inline_engine *e, struct stream *s);

/* Communications: queue_inline_comm.c */

static inline bool inline_under_way(const struct inline_engine *e)
{
	return e->running.after != &e->running;
}

struct comm *inline_comm_new(struct inline_engine *e);
struct team *inline_team_of(struct inline_engine *e, int id);
/* Starts a communication that nothing is before. True: it is done, or the job has failed; false: it is under
 * way as *running. */
bool inline_at_once(struct inline_engine *e, struct rt_comm_item *item, struct rt_request **running);
/* c is the communication in flight as that. */
void inline_go_on(struct inline_engine *e, struct comm *c, struct rt_request *running);
/* The stream of c has done its earlier work: c starts, if nothing of its team is before it. */
void inline_let_start(struct inline_engine *e, struct comm *c);
/* Advances all work as far as possible, and ends finished work. */
void inline_poll(struct inline_engine *e, bool *moved);

#endif
