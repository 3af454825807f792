/* find: the tests that files and folders name. */
#ifndef HIRC_GOLDEN_FIND_H
#define HIRC_GOLDEN_FIND_H
#include "base/diag.h"
#include "base/vec.h"

struct golden_paths {
	VEC(char *) at; /* owned */
};

/* A file is a test; of a folder all files that begin as tests do, those of folders in it too, in the order of
 * their names. Names that begin with a dot and links to folders are left out. False after reporting. */
bool golden_find(struct diag *d, const char *path, struct golden_paths *out);
void golden_paths_free(struct golden_paths *p);

#endif
