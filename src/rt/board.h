/* board: where each rank says what it is doing, readable by others after it died.
 *
 * One board a job, in memory shared by all ranks where the bootstrap has such (fork, thread; under
 * mpi each rank has its own and sees only itself). It holds, for each rank, a store of statement
 * texts, and one line for each stream and communicator: the label of the statement it stands in.
 * Writing a line is a few relaxed atomic stores, so it is done for every statement. */
#ifndef HIRC_RT_BOARD_H
#define HIRC_RT_BOARD_H
#include "base/str.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rt_job;

enum {
	RT_BOARD_LINES = 64,           /* lines a rank; what has no line is not shown */
	RT_BOARD_TEXT_BYTES = 1 << 20, /* label texts a rank; later labels are 0 */
	RT_LABEL_MAX_BYTES = 240,      /* longer statements are cut, with … */
};

/* A label is a statement's text with its position. 0: none. Labels live as long as the job. They
 * are made when the plan is built (host thread only), not on the hot path.
 *     rt_label_add(job, "recv(b, peer=1)", "two_streams.hir:12")                             */
uint32_t rt_label_add(struct rt_job *job, const char *statement, const char *where);

/* Where a task comes from; part of every task. */
struct rt_origin {
	uint32_t label;    /* rt_label_add, or 0 */
	int64_t iteration; /* of the innermost loop, or -1 */
};

enum rt_board_state { RT_LINE_IDLE, RT_LINE_RUNNING, RT_LINE_WAITING };

struct rt_board_line {
	_Atomic uint32_t name;     /* label whose statement is "stream 1", "communicator (0 1)"; 0: unused */
	_Atomic uint32_t state;    /* enum rt_board_state */
	_Atomic uint32_t label;    /* the statement it stands in */
	_Atomic uint32_t awaited;  /* a Wait: the label of what it waits for; else 0 */
	_Atomic int64_t iteration; /* of label; -1: none */
};

struct rt_board_rank {
	_Atomic int64_t progress;    /* grows with each completed task */
	_Atomic uint32_t computing;  /* kernels running now */
	_Atomic uint32_t host;       /* label of what the host thread waits for, or 0 */
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
	_Atomic int launcher;    /* process that is told of a failure by SIGUSR1; 0: none */
	char apart[64];          /* no rank writes to the cache line that all read the status from */
	struct rt_board_rank rank[];
};

size_t rt_board_bytes(int ranks);
/* Takes zeroed memory of rt_board_bytes. */
void rt_board_start(struct rt_board *b, int ranks, int first);

/* A free line of this rank, named; -1 when all are used (setting line -1 does nothing). */
int rt_board_line_new(struct rt_job *job, const char *name);
void rt_board_line_free(struct rt_job *job, int line);
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

/* Appends one line of text for each line of rank that is not idle:
 *     rank 0 stream 1: waiting in  recv(b, peer=1)  (two_streams.hir:12)
 *     rank 0 main: waiting in  wait(c)  (f.hir:9) iteration 3  for  allgather(X)  (f.hir:7)
 * and `rank 0: idle` or `rank 0: finished` when there is none. Safe while the rank runs. */
void rt_board_print(const struct rt_board *b, int rank, struct buf *out);
/* "recv(b, peer=1)  (two_streams.hir:12)", or "" for label 0 or a rank without board. */
void rt_board_label(const struct rt_board *b, int rank, uint32_t label, struct buf *out);

#endif
