/* import: reads programs of other formats, which it recognises by their first bytes. */
#ifndef HIRC_IMPORT_IMPORT_H
#define HIRC_IMPORT_IMPORT_H
#include "base/diag.h"
#include "ir/ir.h"

/* Returns true if a source is in one of the formats. */
bool import_knows(const struct source *s);
/* Returns true if a file that begins with these bytes has a binary format. */
bool import_knows_bytes(const char *data, size_t n);
/* Reads the program, which keeps s. Returns NULL after reporting. */
struct module *import_read(struct diag *d, struct source *s);
/* Reads a source as import_read does. groups: a list of `NAME:N`, sizes that the source does not state. */
struct module *import_read_groups(struct diag *d, struct source *s, const char *const *group,
                                  uint32_t group_n);

#endif
