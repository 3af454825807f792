/* cores: what the threads of this process may run on. */
#ifndef HIRC_RT_CORES_H
#define HIRC_RT_CORES_H
#include "rt/job.h"

/* Processors that it is bound to, and cores: processors of one core count once. 1 where nothing says. */
int rt_processors(void);
int rt_cores(void);
/* Warns, once a job, if that many threads of a rank share a core though the machine has more. */
void rt_cores_warn(const struct rt_job *job, int threads);

#endif
