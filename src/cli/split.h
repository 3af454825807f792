/* split: the programs of a file that holds several, between lines `# -----` or, as in
 * MLIR's tests, `// -----`. */
#ifndef HIRC_CLI_SPLIT_H
#define HIRC_CLI_SPLIT_H
#include "base/source.h"
#include "base/status.h"
#include <stdbool.h>

#define SPLIT_LINE "# -----"
#define SPLIT_SLASHES "// -----"

/* Calls one for each program, in order, with a source that it takes over; the text before a program is empty
 * lines there, so that positions stay. The worst status. */
enum status split_each(const struct source *whole, enum status (*one)(void *to, struct source *s, bool first),
                       void *to);

#endif
