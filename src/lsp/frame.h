/* frame: the messages of a byte stream, as the protocol frames them.
 *
 *     Content-Length: 42\r\n
 *     \r\n
 *     {"jsonrpc":"2.0", …}        42 bytes
 */
#ifndef HIRC_LSP_FRAME_H
#define HIRC_LSP_FRAME_H
#include "base/str.h"

enum {
	FRAME_MAX_HEADER = 8 << 10, /* bytes of all header fields */
	FRAME_MAX_BODY = 1 << 29,
};

enum frame_status {
	FRAME_BODY, /* a message */
	FRAME_NONE, /* nothing more has come yet */
	FRAME_BAD,  /* a header that says no length; it was passed over */
	FRAME_END,  /* the stream is over, or cannot be followed any more */
};

struct frame_reader {
	int fd;
	struct buf bytes; /* read, not yet taken */
	size_t from;      /* of these, where the next message begins */
	bool ended;
};

/* The next message, in place until the next call; wait: until there is one. */
enum frame_status frame_next(struct frame_reader *r, bool wait, const char **body, size_t *n);
void frame_free(struct frame_reader *r);

/* Writes a message whole; false: nobody reads any more. */
bool frame_write(int fd, const char *body, size_t n);

#endif
