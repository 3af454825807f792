/* file: files that are written whole or not at all. */
#ifndef HIRC_BASE_FILE_H
#define HIRC_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>

struct file_part {
	const void *at;
	size_t n;
};

/* Writes the parts to a file beside `path` and renames it: readers never see half a file, and a full disk
 * leaves the old one. What is no regular file, such as a device, pipe or link, is written to as it is.
 * False: errno says why. */
bool file_replace(const char *path, const struct file_part *part, unsigned n);
/* Whether that could begin, without a change to what is there. False: errno says why. */
bool file_try_replace(const char *path);

#endif
