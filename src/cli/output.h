/* output: standard output, of which a failure is noticed. */
#ifndef HIRC_CLI_OUTPUT_H
#define HIRC_CLI_OUTPUT_H
#include <stdbool.h>

/* Writes out what was printed to stdout. False if that, or a print before, failed: says so once and drops
 * what is left. A pipe that nobody reads any more is no news. */
bool output_flush(void);

#endif
