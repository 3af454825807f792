/* program: finds installed programs. */
#ifndef HIRC_BASE_PROGRAM_H
#define HIRC_BASE_PROGRAM_H
#include "base/str.h"
#include <stdbool.h>

/* Finds a program in the folders of PATH and stores the first match in *path. False: no folder has it. */
bool program_find(const char *name, struct buf *path);

#endif
