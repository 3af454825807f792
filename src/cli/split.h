/* split: splits a file with several programs at lines `# -----` or, as in MLIR's tests, `// -----`. */
#ifndef HIRC_CLI_SPLIT_H
#define HIRC_CLI_SPLIT_H
#include "base/source.h"
#include "base/status.h"
#include <stdbool.h>

#define SPLIT_LINE "# -----"
#define SPLIT_SLASHES "// -----"

/* Calls `one` for each program, in order, with a source that `one` owns. Empty lines replace the text before
 * the program, so that line numbers are those of the file. Returns the worst status. */
enum status split_each(const struct source *whole, enum status (*one)(void *to, struct source *s, bool first),
                       void *to);

#endif
