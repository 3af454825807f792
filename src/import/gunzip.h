/* gunzip: unpacks a gzip file. */
#ifndef HIRC_IMPORT_GUNZIP_H
#define HIRC_IMPORT_GUNZIP_H
#include "base/diag.h"
#include "base/str.h"

bool gunzip_is(const char *data, size_t n);
/* Appends the contents. Returns false after reporting, also if hirc is built without zlib. */
bool gunzip_source(struct diag *d, const struct source *s, struct buf *out);

#endif
