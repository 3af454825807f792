/* define: reads the value of -D. */
#ifndef HIRC_CLI_DEFINE_H
#define HIRC_CLI_DEFINE_H
#include "parse/sema.h"

/* Reads `name=value`. The caller frees the name; the value points into the text. False after a message. */
bool define_read(const char *text, struct sema_define *out);

#endif
