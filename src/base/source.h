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

struct stat;

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

/* Makes a source of text, which belongs to it from then on and ends with a NUL. name: its name in messages. */
struct source *source_take(const char *name, char *text, uint32_t size);
/* Makes a source from a copy of text. name: its name in messages. */
struct source *source_from_text(const char *name, const char *text, uint32_t size);
struct source *source_copy(const struct source *s);
void source_free(struct source *s);

/* Returns the time of the last change of a regular file, in ns; 0 for other files. */
int64_t source_change(const struct stat *info);
/* Allows source_release. The caller and its callees use the text for messages alone from then on, once the program
 * is read. */
void source_allow_release(struct source *s);
/* Gives back the memory of the text before an offset, if that is allowed and the file can be read again. */
void source_release(struct source *s, uint32_t to);
/* Returns the whole text; reads it again if parts are not in memory. NULL: the file has changed since. */
const char *source_text(struct source *s);

/* Returns the name of the file of an offset. */
const char *source_name(const struct source *s, uint32_t offset);
/* Finds line and column of an offset in its file, both counted from 1; columns count bytes. Both are 0 if the text
 * is no longer there, see source_text. */
void source_position(struct source *s, uint32_t offset, uint32_t *line, uint32_t *column);

#endif
