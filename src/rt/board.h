/* board: shows the statement that each rank is in. Others can read it even after the rank has died.
 *
 * Each host has one board, in memory that all its ranks share. For each rank it has a store of statement
 * texts, and a line for each stream and communicator: the labels of its current statement and of the
 * last ones. Writing a line takes a few relaxed atomic stores, so it is done for every statement.
 * rt_report.h prints the board. */
#ifndef HIRC_RT_BOARD_H
#define HIRC_RT_BOARD_H
#include "base/str.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rt_job;

enum {
	RT_BOARD_LINES = 64,           /* most lines of a rank; others are not shown */
	RT_BOARD_TEXT_BYTES = 1 << 20, /* bytes of a rank's label texts; later labels are 0 */
	RT_LABEL_MAX_BYTES = 240,      /* longer statements are cut, with … */
	RT_BOARD_RECENT = 4,           /* statements that a line remembers; a power of two */
};

/* A label is a statement's text with its position; 0: none. Labels are valid until the end of the job.
 * The host thread makes them when the plan is built, not during the run.
 *
 *     rt_label_add(job, "recv(b, peer=1)", "two_streams.hir:12") */
uint32_t rt_label_add(struct rt_job *job, const char *statement, const char *where);

/* The statement and iteration of a task; part of every task. */
struct rt_origin {
	uint32_t label;    /* rt_label_add, or 0 */
	int64_t iteration; /* iteration of the innermost loop, or -1 */
};

enum rt_board_state { RT_LINE_IDLE, RT_LINE_RUNNING, RT_LINE_WAITING };

struct rt_board_line {
	_Atomic uint32_t name;    /* label with the statement "stream 1" or "communicator (0 1)"; 0: unused */
	_Atomic uint32_t state;   /* enum rt_board_state */
	_Atomic uint32_t label;   /* label of the current statement */
	_Atomic uint32_t awaited; /* in a Wait: label of the awaited statement; otherwise 0 */
	_Atomic int64_t iteration; /* iteration of the statement; -1: none */
	_Atomic int32_t peer;      /* rank at the other end of a message + 1; 0: none */
	_Atomic uint32_t
	    members; /* communicator: offset in text of the number of members and the members; 0: none */
	_Atomic uint64_t begun; /* number of statements reached; comparable between ranks of a communicator */
	struct {
		_Atomic uint32_t label;
		_Atomic int64_t iteration;
	} recent[RT_BOARD_RECENT]; /* the last of these; number k is at k % RT_BOARD_RECENT */
};

/* See rank_alive.h. */
struct rt_alive {
	_Atomic uint32_t watched; /* 1 from rt_alive_begin to rt_alive_end */
	_Atomic uint32_t lost;    /* the rank was found to have ended in between */
	pthread_mutex_t lock;
};

struct rt_board_rank {
	struct rt_alive life;
	_Atomic int64_t progress;    /* incremented with each completed task */
	_Atomic uint32_t computing;  /* number of kernels running now */
	_Atomic uint32_t host;       /* label of the statement the host thread waits for, or 0 */
	_Atomic int32_t receiver;    /* rank that has to receive first + 1; 0: none */
	_Atomic uint32_t met;        /* number of exchanges of all ranks that it has reached */
	_Atomic uint32_t meets;      /* 1 while it waits in an exchange */
	_Atomic uint32_t here;       /* the rank is on this host */
	_Atomic int32_t process;     /* process of the rank, or 0 if it is a thread */
	uint32_t last_host;          /* previous label of the host thread, to use its text again */
	_Atomic uint32_t text_bytes; /* bytes of text in use */
	struct rt_board_line line[RT_BOARD_LINES];
	char text[RT_BOARD_TEXT_BYTES]; /* labels: statement, NUL, where, NUL; a label is an offset */
};

struct rt_board {
	int ranks;               /* length of rank[] */
	int first;               /* job rank of rank[0] (mpi: this rank; otherwise 0) */
	_Atomic int status;      /* enum status that ends the job, set once; 0: none */
	_Atomic int status_rank; /* the rank that set it; -1: the launcher */
	_Atomic int speaker;     /* 2 + the rank that prints why the job ends; 0: none yet */
	_Atomic int reporter;    /* some rank has begun to print the report */
	_Atomic int launcher;    /* process that gets SIGUSR1 after a failure; 0: none */
	char apart[64];          /* keeps the status in a cache line that no rank writes to */
	struct rt_board_rank rank[];
};

size_t rt_board_bytes(int ranks);
/* Initialises zeroed memory of rt_board_bytes. */
void rt_board_start(struct rt_board *b, int ranks, int first);

/* Adds a rank of this host; process: 0 if it is a thread. */
void rt_board_join(struct rt_board *b, int rank, int process);
/* Returns the number of ranks of this host. */
int rt_board_seen(const struct rt_board *b);
/* Returns NULL if the rank is not on this host. */
const struct rt_board_rank *rt_board_find(const struct rt_board *b, int rank);
/* Returns the two strings of a label, one after the other; NULL if there is no such label (yet). */
const char *rt_board_text(const struct rt_board_rank *r, uint32_t label);

/* Takes and names a free line of this rank. Returns -1 if all are used; setting line -1 does nothing. */
int rt_board_line_new(struct rt_job *job, const char *name);
void rt_board_line_free(struct rt_job *job, int line);
/* Sets the members of the communicator of a line. */
void rt_board_line_members(struct rt_job *job, int line, const int *rank, int n);
void rt_board_set(struct rt_job *job, int line, enum rt_board_state state, struct rt_origin at,
                  uint32_t awaited);
/* Return a line (NULL for -1), and set a line. */
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

/* Sets a line to a statement that it has reached, and remembers the statement. Only one thread may write
 * a line. */
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

/* Appends "recv(b, peer=1)  (two_streams.hir:12)", or "" for label 0 or a rank without board. */
void rt_board_label(const struct rt_board *b, int rank, uint32_t label, struct buf *out);

#endif
