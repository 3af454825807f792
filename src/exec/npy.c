/* npy: reads and writes NumPy's array files.
 *
 *     93 "NUMPY" major minor  length (2 bytes in 1.0, 4 in later versions)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   blanks, newline
 *     the elements
 *
 * The header is a Python literal with exactly these three keys. */
#include "exec/npy.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/word.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const unsigned char MAGIC[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static bool explain_npy_failure(struct buf *why, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool explain_npy_failure(struct buf *why, const char *path, const char *format, ...)
{
	va_list args;
	buf_printf(why, "'%s': ", path);
	va_start(args, format);
	buf_vprintf(why, format, args);
	va_end(args);
	return false;
}

/* Reads exactly n bytes at a place. Returns false if the file is shorter (errno 0) or on an error
 * (errno). */
static bool read_at(int fd, void *dst, size_t n, int64_t at)
{
	char *to = dst;
	while (n) {
		ssize_t got = pread(fd, to, n, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got < 0 ? errno : 0;
			return false;
		}
		to += got;
		n -= (size_t)got;
		at += got;
	}
	return true;
}

/* ---- the header's literal */

struct literal {
	const char *at; /* NUL-terminated */
};

static void skip_whitespace(struct literal *l)
{
	while (*l->at == ' ' || *l->at == '\t' || *l->at == '\n' || *l->at == '\r')
		l->at++;
}

static bool take_character(struct literal *l, char c)
{
	skip_whitespace(l);
	if (*l->at != c)
		return false;
	l->at++;
	return true;
}

static bool take_word(struct literal *l, const char *word)
{
	size_t n = strlen(word);
	skip_whitespace(l);
	if (strncmp(l->at, word, n) || word_has(l->at[n]))
		return false;
	l->at += n;
	return true;
}

static bool take_string(struct literal *l, char *out, size_t room)
{
	skip_whitespace(l);
	char quote = *l->at;
	if (quote != '\'' && quote != '"')
		return false;
	const char *end = strchr(l->at + 1, quote);
	if (!end || (size_t)(end - l->at) > room)
		return false;
	size_t n = (size_t)(end - l->at - 1);
	memcpy(out, l->at + 1, n);
	out[n] = '\0';
	l->at = end + 1;
	return true;
}

static bool take_shape(struct literal *l, struct npy *f)
{
	if (!take_character(l, '('))
		return false;
	while (!take_character(l, ')')) {
		int64_t v = 0;
		skip_whitespace(l);
		if (!isdigit((unsigned char)*l->at) || f->nd == NPY_MAX_DIMS)
			return false;
		for (; isdigit((unsigned char)*l->at); l->at++)
			if (!checked_mul(v, 10, &v) || !checked_add(v, *l->at - '0', &v))
				return false;
		if (*l->at == 'L') /* Python 2 wrote it */
			l->at++;
		f->n[f->nd++] = v;
		if (!take_character(l, ',')) {
			if (!take_character(l, ')'))
				return false;
			break;
		}
	}
	return true;
}

static bool parse_header(const char *text, struct npy *f, bool *fortran, struct buf *why)
{
	struct literal l = {text};
	unsigned seen = 0;
	static const char BROKEN[] =
	    "the header is broken: a dictionary of descr, fortran_order and shape is expected";
	if (!take_character(&l, '{'))
		return explain_npy_failure(why, f->path, BROKEN);
	while (!take_character(&l, '}')) {
		char key[20];
		unsigned which;
		if (!take_string(&l, key, sizeof key) || !take_character(&l, ':'))
			return explain_npy_failure(why, f->path, BROKEN);
		which = !strcmp(key, "descr")           ? 1
		        : !strcmp(key, "fortran_order") ? 2
		        : !strcmp(key, "shape")         ? 4
		                                        : 0;
		if (!which || seen & which)
			return explain_npy_failure(why, f->path, BROKEN);
		seen |= which;
		skip_whitespace(&l);
		if (which == 1 && *l.at == '[')
			return explain_npy_failure(
			    why, f->path, "the elements are records; a file has one field: save x['field']");
		bool ok = which == 1   ? take_string(&l, f->descr, sizeof f->descr)
		          : which == 4 ? take_shape(&l, f)
		                       : (*fortran = take_word(&l, "True")) || take_word(&l, "False");
		if (!ok)
			return explain_npy_failure(why, f->path, BROKEN);
		if (!take_character(&l, ',')) {
			if (!take_character(&l, '}'))
				return explain_npy_failure(why, f->path, BROKEN);
			break;
		}
	}
	skip_whitespace(&l);
	if (seen != 7 || *l.at)
		return explain_npy_failure(why, f->path, BROKEN);
	return true;
}

static bool parse_descr(struct npy *f, struct buf *why)
{
	const char *d = f->descr;
	char order = *d && strchr("<>|=", *d) ? *d++ : '<';
	if (!strcmp(d, "bfloat16")) {
		f->kind = 0;
		f->size = 2;
		return true;
	}
	f->kind = *d;
	f->size = *d && d[1] >= '1' && d[1] <= '9' && !d[2] ? d[1] - '0' : 0;
	if (!*d || !strchr("fiubV", *d) || !f->size)
		return explain_npy_failure(why, f->path, "elements of type '%s' are not understood",
		                           f->descr);
	if (order == '>' && f->size > 1)
		return explain_npy_failure(
		    why, f->path, "the elements are big-endian ('%s'); save x.astype('<%s')", f->descr, d);
	return true;
}

static bool check_size(struct npy *f, int64_t bytes, struct buf *why)
{
	int64_t need;
	f->count = 1;
	for (int k = 0; k < f->nd; k++)
		if (!checked_mul(f->count, f->n[k], &f->count)) {
			/* a later extent of 0 makes it empty */
			f->count = -1;
			break;
		}
	for (int k = 0; k < f->nd; k++)
		f->count = f->n[k] == 0 ? 0 : f->count;
	if (f->count < 0 || !checked_mul(f->count, f->size, &need))
		return explain_npy_failure(why, f->path, "the header's shape is too large for any machine");
	if (bytes - f->start < need)
		return explain_npy_failure(
		    why, f->path, "the file is truncated: its shape needs %lld bytes of data, it has %lld",
		    (long long)need, (long long)(bytes - f->start));
	return true;
}

static bool read_file(struct npy *f, int64_t bytes, struct buf *why)
{
	unsigned char head[12];
	bool fortran = false;
	if (bytes < 10 || !read_at(f->fd, head, 10, 0) || memcmp(head, MAGIC, sizeof MAGIC))
		return explain_npy_failure(why, f->path, "this is no .npy file");
	if (head[6] < 1 || head[6] > 3)
		return explain_npy_failure(why, f->path, "format %d.%d is not understood (1.0 to 3.0 are)",
		                           head[6], head[7]);
	bool wide = head[6] > 1;
	if (wide && !read_at(f->fd, head, 12, 0))
		return explain_npy_failure(why, f->path, "the file is truncated in its header");
	int64_t length =
	    head[8] | head[9] << 8 | (wide ? (int64_t)head[10] << 16 | (int64_t)head[11] << 24 : 0);
	f->start = (wide ? 12 : 10) + length;
	if (length > NPY_MAX_HEADER)
		return explain_npy_failure(why, f->path, "the header is longer than %d bytes",
		                           NPY_MAX_HEADER);
	if (f->start > bytes)
		return explain_npy_failure(why, f->path, "the file is truncated in its header");
	char *text = mem_zalloc((size_t)length + 1);
	bool ok = read_at(f->fd, text, (size_t)length, f->start - length);
	if (!ok)
		explain_npy_failure(why, f->path, "the header cannot be read");
	else if (strlen(text) != (size_t)length)
		ok = explain_npy_failure(why, f->path, "the header is broken: it holds a NUL byte");
	ok = ok && parse_header(text, f, &fortran, why) && parse_descr(f, why);
	free(text);
	if (!ok)
		return false;
	if (fortran && f->nd > 1)
		return explain_npy_failure(why, f->path,
		                           "the array is in Fortran order; save np.ascontiguousarray(x)");
	return check_size(f, bytes, why);
}

bool npy_open(const char *path, struct npy *out, struct buf *why)
{
	return npy_open_file(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path, out, why);
}

bool npy_open_file(int fd, const char *path, struct npy *out, struct buf *why)
{
	struct npy f = {.fd = fd};
	struct stat st;
	int error = errno;
	bool ok = false;
	f.path = mem_strdup(path);
	errno = error;
	if (f.fd < 0 || fstat(f.fd, &st) < 0)
		explain_npy_failure(why, path, "cannot be opened: %s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		explain_npy_failure(why, path, "this is no regular file");
	else
		ok = read_file(&f, st.st_size, why);
	if (!ok) {
		npy_close(&f);
		return false;
	}
	*out = f;
	return true;
}

void npy_close(struct npy *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	f->path = NULL;
	f->fd = -1;
}

bool npy_read(const struct npy *f, int64_t first, int64_t count, void *dst, struct buf *why)
{
	if (read_at(f->fd, dst, (size_t)(count * f->size), f->start + first * f->size))
		return true;
	return explain_npy_failure(why, f->path, "cannot be read: %s",
	                           errno ? strerror(errno) : "it was cut since it was opened");
}

/* ---- dtypes */

static const struct {
	char kind;
	const char *descr, *numpy;
} dtype_format[DTYPE_COUNT] = {
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, numpy_kind, numpy_descr, numpy, torch)  \
	[DTYPE_##id] = {numpy_kind, numpy_descr, numpy},
#include "base/dtypes.def"
#undef DTYPE
};

static void shape_text(int nd, const int64_t *n, struct buf *out)
{
	buf_putc(out, '(');
	for (int k = 0; k < nd; k++)
		buf_printf(out, k ? ", %lld" : "%lld", (long long)n[k]);
	buf_puts(out, nd == 1 ? ",)" : ")");
}

bool npy_fits(const struct npy *f, enum dtype t, int nd, const int64_t *n, struct buf *why)
{
	bool same = f->size == (int)dtype_bytes(t) && f->kind == dtype_format[t].kind;
	same |= t == DTYPE_BF16 && !f->kind;
	same |= t == DTYPE_F8E5M2 && f->kind == 'f' && f->size == 1;
	if (!same)
		return explain_npy_failure(why, f->path,
		                           "its elements are '%s', %s is needed; save x.astype(%s)", f->descr,
		                           dtype_name(t), dtype_format[t].numpy);
	if (f->nd == nd && !memcmp(f->n, n, sizeof *n * (size_t)nd))
		return true;
	buf_printf(why, "'%s': its shape is ", f->path);
	shape_text(f->nd, f->n, why);
	buf_puts(why, ", ");
	shape_text(nd, n, why);
	buf_puts(why, " is needed");
	return false;
}

/* ---- writing */

bool npy_write(const char *path, enum dtype t, int nd, const int64_t *n, const void *data, struct buf *why)
{
	struct buf head = {0};
	size_t bytes = dtype_bytes(t);
	for (int k = 0; k < nd; k++)
		bytes *= (size_t)n[k];
	buf_printf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': ", dtype_format[t].descr);
	shape_text(nd, n, &head);
	buf_puts(&head, ", }");
	buf_pad(&head, ' ', (unsigned)(63 - (head.n + 10) % 64));
	buf_putc(&head, '\n');
	unsigned char start[10] = {0};
	memcpy(start, MAGIC, sizeof MAGIC);
	start[6] = 1;
	start[8] = head.n & 0xff, start[9] = head.n >> 8 & 0xff;
	struct file_part parts[] = {{start, sizeof start}, {head.at, head.n}, {data, bytes}};
	bool ok = file_replace(path, parts, sizeof parts / sizeof *parts);
	if (!ok)
		explain_npy_failure(why, path, "cannot be written: %s", strerror(errno));
	buf_free(&head);
	return ok;
}
