/* handles: open files of each rank, of the same kind and number, given to all ranks of the host. */
#ifndef HIRC_CUDA_HANDLES_H
#define HIRC_CUDA_HANDLES_H
#include "rt/job.h"
#include <stdint.h>

/* Collective among processes of one host. own: n files, which stay the caller's. all[r * n + k]: file k of
 * rank r as this process has it, the caller's to close; -1 of the own rank, and of all after a failure. */
enum status cuda_handles_exchange(struct rt_job *job, const int *own, uint32_t n, int *all);

#endif
