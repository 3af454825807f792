/* source: the text of one input and the positions in it.
 *
 * Positions are byte offsets. The line map is built once, on first use. */
#ifndef HIRC_BASE_SOURCE_H
#define HIRC_BASE_SOURCE_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SOURCE_MAX_BYTES = 1 << 30, /* larger files are refused */
};

struct diag;

struct source {
	char *name;           /* as printed in messages: path, or <stdin> */
	char *text;           /* size bytes, then one NUL */
	uint32_t size;        /* bytes */
	uint32_t *line_start; /* offset of each line's first byte; NULL until needed */
	uint32_t line_count;
};

/* Reads a file ("-": standard input). Failures are reported to d: not found, a directory, too
 * large, or no text (holds a NUL byte or invalid UTF-8: named with its offset). */
enum status source_read(struct diag *d, const char *path, struct source **out);
/* Reads a file as source_read does; a file that begins as `accepts` says may hold any bytes. */
enum status source_read_bytes(struct diag *d, const char *path, bool (*accepts)(const char *data, size_t n),
                              struct source **out);
/* Copies text; name is its name in messages. */
struct source *source_from_text(const char *name, const char *text, uint32_t size);
void source_free(struct source *s);

/* Bytes of the UTF-8 sequence at text, of which n > 0 bytes are there; 0: invalid. */
unsigned source_utf8_length(const char *text, size_t n);

/* Line and column of an offset, both from 1; columns count bytes. */
void source_position(struct source *s, uint32_t offset, uint32_t *line, uint32_t *column);

#endif
