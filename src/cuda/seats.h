/* seats: where ranks are, and which transport that leaves them.
 *
 *     nccl      a GPU for each rank, on any hosts
 *     peers     ranks that are threads of one process, all on one GPU
 *     cuda-ipc  ranks that are processes of one host, whose GPUs can open each other's memory */
#ifndef HIRC_CUDA_SEATS_H
#define HIRC_CUDA_SEATS_H
#include "cuda/cuda.h"

/* The GPU of this rank: the local rank modulo those that are visible. STATUS_ABSENT with a message where
 * there is none. Sets c->ordinal and c->device; *sharers: ranks that have this GPU. */
enum status cuda_seat_take(struct cuda *c, int *sharers);
/* The transport of that name, which may be "auto"; symmetric: ranks are to have a heap. Collective. NULL
 * after a message that says what keeps the ranks from using it, and which way out there is; *status is how
 * the job ends then. */
const char *cuda_seats_choose(struct cuda *c, const char *name, bool symmetric, enum status *status);

#endif
