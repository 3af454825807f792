/* gunzip: see gunzip.h. */
#include "import/gunzip.h"
#include "base/source_read.h"
#ifdef HIRC_HAVE_ZLIB
#include <zlib.h>
#endif

bool gunzip_is(const char *data, size_t n)
{
	return n > 2 && data[0] == '\x1f' && data[1] == '\x8b';
}

#ifdef HIRC_HAVE_ZLIB
enum { ROOM = 1 << 16 };

static bool inflate_source(struct diag *d, const struct source *s, z_stream *z, struct buf *out)
{
	for (;;) {
		char *to = buf_reserve(out, ROOM);
		z->next_out = (Bytef *)to;
		z->avail_out = ROOM;
		int code = inflate(z, Z_NO_FLUSH);
		out->n += ROOM - z->avail_out;
		if (code != Z_OK && code != Z_STREAM_END) {
			diag_error(d, E_COMPRESSED, DIAG_NOWHERE,
			           "'%s', byte %lu: this does not decompress: %s", s->name, z->total_in,
			           code == Z_BUF_ERROR ? "it is cut off"
			           : z->msg            ? z->msg
			                               : "it is damaged");
			return false;
		}
		if (out->n > SOURCE_MAX_BYTES) {
			diag_error(d, E_FILE_TOO_LARGE, DIAG_NOWHERE, "'%s' is too large: more than %d bytes",
			           s->name, SOURCE_MAX_BYTES);
			return false;
		}
		if (code == Z_STREAM_END && (!z->avail_in || inflateReset(z) != Z_OK))
			return true;
	}
}

bool gunzip_source(struct diag *d, const struct source *s, struct buf *out)
{
	z_stream z = {.next_in = (Bytef *)s->text, .avail_in = s->size};
	if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
		diag_error(d, E_COMPRESSED, DIAG_NOWHERE, "'%s' cannot be decompressed: no memory", s->name);
		return false;
	}
	bool ok = inflate_source(d, s, &z, out);
	inflateEnd(&z);
	return ok;
}
#else
bool gunzip_source(struct diag *d, const struct source *s, struct buf *out)
{
	(void)out;
	diag_error(d, E_WITHOUT_LIBRARY, DIAG_NOWHERE, "'%s' is compressed, and hirc is built without zlib",
	           s->name);
	diag_note(d, DIAG_NOWHERE, "decompress it first, as by `gzip -dc`");
	return false;
}
#endif
