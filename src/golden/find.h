/* find: finds the tests in files and folders. */
#ifndef HIRC_GOLDEN_FIND_H
#define HIRC_GOLDEN_FIND_H
#include "base/diag.h"
#include "base/vec.h"

struct golden_paths {
	VEC(char *) at; /* owned */
};

/* Adds a file as a test. For a folder, adds all files in it and below it that begin as tests do, in the order
 * of their names; skips names that begin with a dot, and links to folders. Returns false after reporting. */
bool golden_find(struct diag *d, const char *path, struct golden_paths *out);
void golden_paths_free(struct golden_paths *p);

#endif
