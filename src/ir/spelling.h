/* spelling: names as the concise surface writes them. */
#ifndef HIRC_IR_SPELLING_H
#define HIRC_IR_SPELLING_H
#include "base/str.h"

/* The name, in backquotes where it is a keyword or no identifier. */
void spelling_put_name(struct buf *out, const char *name);
/* An attribute's key or value, where keywords are plain. */
void spelling_put_attr_name(struct buf *out, const char *name);
/* "text" with escapes. */
void spelling_put_string(struct buf *out, const char *text);
/* The shortest decimal number that reads back as v; always with a point or exponent. */
void spelling_put_double(struct buf *out, double v);

#endif
