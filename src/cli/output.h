/* output: standard output, of which a failure is noticed.
 *
 * Either reports once that a write failed, drops the rest and returns false: `cannot write '<stdout>': No
 * space left on device`; SIGPIPE and SIGXFSZ are ignored (main.c). */
#ifndef HIRC_CLI_OUTPUT_H
#define HIRC_CLI_OUTPUT_H
#include "base/str.h"

/* Prints a text, or the rest that buf_drain has left of it, to the end. */
bool output_write(const struct buf *text);
/* Writes out the rest of printf's output; main does at the end of every command. */
bool output_flush(void);
/* A cell of CSV; NULL: an empty one. */
void output_put_csv(struct buf *out, const char *text);

#endif
