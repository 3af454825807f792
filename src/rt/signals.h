/* signals: handlers for a process of ranks that crashes or is told to end.
 *
 *     thread, mpi   SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTERM, SIGINT: prints where all ranks of this
 *                   host are, once for all of them; then the signal has its usual effect
 *     fork          SIGTERM, SIGINT: tells the launcher, which prints it; the launcher sees crashes by
 *                   itself
 *
 * Ignored signals remain ignored. If there is a handler already (of a sanitizer, or MPI's stack traces),
 * it runs after the table is printed. */
#ifndef HIRC_RT_SIGNALS_H
#define HIRC_RT_SIGNALS_H
#include "rt/board.h"

/* For a process of one rank, or of all ranks (rank -1). The board must exist until rt_signals_end. */
void rt_signals_begin(struct rt_board *b, int rank);
void rt_signals_end(void);
/* For a rank that was forked, with the launcher's board. */
void rt_signals_forward(struct rt_board *b);
/* Returns true if SIGTERM or SIGINT is not ignored here. */
int rt_signals_heard(int signal);

#endif
