/* signals: the handlers of a process of ranks that crashes or is told to end.
 *
 *     thread, mpi   SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTERM, SIGINT: prints where all ranks of this host
 *                   stand, once for all of them; then the signal has its usual effect
 *     fork          SIGTERM, SIGINT: tells the launcher, which prints it; it sees crashes by itself
 *
 * Signals that are ignored, or that something else than the default waits for (a sanitizer, MPI's traces of
 * a stack), keep that: the former handler runs after the table. */
#ifndef HIRC_RT_SIGNALS_H
#define HIRC_RT_SIGNALS_H
#include "rt/board.h"

/* In a process of one rank, or of all (rank -1). The board is there until rt_signals_end. */
void rt_signals_begin(struct rt_board *b, int rank);
void rt_signals_end(void);
/* In a rank that was forked, with the launcher's board. */
void rt_signals_forward(struct rt_board *b);
/* Returns true if SIGTERM or SIGINT is not ignored here. */
int rt_signals_heard(int signal);

#endif
