/* spelling: prints names, strings and numbers in the concise surface. */
#ifndef HIRC_IR_SPELLING_H
#define HIRC_IR_SPELLING_H
#include "base/str.h"

/* Prints a name, in backquotes if it is a keyword or no identifier. */
void spelling_put_name(struct buf *out, const char *name);
/* Prints the key or value of an attribute; keywords need no backquotes there. */
void spelling_put_attr_name(struct buf *out, const char *name);
/* Prints "text" with escapes. */
void spelling_put_string(struct buf *out, const char *text);
/* Prints the shortest decimal number that reads back as v, always with a point or exponent. */
void spelling_put_double(struct buf *out, double v);

#endif
