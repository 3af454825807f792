/* cuda_compile: compiles sources to cubins and keeps these.
 *
 * A cubin is searched in the process, then in the cache on disk (cuda_cache.h). If it is in neither, NVRTC
 * makes it. */
#ifndef HIRC_CUDA_CUDA_COMPILE_H
#define HIRC_CUDA_CUDA_COMPILE_H
#include "cuda/cuda.h"
#include "cuda/cuda_cache.h"

/* Any thread may call it. If NVRTC refuses the source, prints a message and fails the job. The cubin is valid
 * until the process ends. */
enum status cuda_compile(struct cuda *c, const char *source, struct cuda_cubin *out);

#endif
