/* file: files that are written whole or not at all.
 *
 * hirc writes to `PATH.PID.tmp` beside the file, and renames it once it is complete: readers never see half a
 * file, and a full disk leaves the old one. A link is followed, and stays one. A device, a pipe or another
 * file that is not regular is written to directly, and so are the names in /dev and /proc, but not in
 * /dev/shm: they are files that are already open. */
#ifndef HIRC_BASE_FILE_H
#define HIRC_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct file_part {
	const void *at;
	size_t n;
};

/* Writes the parts as a file. False: errno says why. */
bool file_replace(const char *path, const struct file_part *part, unsigned n);
/* Returns true if file_replace could begin; changes no file. False: errno says why. */
bool file_try_replace(const char *path);
/* Returns true if both names are of one regular file; of files that do not exist yet, if the names are
 * equal. */
bool file_same(const char *a, const char *b);

/* A file that is written piece by piece. */
struct file_writer {
	FILE *to;          /* NULL: none was begun, or it is over */
	char *path, *side; /* owned; side NULL: `to` is the file itself */
};

/* False: errno says why; nothing to end then. */
bool file_begin(struct file_writer *w, const char *path);
/* Puts the file in its place, if `ok` and all of it could be written; otherwise the old file stays.
 * False: errno says why it could not. Nothing if none was begun. */
bool file_end(struct file_writer *w, bool ok);

#endif
