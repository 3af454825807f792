/* signals: handlers for a process of ranks that crashes or is told to end.
 *
 *     thread, mpi   SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTERM, SIGINT, SIGHUP: prints where all ranks of
 *                   this host are, once for all of them; then the signal has its usual effect
 *     fork          SIGTERM, SIGINT, SIGHUP: tells the launcher, which prints it; the launcher sees crashes by
 *                   itself
 *
 * Ignored signals remain ignored. If there is a handler already (of a sanitizer, or MPI's stack traces),
 * it runs after the table is printed. */
#ifndef HIRC_RT_SIGNALS_H
#define HIRC_RT_SIGNALS_H
#include "rt/board.h"
#include <signal.h>

/* For a process of one rank, or of all ranks (rank -1). The board must exist until rt_signals_end. */
void rt_signals_begin(struct rt_board *b, int rank);
void rt_signals_end(void);
/* For a rank that was forked, with the launcher's board. */
void rt_signals_forward(struct rt_board *b);
/* Adds SIGTERM, SIGINT and SIGHUP, which tell a process to end, except those that are ignored here. */
void rt_signals_add_ends(sigset_t *out);
/* Returns a signal of the set that tells a process to end; 0: it has none. */
int rt_signals_find_end(const sigset_t *set);

#endif
