/* output: standard output, of which a failure is noticed.
 *
 * A failed write is reported once, as `cannot write '<stdout>': No space left on device`, the rest is
 * dropped, and false returned. If the reader of a pipe has left, as `head` does, nothing is reported; stdout
 * keeps its error until the end. SIGPIPE and SIGXFSZ are ignored (main.c). */
#ifndef HIRC_CLI_OUTPUT_H
#define HIRC_CLI_OUTPUT_H
#include "base/status.h"
#include "base/str.h"

/* Prints a text, or the rest that buf_drain has left of it, to the end. */
bool output_write(const struct buf *text);
/* Writes out the rest of printf's output; main does at the end of every command. */
bool output_flush(void);
/* The exit code after output_write or output_flush returned this. */
enum status output_status(bool ok);

#endif
