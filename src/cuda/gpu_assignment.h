/* gpu_assignment: where ranks are, and which transport that leaves them.
 *
 *     nccl      a GPU for each rank, on any hosts
 *     peers     ranks that are threads of one process, all on one GPU
 *     cuda-ipc  ranks that are processes of one host, whose GPUs can open each other's memory */
#ifndef HIRC_CUDA_GPU_ASSIGNMENT_H
#define HIRC_CUDA_GPU_ASSIGNMENT_H
#include "cuda/cuda.h"

/* The GPU of this rank: the local rank modulo those that are visible. STATUS_ABSENT with a message where
 * there is none. Sets c->ordinal and c->device; *sharers: ranks that have this GPU. */
enum status cuda_gpu_take(struct cuda *c, int *sharers);
/* Checks that the ranks can use a transport, and sets *kind where it is auto; symmetric: ranks are to have a
 * heap. Collective. On failure the message has the reason and the way out. */
enum status cuda_transport_choose(struct cuda *c, enum transport_kind *kind, bool symmetric);

#endif
