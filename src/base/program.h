/* program: programs of this machine. */
#ifndef HIRC_BASE_PROGRAM_H
#define HIRC_BASE_PROGRAM_H
#include "base/str.h"
#include <stdbool.h>

/* Finds a program in the folders of PATH: *path becomes where the first one is. False: none has it. */
bool program_find(const char *name, struct buf *path);

#endif
