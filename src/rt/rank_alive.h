/* rank_alive: tests, without a system call, if the processes of ranks are still alive.
 *
 * Each rank of a host holds a lock in memory that all see. The system releases a lock of this kind when
 * its owner ends in any way. A rank that waits looks at the locks of the others. */
#ifndef HIRC_RT_LIFE_H
#define HIRC_RT_LIFE_H
#include "rt/job.h"

/* Locks the mutex of this rank, from a thread that runs as long as the process. Returns false after a
 * message. */
bool rt_alive_begin(struct rt_job *job);
void rt_alive_end(struct rt_job *job);
/* Returns a rank whose process has ended in between; -1: none has. */
int rt_alive_lost(struct rt_board *b);

#endif
