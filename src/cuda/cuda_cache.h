/* cuda_cache: cubins on disk, for later processes.
 *
 * They are in $XDG_CACHE_HOME/hirc/kernels, by default ~/.cache/hirc/kernels. With HIRC_CACHE=off no file is
 * read or written. A file that is damaged or cannot be read is ignored. A choice among cuBLASLt's algorithms is kept in the
 * same way (gemm_timing.h), with its text in place of the cubin.
 *
 * Who may write a cubin there has this user's GPU run it. So hirc makes the folder for this user alone (mode
 * 0700), and uses none that another user owns or may write. */
#ifndef HIRC_CUDA_CUDA_CACHE_H
#define HIRC_CUDA_CUDA_CACHE_H
#include "base/str.h"
#include "rt/job.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda_cubin {
	const void *at; /* its owner frees it */
	size_t bytes;
};

/* The name of a cubin: two hashes of everything that the compiler reads. */
struct cuda_cache_key {
	uint64_t a, b;
};

/* major, minor: the compiler's version. */
struct cuda_cache_key cuda_cache_key(const char *source, size_t options, const char *const *option, int major,
                                     int minor);

/* Finds the folder of cubins, and makes it if necessary. Returns false if there is none, or if other users can
 * write it, and then appends the reason to *why. */
bool cuda_cache_folder(struct buf *out, struct buf *why);
/* On rank 0, warns of a folder that is not used because of other users. */
void cuda_cache_warn(const struct rt_job *job);

/* Reads a cubin; false: the cache does not have it. */
bool cuda_cache_read(struct cuda_cache_key key, struct cuda_cubin *out);
/* Writes a cubin. A cache that cannot be written is not an error: the next process compiles again. */
void cuda_cache_write(struct cuda_cache_key key, struct cuda_cubin cubin);

#endif
