/* import: programs of other formats, by their first bytes. */
#ifndef HIRC_IMPORT_IMPORT_H
#define HIRC_IMPORT_IMPORT_H
#include "base/diag.h"
#include "ir/ir.h"

/* Whether a source is in one of the formats. */
bool import_knows(const struct source *s);
/* Whether what begins so is in one that is no text. */
bool import_knows_bytes(const char *data, size_t n);
/* Its program, which keeps s; NULL after reporting. */
struct module *import_read(struct diag *d, struct source *s);
/* The same; groups are `NAME:N`, of which the source does not say the size. */
struct module *import_read_groups(struct diag *d, struct source *s, const char *const *group,
                                  uint32_t group_n);

#endif
