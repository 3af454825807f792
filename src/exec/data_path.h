/* data_path: which files a program may name.
 *
 * `file("x.npy")` is a path from the folder of the program, and the file lies below that folder or one that
 * --allow-path names, links followed: so a program from somebody else cannot read other files. */
#ifndef HIRC_EXEC_DATA_PATH_H
#define HIRC_EXEC_DATA_PATH_H
#include "base/str.h"

struct data_paths {
	const char *program;        /* the program's file; NULL or "-": the current folder is its folder */
	const char *const *allowed; /* folders of --allow-path */
	unsigned allowed_n;
};

/* Opens a file that a program names, for reading. -1: why has the reason, and if --allow-path may help. */
int data_path_open(const struct data_paths *p, const char *name, struct buf *why, bool *refused);

#endif
