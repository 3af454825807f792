/* npy: NumPy's array files, format 1.0 to 3.0, C order, little-endian.
 *
 * bf16 is stored as two raw bytes (descr '<V2', as ml_dtypes writes it), and an 8-bit float as one
 * ('<V1', '<f1'). Files are read by pread, so that several ranks can share an open file. */
#ifndef HIRC_EXEC_NPY_H
#define HIRC_EXEC_NPY_H
#include "base/str.h"
#include "rt/convert.h"

enum { NPY_MAX_DIMS = 32, NPY_MAX_HEADER = 1 << 16 };

struct npy {
	char *path; /* owned */
	int fd;
	char kind; /* letter of the descr: f i u b V; 0: the name bfloat16 */
	int size;  /* bytes of an element */
	char descr[24];
	int nd;
	int64_t n[NPY_MAX_DIMS];
	int64_t count; /* number of elements */
	int64_t start; /* offset of the first element in bytes */
};

/* Opens a file and reads its header. On failure `why` has the reason and, if there is one, the way out. */
bool npy_open(const char *path, struct npy *out, struct buf *why);
/* Reads the header of an open file, as npy_open does, and owns the file from now on. fd -1: open failed
 * with errno. path: the name for messages. */
bool npy_open_file(int fd, const char *path, struct npy *out, struct buf *why);
/* Returns true if the file's elements are of type t and its shape is n[nd]. */
bool npy_fits(const struct npy *f, enum dtype t, int nd, const int64_t *n, struct buf *why);
/* Reads elements [first, first + count) into dst. Several threads may call it. Returns false with the
 * reason in `why`. */
bool npy_read(const struct npy *f, int64_t first, int64_t count, void *dst, struct buf *why);
void npy_close(struct npy *f);

/* Writes count elements of type t in the shape n[nd]. The file appears complete or not at all. */
bool npy_write(const char *path, enum dtype t, int nd, const int64_t *n, const void *data, struct buf *why);

#endif
