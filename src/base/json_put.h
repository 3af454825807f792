/* json_put: JSON, put together in a buffer. */
#ifndef HIRC_BASE_JSON_PUT_H
#define HIRC_BASE_JSON_PUT_H
#include "base/str.h"
#include <stdint.h>

/* `{"version": 1, "command": "check"`: the start of the one object that --json prints. */
void json_put_start(struct buf *out, int version, const char *command);
/* A string with its quotes; NULL: null. */
void json_put_string(struct buf *out, const char *text);
/* `"key": "text"` */
void json_put_text(struct buf *out, const char *key, const char *text);
/* `, "key": "text"`, behind another member. */
void json_put_more(struct buf *out, const char *key, const char *text);
/* `, "key": 7`, behind another member. */
void json_put_int(struct buf *out, const char *key, int64_t n);

#endif
