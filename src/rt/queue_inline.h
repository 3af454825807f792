/* queue_inline: the structures of the engine that runs on the host thread; see queue_inline.c; private
 * to src/rt. */
#ifndef HIRC_RT_QUEUE_INLINE_H
#define HIRC_RT_QUEUE_INLINE_H
#include "base/vec.h"
#include "rt/queue_impl.h"

enum item_kind { ITEM_TASK, ITEM_JOIN, ITEM_WAIT, ITEM_COMM, ITEM_MARK };

struct item {
	struct item *next; /* next in the queue, or next free one */
	enum item_kind kind;
	bool reached; /* JOIN: the mark was passed; WAIT: the stream has reached it */
	struct rt_origin at;
	union {
		const struct rt_task *task; /* TASK: a fixed record, or one in a struct record */
		struct rt_ticket ticket;    /* for WAIT */
		struct comm *comm;          /* COMM: may start */
		struct {                    /* MARK: lets the join at the head of stream pass */
			struct item *join;
			struct stream *stream;
		};
	};
};

/* A copy of a task. */
struct record {
	struct rt_task task;
	struct record *next; /* next free one */
};

struct stream {
	struct rt_stream base;
	struct item *head, *last; /* NULL: idle, so new work runs at once */
	bool blocked;             /* the head waits for something and is shown on the board */
	struct stream *next;      /* next ready stream, or next one blocked by the same ticket */
};

/* A communication. */
struct comm {
	struct rt_comm_item item;
	struct rt_request *running;
	struct comm *next;           /* next of its team, or next free one */
	struct comm *after, *before; /* neighbours among those in flight */
	bool free_to_start;          /* its stream has done its earlier work */
	int shown;                   /* message: its place on the board, or -1 */
};

struct team {
	struct comm *head,
	    *last; /* the head, and others of its group, are in flight or wait for their stream */
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
	VEC(struct comm *) comms;          /* all communications made */
	VEC(struct team) team;             /* by id */
	struct comm running;               /* head of the ring of those in flight */
	struct stream *ready, *last_ready; /* unblocked streams with items */
	int streams, busy;                 /* busy: number of streams with items */
	int64_t outstanding, window;       /* items without marks, plus communications that are not done */
	int64_t patience_us;
	unsigned issued; /* items queued since the last poll */
};

/* Continues a stream whose wait is over. */
void inline_unblock(struct inline_engine *e, struct stream *s);

/* Communications: queue_inline_comm.c */

static inline bool inline_under_way(const struct inline_engine *e)
{
	return e->running.after != &e->running;
}

struct comm *inline_comm_new(struct inline_engine *e);
struct team *inline_team_of(struct inline_engine *e, int id);
/* Starts a communication that has nothing before it. Returns true if it is done or the job has failed;
 * false if it is in flight as *running. */
bool inline_at_once(struct inline_engine *e, struct rt_comm_item *item, struct rt_request **running);
/* Makes c the communication that is in flight as `running`. */
void inline_go_on(struct inline_engine *e, struct comm *c, struct rt_request *running);
/* Starts c, whose stream has done its earlier work, if nothing of its team is before it. */
void inline_let_start(struct inline_engine *e, struct comm *c);
/* Advances all work as far as possible, and ends finished work. */
void inline_poll(struct inline_engine *e, bool *moved);

#endif
