/* cores: the processors on which the threads of this process may run. */
#ifndef HIRC_RT_CORES_H
#define HIRC_RT_CORES_H
#include "rt/job.h"
#include <sched.h>

/* Processors that it is bound to, and cores: processors of one core count once. 1 where nothing says. */
int rt_processors(void);
int rt_cores(void);
/* The processors that this rank is bound to. None where nothing says. */
void rt_cores_bound(cpu_set_t *out);
/* Returns true if each rank may have a processor of its own among those of rank `own`: no more ranks are
 * bound within them than they are. bound: of each rank; empty for those of other hosts. */
bool rt_cores_suffice(const cpu_set_t *bound, int ranks, int own);
/* Warns, once a job, if that many threads of a rank share a core though the machine has more. */
void rt_cores_warn(const struct rt_job *job, int threads);

#endif
