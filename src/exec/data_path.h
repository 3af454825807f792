/* data_path: opens the files that a program names, and refuses other files.
 *
 * `file("x.npy")` is a path relative to the folder of the program. After following links, the file must
 * be below that folder or below one given by --allow-path. So a program from somebody else cannot read
 * other files. */
#ifndef HIRC_EXEC_DATA_PATH_H
#define HIRC_EXEC_DATA_PATH_H
#include "base/str.h"

struct data_paths {
	const char *program;        /* file of the program; NULL or "-": use the current folder */
	const char *const *allowed; /* folders from --allow-path */
	unsigned allowed_n;
};

/* Opens a file that a program names for reading. Returns -1 with the reason in `why`; *refused:
 * --allow-path may help. */
int data_path_open(const struct data_paths *p, const char *name, struct buf *why, bool *refused);

#endif
