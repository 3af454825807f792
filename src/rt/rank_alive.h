/* rank_alive: tests, without a system call, if the processes of ranks are still alive.
 *
 * Each rank of a host holds a lock in memory that all see, of the kind that the system gives up when its
 * owner ends, in whichever way. Who waits looks at the locks of the others. */
#ifndef HIRC_RT_LIFE_H
#define HIRC_RT_LIFE_H
#include "rt/job.h"

/* Locks the mutex of this rank, by one thread, which lives as long as the process. False with a message. */
bool rt_alive_begin(struct rt_job *job);
void rt_alive_end(struct rt_job *job);
/* A rank whose process ended in between, -1: none has. */
int rt_alive_lost(struct rt_board *b);

#endif
