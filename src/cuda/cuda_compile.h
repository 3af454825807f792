/* cuda_compile: compiles sources to cubins, and keeps them.
 *
 * A cubin is found by the hash of its source, architecture and NVRTC's version: in the process, then in
 * $XDG_CACHE_HOME/hirc/kernels (else ~/.cache/hirc/kernels), else it is compiled. HIRC_CACHE=off leaves the
 * files alone. A file that cannot be read, or is damaged, is as if it were not there. */
#ifndef HIRC_CUDA_CUDA_COMPILE_H
#define HIRC_CUDA_CUDA_COMPILE_H
#include "cuda/cuda.h"

struct cuda_cubin {
	const void *at; /* as long as the process */
	size_t bytes;
};

/* Finds the folder of compiled kernels, made if it is not there; false: there is none. */
bool cuda_cache_folder(struct buf *out);

/* Any thread. Prints, and fails the job, where NVRTC refuses. */
enum status cuda_compile(struct cuda *c, const char *source, struct cuda_cubin *out);

#endif
