/* import: programs of other formats, by their first bytes. */
#ifndef HIRC_IMPORT_IMPORT_H
#define HIRC_IMPORT_IMPORT_H
#include "base/diag.h"
#include "ir/ir.h"

/* Whether a source is in one of the formats. */
bool import_knows(const struct source *s);
/* Its program, which keeps s; NULL after reporting. */
struct module *import_read(struct diag *d, struct source *s);

#endif
