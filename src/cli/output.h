/* output: writes to standard output, and detects failures.
 *
 * A failed write is reported once, as `cannot write '<stdout>': No space left on device`, the rest of
 * the output is dropped, and false is returned. If the reader closed the pipe, as `head` does, nothing is
 * reported; stdout keeps its error until the end. SIGPIPE and SIGXFSZ are ignored (main.c). */
#ifndef HIRC_CLI_OUTPUT_H
#define HIRC_CLI_OUTPUT_H
#include "base/status.h"
#include "base/str.h"

/* Prints a text, or the rest of it after buf_drain. */
bool output_write(const struct buf *text);
/* The same for text that people read, and that is no program: escapes characters that a terminal obeys. */
bool output_write_escaped(const struct buf *text);
/* Flushes stdout; main does this at the end of every command. */
bool output_flush(void);
/* Returns the exit code. ok: the result of output_write or output_flush. */
enum status output_status(bool ok);

#endif
