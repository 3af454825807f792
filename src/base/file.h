/* file: writes a file completely or not at all.
 *
 * hirc writes a new file `PATH.NUMBER.tmp` beside the file, and renames it once it is complete: readers never
 * see half a file, and a full disk leaves the old file. The number is random, so nobody can put a link there
 * that hirc would follow. A symbolic link at PATH is followed and remains a link; if another user made it in
 * a folder that all may write, such as /tmp, it is an error (EACCES). A device, a pipe or another file that
 * is not regular is written directly. So are names in /dev and /proc, since they may stand for open files;
 * /dev/shm is the exception. */
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
/* Returns true if file_replace could create its file; changes no file. False: errno says why. */
bool file_try_replace(const char *path);
/* Returns true if both names mean the same regular file. If a file does not exist yet, compares the names. */
bool file_same(const char *a, const char *b);

/* A file that is written piece by piece. */
struct file_writer {
	FILE *to;          /* NULL: not begun, or ended */
	char *path, *side; /* owned. side: the temporary file; NULL: `to` is the file itself */
};

/* Begins a file. False: errno says why, and there is nothing to end. */
bool file_begin(struct file_writer *w, const char *path);
/* Replaces the old file if `ok` and everything was written; otherwise keeps the old file. False: writing
 * failed, and errno says why. Does nothing if no file was begun. */
bool file_end(struct file_writer *w, bool ok);

#endif
