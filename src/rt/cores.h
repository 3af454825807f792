/* cores: finds the processors on which the threads of this process may run. */
#ifndef HIRC_RT_CORES_H
#define HIRC_RT_CORES_H
#include "rt/job.h"
#include <sched.h>

/* Return the processors to which this process is bound, and their cores; processors of one core count
 * once. They return 1 if the system does not tell. */
int rt_processors(void);
int rt_cores(void);
/* Finds the processors to which this rank is bound; none if the system does not tell. */
void rt_cores_bound(cpu_set_t *out);
/* Returns true if each rank may have a processor of its own among those of rank `own`: the number of
 * ranks bound to these is at most the number of processors. bound: by rank; empty for ranks of other
 * hosts. */
bool rt_cores_suffice(const cpu_set_t *bound, int ranks, int own);
/* Warns, once a job, if that many threads of a rank share a core although the machine has more cores. */
void rt_cores_warn(const struct rt_job *job, int threads);

#endif
