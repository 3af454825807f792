/* source: the text of one input and the positions in it.
 *
 * Positions are byte offsets. The line map is built once, on first use. A source may hold several files, one
 * after the other, so that an offset tells the file, too. The text of a large file can leave the memory after it
 * is read; it comes back for the next message that has a position. */
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

struct source_file {
	char *name;
	uint32_t at, end; /* offsets of its text, and of the NUL after it */
};

struct source {
	char *name;    /* as printed in messages: path, or <stdin>; of several files, the first one's */
	char *text;    /* size bytes, then one NUL */
	uint32_t size; /* bytes */
	uint32_t *line_start; /* offset of each line's first byte; NULL: not built yet */
	uint32_t line_count;
	struct source_file *file; /* the files, if it was joined of several; NULL: one file */
	uint32_t file_n;
	bool may_release;  /* see source_allow_release */
	uint32_t released; /* bytes of the text that are not in memory, from its start; whole pages */
	int64_t changed;   /* ns: time of the last change of the file; 0: it cannot be read again */
};

/* Reads a file ("-": standard input). Reports failures to d: the file is not found, is a directory, is too
 * large, or is not text: it has a NUL byte or invalid UTF-8, whose offset is named. */
enum status source_read(struct diag *d, const char *path, struct source **out);
/* Reads a file as source_read does, but allows any bytes if `accepts` accepts the beginning of the file. */
enum status source_read_bytes(struct diag *d, const char *path, bool (*accepts)(const char *data, size_t n),
                              struct source **out);
/* Makes a source from a copy of text. name: its name in messages. */
struct source *source_from_text(const char *name, const char *text, uint32_t size);
/* Makes a source of n others, n > 0, and frees them. Reports a result that would be too large, and then returns
 * NULL. */
struct source *source_join(struct diag *d, struct source **of, uint32_t n);
struct source *source_copy(const struct source *s);
void source_free(struct source *s);

/* Allows source_release. The caller and its callees use the text for messages alone from then on, once the program
 * is read. */
void source_allow_release(struct source *s);
/* Gives back the memory of the text before an offset, if that is allowed and the file can be read again. */
void source_release(struct source *s, uint32_t to);
/* Returns the whole text; reads it again if parts are not in memory. NULL: the file has changed since. */
const char *source_text(struct source *s);

/* Returns the bytes of the UTF-8 sequence at text; n > 0: the bytes up to its end. 0: invalid. */
unsigned source_utf8_length(const char *text, size_t n);

/* Returns the name of the file of an offset. */
const char *source_name(const struct source *s, uint32_t offset);
/* Finds line and column of an offset in its file, both counted from 1; columns count bytes. Both are 0 if the text
 * is no longer there, see source_text. */
void source_position(struct source *s, uint32_t offset, uint32_t *line, uint32_t *column);

#endif
