/* output: standard output, of which a failure is noticed.
 *
 * Either says once that a write failed, drops what is left and returns false: `cannot write '<stdout>': No
 * space left on device`; SIGPIPE and SIGXFSZ are ignored (main.c). */
#ifndef HIRC_CLI_OUTPUT_H
#define HIRC_CLI_OUTPUT_H
#include "base/str.h"

/* Prints a text, or what buf_drain has left of it, to the end. */
bool output_write(const struct buf *text);
/* Writes out what printf has left; main does at the end of every command. */
bool output_flush(void);
/* A cell of CSV; NULL: an empty one. */
void output_put_csv(struct buf *out, const char *text);

#endif
