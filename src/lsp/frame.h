/* frame: splits a byte stream into messages, as the protocol frames them.
 *
 *     Content-Length: 42\r\n
 *     \r\n
 *     {"jsonrpc":"2.0", …}        42 bytes */
#ifndef HIRC_LSP_FRAME_H
#define HIRC_LSP_FRAME_H
#include "base/str.h"

enum {
	FRAME_MAX_HEADER = 8 << 10, /* bytes of all header fields */
	FRAME_MAX_BODY = 1 << 29,
};

enum frame_status {
	FRAME_BODY, /* a message */
	FRAME_NONE, /* no further message has arrived */
	FRAME_BAD,  /* a header without a length; it was skipped */
	FRAME_END,  /* the stream has ended, or its frames cannot be found any more */
};

struct frame_reader {
	int fd;
	struct buf bytes; /* read, not yet taken */
	size_t from;      /* where the next message begins in `bytes` */
	bool ended;
};

/* Returns the next message, valid until the next call. wait: wait until there is one. */
enum frame_status frame_next(struct frame_reader *r, bool wait, const char **body, size_t *n);
void frame_free(struct frame_reader *r);

/* Writes a whole message. Returns false if nobody reads any more. */
bool frame_write(int fd, const char *body, size_t n);

#endif
