/* cuda_compile: compiles sources to cubins and keeps these.
 *
 * A cubin is found by the hash of its source, architecture and NVRTC's version. It is searched in the
 * process, then in $XDG_CACHE_HOME/hirc/kernels (by default ~/.cache/hirc/kernels); if it is in neither, it
 * is compiled. With HIRC_CACHE=off no file is read or written. A file that is damaged or cannot be read is
 * ignored. */
#ifndef HIRC_CUDA_CUDA_COMPILE_H
#define HIRC_CUDA_CUDA_COMPILE_H
#include "cuda/cuda.h"

struct cuda_cubin {
	const void *at; /* valid until the process ends */
	size_t bytes;
};

/* Finds the folder of compiled kernels, and makes it if necessary. Returns false if there is none. */
bool cuda_cache_folder(struct buf *out);

/* Any thread may call it. If NVRTC refuses the source, prints a message and fails the job. */
enum status cuda_compile(struct cuda *c, const char *source, struct cuda_cubin *out);

#endif
