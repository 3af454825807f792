/* npy: NumPy's array files, format 1.0 to 3.0, C order, little-endian.
 *
 * bf16 is stored as two raw bytes (descr '<V2', as ml_dtypes writes it), the 8-bit floats as one ('<V1',
 * '<f1'). Reading goes through pread, so that one open file serves several ranks. */
#ifndef HIRC_EXEC_NPY_H
#define HIRC_EXEC_NPY_H
#include "base/str.h"
#include "rt/convert.h"

enum { NPY_MAX_DIMS = 32, NPY_MAX_HEADER = 1 << 16 };

struct npy {
	char *path; /* owned */
	int fd;
	char kind; /* of the descr: f i u b V, or 0 for the name bfloat16 */
	int size;  /* bytes of an element */
	char descr[24];
	int nd;
	int64_t n[NPY_MAX_DIMS];
	int64_t count; /* elements */
	int64_t start; /* byte of the first */
};

/* Opens a file and reads its header. On failure why holds the reason and, if there is one, the way out. */
bool npy_open(const char *path, struct npy *out, struct buf *why);
/* Reads the header of an open file as npy_open does, and takes the file over; fd -1: open failed, with errno.
 * path is the name in messages. */
bool npy_open_file(int fd, const char *path, struct npy *out, struct buf *why);
/* Returns true if the file's elements are of type t and its shape is n[nd]. */
bool npy_fits(const struct npy *f, enum dtype t, int nd, const int64_t *n, struct buf *why);
/* Elements [first, first + count) into dst. Safe for several threads. False: why. */
bool npy_read(const struct npy *f, int64_t first, int64_t count, void *dst, struct buf *why);
void npy_close(struct npy *f);

/* Writes count elements of type t in the shape n[nd]; the file appears whole or not at all. */
bool npy_write(const char *path, enum dtype t, int nd, const int64_t *n, const void *data, struct buf *why);

#endif
