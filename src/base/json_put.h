/* json_put: appends JSON to a buffer. */
#ifndef HIRC_BASE_JSON_PUT_H
#define HIRC_BASE_JSON_PUT_H
#include "base/str.h"
#include <stdint.h>

/* Puts `{"version": 1, "command": "check"`, the start of the object that --json prints. */
void json_put_start(struct buf *out, int version, const char *command);
/* Puts a string with its quotes; NULL: puts null. */
void json_put_string(struct buf *out, const char *text);
/* Puts `"key": "text"`. */
void json_put_text(struct buf *out, const char *key, const char *text);
/* Puts `, "key": "text"`, after another member. */
void json_put_more(struct buf *out, const char *key, const char *text);
/* Puts `, "key": 7`, after another member. */
void json_put_int(struct buf *out, const char *key, int64_t n);

#endif
