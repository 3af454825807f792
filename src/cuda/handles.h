/* handles: gives open files of each rank, equal in kind and number, to all ranks of the host. */
#ifndef HIRC_CUDA_HANDLES_H
#define HIRC_CUDA_HANDLES_H
#include "rt/job.h"
#include <stdint.h>

/* Collective among processes of one host. own: n files, which the caller keeps. all[r * n + k]: file k of
 * rank r in this process, to be closed by the caller; -1 for the rank's own files, and for all after a
 * failure. */
enum status cuda_handles_exchange(struct rt_job *job, const int *own, uint32_t n, int *all);

#endif
