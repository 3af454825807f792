/* version: the version and the build features of this hirc. */
#ifndef HIRC_CLI_VERSION_H
#define HIRC_CLI_VERSION_H
#include "base/str.h"

const char *version_text(void); /* `0.1.0` */
/* Returns the names of the optional parts in this build, with blanks between them. */
const char *version_features(void);
/* Puts `hirc 0.1.0`, and on a second line `features: …`. */
void version_put(struct buf *out);

#endif
