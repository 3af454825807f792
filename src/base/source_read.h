/* source_read: reads files as text. */
#ifndef HIRC_BASE_SOURCE_READ_H
#define HIRC_BASE_SOURCE_READ_H
#include "base/source.h"

enum { SOURCE_MAX_BYTES = 1 << 30 }; /* larger files are refused */

struct diag;

/* Reads a file ("-": standard input). Reports failures to d: the file is not found, is a directory, is too
 * large, or is not text: it has a NUL byte or invalid UTF-8, whose offset is named. */
enum status source_read(struct diag *d, const char *path, struct source **out);
/* Reads a file as source_read does, but allows any bytes if `accepts` accepts the beginning of the file. */
enum status source_read_bytes(struct diag *d, const char *path, bool (*accepts)(const char *data, size_t n),
                              struct source **out);
/* Makes a source of n others, n > 0, and frees them. Reports a result that would be too large, and then returns
 * NULL. */
struct source *source_join(struct diag *d, struct source **of, uint32_t n);

#endif
