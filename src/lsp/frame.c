/* frame: reads the available input without waiting for more, and writes messages. */
#include "lsp/frame.h"
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <strings.h>
#include <unistd.h>

enum { READ_BYTES = 64 << 10 };

/* Reads once. Returns false if there is no data, or at the end. */
static bool fill_reader(struct frame_reader *r, bool wait)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};
	if (r->ended || (!wait && poll(&p, 1, 0) <= 0))
		return false;
	if (r->from) { /* free the part that was taken */
		memmove(r->bytes.at, r->bytes.at + r->from, r->bytes.n - r->from);
		r->bytes.n -= r->from;
		r->from = 0;
	}
	ssize_t n;
	do
		n = read(r->fd, buf_reserve(&r->bytes, READ_BYTES), READ_BYTES);
	while (n < 0 && errno == EINTR);
	r->ended = n <= 0;
	r->bytes.n += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* Returns the length in a header, which may have other fields; -1: it has none. */
static long long length_of(const char *at, const char *end)
{
	static const char field[] = "content-length:";
	long long length = -1;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if ((size_t)(stop - at) > sizeof field - 1 && !strncasecmp(at, field, sizeof field - 1)) {
			long long n = 0;
			const char *c = at + sizeof field - 1;
			while (c < stop && (*c == ' ' || *c == '\t'))
				c++;
			bool digits = c < stop && isdigit((unsigned char)*c);
			for (; c < stop && isdigit((unsigned char)*c) && n <= FRAME_MAX_BODY; c++)
				n = n * 10 + (*c - '0');
			while (c < stop && isspace((unsigned char)*c))
				c++;
			if (digits && (c == stop || n > FRAME_MAX_BODY))
				length = n;
		}
		at = stop + 1;
	}
	return length;
}

enum frame_status frame_next(struct frame_reader *r, bool wait, const char **body, size_t *n)
{
	for (;;) {
		size_t have = r->bytes.n - r->from;
		const char *at = have ? r->bytes.at + r->from : "";
		const char *end = memmem(at, have, "\r\n\r\n", 4);
		if (!end && have > FRAME_MAX_HEADER) {
			r->from = r->bytes.n;
			return FRAME_BAD;
		}
		if (end) {
			size_t header = (size_t)(end - at) + 4;
			long long length = length_of(at, end);
			if (length < 0 || header > FRAME_MAX_HEADER) {
				r->from += header;
				return FRAME_BAD;
			}
			if (length > FRAME_MAX_BODY)
				return FRAME_END;
			if (have >= header + (size_t)length) {
				*body = at + header;
				*n = (size_t)length;
				r->from += header + (size_t)length;
				return FRAME_BODY;
			}
		}
		if (!fill_reader(r, wait))
			return r->ended ? FRAME_END : FRAME_NONE;
	}
}

void frame_free(struct frame_reader *r)
{
	buf_free(&r->bytes);
}

static bool write_all(int fd, const char *at, size_t n)
{
	while (n) {
		ssize_t k = write(fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

bool frame_write(int fd, const char *body, size_t n)
{
	char header[48];
	int k = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", n);
	return write_all(fd, header, (size_t)k) && write_all(fd, body, n);
}
