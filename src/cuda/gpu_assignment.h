/* gpu_assignment: finds the GPU of each rank, and the transport that the ranks can use.
 *
 *     nccl      a GPU for each rank, on any hosts
 *     peers     ranks that are threads of one process, all on one GPU
 *     cuda-ipc  ranks that are processes of one host, whose GPUs can open each other's memory */
#ifndef HIRC_CUDA_GPU_ASSIGNMENT_H
#define HIRC_CUDA_GPU_ASSIGNMENT_H
#include "cuda/cuda.h"

/* Takes the GPU of this rank: its local rank modulo the number of visible GPUs. Sets c->ordinal and
 * c->device, and the device's sharers and devices. STATUS_ABSENT with a message if there is no GPU. */
enum status cuda_gpu_take(struct cuda *c);
/* Checks that the ranks can use a transport, and chooses *kind if it is auto. symmetric: the ranks need a
 * heap. Collective. After a failure the message has the reason and the way out. */
enum status cuda_transport_choose(struct cuda *c, enum transport_kind *kind, bool symmetric);

#endif
