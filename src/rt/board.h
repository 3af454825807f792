/* board: the statement in which each rank stands, readable by others after the rank died.
 *
 * One board a host, in memory that all ranks there share. It holds, for each rank, a store of statement
 * texts, and one line for each stream and communicator: the label of the statement it stands in, and of the
 * last ones that it has come to. Writing a line is a few relaxed atomic stores, so it is done for every
 * statement. rt_report.h prints it. */
#ifndef HIRC_RT_BOARD_H
#define HIRC_RT_BOARD_H
#include "base/str.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rt_job;

enum {
	RT_BOARD_LINES = 64,           /* lines a rank; others are not shown */
	RT_BOARD_TEXT_BYTES = 1 << 20, /* label texts a rank; later labels are 0 */
	RT_LABEL_MAX_BYTES = 240,      /* longer statements are cut, with … */
	RT_BOARD_RECENT = 4,           /* statements that a line remembers; a power of two */
};

/* A label is a statement's text with its position. 0: none. Labels live as long as the job. They
 * are made when the plan is built (host thread only), not on the hot path.
 *     rt_label_add(job, "recv(b, peer=1)", "two_streams.hir:12")                             */
uint32_t rt_label_add(struct rt_job *job, const char *statement, const char *where);

/* The statement and iteration that a task comes from; part of every task. */
struct rt_origin {
	uint32_t label;    /* rt_label_add, or 0 */
	int64_t iteration; /* of the innermost loop, or -1 */
};

enum rt_board_state { RT_LINE_IDLE, RT_LINE_RUNNING, RT_LINE_WAITING };

struct rt_board_line {
	_Atomic uint32_t name;     /* label whose statement is "stream 1", "communicator (0 1)"; 0: unused */
	_Atomic uint32_t state;    /* enum rt_board_state */
	_Atomic uint32_t label;    /* the statement it stands in */
	_Atomic uint32_t awaited;  /* a Wait: the label of the awaited statement; else 0 */
	_Atomic int64_t iteration; /* of label; -1: none */
	_Atomic int32_t peer;      /* 1 + the rank at the other end of a message; 0: none */
	_Atomic uint32_t members;  /* of a communicator: where their number and they stand in text; 0: none */
	_Atomic uint64_t begun;    /* statements that it has come to; those of one communicator compare */
	struct {
		_Atomic uint32_t label;
		_Atomic int64_t iteration;
	} recent[RT_BOARD_RECENT]; /* of them; number k stands at k % RT_BOARD_RECENT */
};

/* See rank_alive.h. */
struct rt_alive {
	_Atomic uint32_t watched; /* 1 from rt_alive_begin to rt_alive_end */
	_Atomic uint32_t lost;    /* it was found to have ended meanwhile */
	pthread_mutex_t lock;
};

struct rt_board_rank {
	struct rt_alive life;
	_Atomic int64_t progress;    /* grows with each completed task */
	_Atomic uint32_t computing;  /* kernels running now */
	_Atomic uint32_t host;       /* label of the statement the host thread waits for, or 0 */
	_Atomic int32_t receiver;    /* 1 + the rank that has to receive first; 0: none */
	_Atomic uint32_t met;        /* exchanges of all ranks that it has come to */
	_Atomic uint32_t meets;      /* 1 while it waits in one */
	_Atomic uint32_t here;       /* it is a rank of this host */
	_Atomic int32_t process;     /* of its own, or 0 */
	uint32_t last_host;          /* the one before, to use its text again; the host thread's own */
	_Atomic uint32_t text_bytes; /* used of text */
	struct rt_board_line line[RT_BOARD_LINES];
	char text[RT_BOARD_TEXT_BYTES]; /* labels: statement, NUL, where, NUL; the label is the offset */
};

struct rt_board {
	int ranks;               /* entries of rank[] */
	int first;               /* job rank of rank[0] (mpi: the own one; else 0) */
	_Atomic int status;      /* enum status that ends the job; the first one stays; 0: none */
	_Atomic int status_rank; /* the rank that set it, -1: the launcher */
	_Atomic int speaker;     /* 2 + the rank that says why the job ends; 0: none yet */
	_Atomic int reporter;    /* somebody has begun to print where all ranks stand */
	_Atomic int launcher;    /* process that is told of a failure by SIGUSR1; 0: none */
	char apart[64];          /* no rank writes to the cache line that all read the status from */
	struct rt_board_rank rank[];
};

size_t rt_board_bytes(int ranks);
/* Takes zeroed memory of rt_board_bytes. */
void rt_board_start(struct rt_board *b, int ranks, int first);

/* A rank of this host; process: 0 if it is a thread. */
void rt_board_join(struct rt_board *b, int rank, int process);
/* Ranks of this host. */
int rt_board_seen(const struct rt_board *b);
/* NULL: it is not on this host. */
const struct rt_board_rank *rt_board_find(const struct rt_board *b, int rank);
/* The two strings of a label, one behind the other; NULL if there is none (yet). */
const char *rt_board_text(const struct rt_board_rank *r, uint32_t label);

/* A free line of this rank, named; -1 when all are used (setting line -1 does nothing). */
int rt_board_line_new(struct rt_job *job, const char *name);
void rt_board_line_free(struct rt_job *job, int line);
/* Names the members of the communicator that a line is of. */
void rt_board_line_members(struct rt_job *job, int line, const int *rank, int n);
void rt_board_set(struct rt_job *job, int line, enum rt_board_state state, struct rt_origin at,
                  uint32_t awaited);
/* The line itself, NULL for -1, and setting that. */
struct rt_board_line *rt_board_line_at(struct rt_job *job, int line);
static inline void rt_board_line_set(struct rt_board_line *l, enum rt_board_state state, struct rt_origin at,
                                     uint32_t awaited)
{
	if (!l)
		return;
	atomic_store_explicit(&l->label, at.label, memory_order_relaxed);
	atomic_store_explicit(&l->iteration, at.iteration, memory_order_relaxed);
	atomic_store_explicit(&l->awaited, awaited, memory_order_relaxed);
	atomic_store_explicit(&l->state, state, memory_order_relaxed);
}

/* Sets a line to a statement that it has come to, and remembers the statement. One thread writes a line. */
static inline void rt_board_line_begin(struct rt_board_line *l, enum rt_board_state state,
                                       struct rt_origin at, uint32_t awaited)
{
	if (!l)
		return;
	uint64_t n = atomic_load_explicit(&l->begun, memory_order_relaxed);
	unsigned k = (unsigned)n % RT_BOARD_RECENT;
	atomic_store_explicit(&l->recent[k].label, at.label, memory_order_relaxed);
	atomic_store_explicit(&l->recent[k].iteration, at.iteration, memory_order_relaxed);
	atomic_store_explicit(&l->begun, n + 1, memory_order_relaxed);
	rt_board_line_set(l, state, at, awaited);
}

/* "recv(b, peer=1)  (two_streams.hir:12)", or "" for label 0 or a rank without board. */
void rt_board_label(const struct rt_board *b, int rank, uint32_t label, struct buf *out);

#endif
