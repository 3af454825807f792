/* source: reading a file as text, and the map from byte offsets to lines.
 *
 * A file is read in chunks, since it may be a pipe. It is refused as soon as it
 * cannot be a program: a NUL byte ends the reading, so that an endless device
 * does not fill the memory. UTF-8 is checked once the whole text is read. All
 * later stages rely on text without NUL bytes and on valid UTF-8. */
#include "base/source.h"
#include "base/arena.h"
#include "base/diag.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READ_CHUNK = 64 << 10,
	RELEASE_STEP = 1 << 20, /* bytes that are given back together */
	LARGE = 16 << 20,       /* bytes of a text whose program takes hundreds of MiB */
};

/* Returns the length of the UTF-8 sequence at s; n: the bytes up to the end of the text. 0: invalid. */
static unsigned utf8_length(const unsigned char *s, size_t n)
{
	if (s[0] < 0x80)
		return 1;
	unsigned length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || length > n)
		return 0;
	for (unsigned i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) /* overlong, surrogates */
		return 0;
	if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) /* overlong, > U+10FFFF */
		return 0;
	return length;
}

unsigned source_utf8_length(const char *text, size_t n)
{
	return utf8_length((const unsigned char *)text, n);
}

enum { ASCII_BLOCK = 32 };

/* Returns true if the next ASCII_BLOCK bytes are ASCII, the usual case. */
static bool is_ascii(const unsigned char *s)
{
	uint64_t w[ASCII_BLOCK / 8], all = 0;
	memcpy(w, s, sizeof w);
	for (unsigned k = 0; k < ASCII_BLOCK / 8; k++)
		all |= w[k];
	return (all & 0x8080808080808080u) == 0;
}

/* Returns the offset of the first byte that is not UTF-8; size: all bytes are. */
static size_t utf8_end(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t i = 0;
	while (i < size) {
		while (size - i >= ASCII_BLOCK && is_ascii(s + i))
			i += ASCII_BLOCK;
		if (i == size)
			break;
		unsigned length = utf8_length(s + i, size - i);
		if (!length)
			return i;
		i += length;
	}
	return size;
}

/* Reads f to its end. On success *text is NUL-terminated and belongs to the caller. *bytes is set to true if
 * `accepts` accepts the beginning of the file; `accepts` may be NULL. */
static enum status read_all(struct diag *d, FILE *f, const char *name, bool (*accepts)(const char *, size_t),
                            char **text, size_t *size, bool *bytes)
{
	size_t n = 0, cap = READ_CHUNK;
	*bytes = false;
	char *at = mem_alloc(cap + 1);
	for (;;) {
		size_t got = fread(at + n, 1, cap - n, f);
		if (!n && accepts)
			*bytes = accepts(at, got);
		const char *nul = *bytes ? NULL : memchr(at + n, '\0', got);
		if (nul) {
			diag_error(d, E_NOT_TEXT, DIAG_NOWHERE, "'%s' is not text: NUL byte at offset %zu",
			           name, (size_t)(nul - at));
			break;
		}
		n += got;
		if (n > SOURCE_MAX_BYTES) {
			diag_error(d, E_FILE_TOO_LARGE, DIAG_NOWHERE, "'%s' is too large: more than %d bytes",
			           name, SOURCE_MAX_BYTES);
			break;
		}
		if (n == cap) {
			cap *= 2;
			at = mem_realloc(at, cap + 1);
			continue;
		}
		if (ferror(f)) {
			diag_error(d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot read '%s': %s", name,
			           strerror(errno));
			break;
		}
		at[n] = '\0';
		*text = at;
		*size = n;
		return STATUS_OK;
	}
	free(at);
	return STATUS_DIAGNOSTICS;
}

static struct source *source_new(const char *name, char *text, uint32_t size)
{
	struct source *s = mem_zalloc(sizeof *s);
	s->name = mem_strdup(name);
	s->text = text;
	s->size = size;
	return s;
}

/* Returns the time of the last change of a regular file, in ns; 0 for other files. */
static int64_t change_of(const struct stat *info)
{
	return S_ISREG(info->st_mode) ? (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec
	                              : 0;
}

enum status source_read(struct diag *d, const char *path, struct source **out)
{
	return source_read_bytes(d, path, NULL, out);
}

enum status source_read_bytes(struct diag *d, const char *path, bool (*accepts)(const char *data, size_t n),
                              struct source **out)
{
	bool is_stdin = strcmp(path, "-") == 0;
	const char *name = is_stdin ? "<stdin>" : path;
	FILE *f = is_stdin ? stdin : fopen(path, "rb");
	if (!f) {
		diag_error(d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot open '%s': %s", name, strerror(errno));
		return STATUS_DIAGNOSTICS;
	}

	char *text = NULL;
	size_t size = 0;
	bool bytes = false;
	struct stat info = {0};
	enum status status = STATUS_DIAGNOSTICS;
	if (fstat(fileno(f), &info) == 0 && S_ISDIR(info.st_mode))
		diag_error(d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot read '%s': it is a directory", name);
	else
		status = read_all(d, f, name, accepts, &text, &size, &bytes);
	if (!is_stdin)
		fclose(f);
	if (status)
		return status;

	size_t end = bytes ? size : utf8_end(text, size);
	if (end < size) {
		diag_error(d, E_NOT_TEXT, DIAG_NOWHERE, "'%s' is not text: invalid UTF-8 at offset %zu", name,
		           end);
		free(text);
		return STATUS_DIAGNOSTICS;
	}
	if (size >= LARGE)
		mem_return_blocks();
	*out = source_new(name, text, (uint32_t)size);
	(*out)->changed = change_of(&info);
	return STATUS_OK;
}

struct source *source_from_text(const char *name, const char *text, uint32_t size)
{
	char *copy = mem_alloc((size_t)size + 1);
	if (size)
		memcpy(copy, text, size);
	copy[size] = '\0';
	return source_new(name, copy, size);
}

/* Between two files stand a NUL, where the reader of the first one ends, and a line end. */
struct source *source_join(struct diag *d, struct source **of, uint32_t n)
{
	size_t size = 0;
	for (uint32_t k = 0; k < n; k++)
		size += (size_t)of[k]->size + 2;
	struct source *s = NULL;
	if (size > SOURCE_MAX_BYTES) {
		diag_error(d, E_FILE_TOO_LARGE, DIAG_NOWHERE,
		           "the files are too large: more than %d bytes together", SOURCE_MAX_BYTES);
	} else {
		char *text = mem_alloc(size);
		s = source_new(of[0]->name, text, (uint32_t)size - 2);
		s->file = mem_alloc(sizeof *s->file * n);
		s->file_n = n;
		for (uint32_t k = 0, at = 0; k < n; k++, at += 2) {
			s->file[k] = (struct source_file){mem_strdup(of[k]->name), at, at + of[k]->size};
			memcpy(text + at, of[k]->text, of[k]->size);
			at += of[k]->size;
			memcpy(text + at, "\0\n", 2);
		}
	}
	for (uint32_t k = 0; k < n; k++)
		source_free(of[k]);
	return s;
}

struct source *source_copy(const struct source *s)
{
	struct source *copy = source_from_text(s->name, s->text, s->size);
	copy->file = s->file_n ? mem_alloc(sizeof *copy->file * s->file_n) : NULL;
	for (; copy->file_n < s->file_n; copy->file_n++) {
		copy->file[copy->file_n] = s->file[copy->file_n];
		copy->file[copy->file_n].name = mem_strdup(s->file[copy->file_n].name);
	}
	return copy;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	for (uint32_t k = 0; k < s->file_n; k++)
		free(s->file[k].name);
	free(s->file);
	free(s->line_start);
	free(s->text);
	free(s->name);
	free(s);
}

void source_allow_release(struct source *s)
{
	s->may_release = s->changed && !s->file;
}

/* The pages read as zeros then, so that the text keeps its place. */
void source_release(struct source *s, uint32_t to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), text = (uintptr_t)s->text;
	uintptr_t from = (text + s->released + page - 1) & ~(page - 1), end = (text + to) & ~(page - 1);
	if (!s->may_release || end <= from || (end - from < RELEASE_STEP && to < s->size))
		return;
	if (!madvise(s->text + (from - text), end - from, MADV_DONTNEED))
		s->released = (uint32_t)(end - text);
}

const char *source_text(struct source *s)
{
	struct stat info;
	if (!s->released)
		return s->text;
	FILE *f = fopen(s->name, "rb");
	bool same =
	    f && !fstat(fileno(f), &info) && change_of(&info) == s->changed && info.st_size == s->size;
	if (same && fread(s->text, 1, s->size, f) == s->size)
		s->released = 0;
	if (f)
		fclose(f);
	return s->released ? NULL : s->text;
}

/* Returns the begin of the next line; NULL: there is none. */
static const char *next_line(const char *at, const char *end)
{
	const char *mark = memchr(at, '\n', (size_t)(end - at));
	return mark ? mark + 1 : NULL;
}

static void map_lines(struct source *s)
{
	const char *end = s->text + s->size, *at;
	uint32_t count = 1;
	for (at = s->text; (at = next_line(at, end)); count++)
		;
	s->line_start = mem_alloc(sizeof *s->line_start * (size_t)count);
	s->line_start[0] = 0;
	s->line_count = 1;
	for (at = s->text; (at = next_line(at, end));)
		s->line_start[s->line_count++] = (uint32_t)(at - s->text);
}

/* Returns the file of an offset; NULL: the source is one file. */
static const struct source_file *find_file(const struct source *s, uint32_t offset)
{
	uint32_t k = 0;
	while (k + 1 < s->file_n && s->file[k + 1].at <= offset)
		k++;
	return s->file ? &s->file[k] : NULL;
}

const char *source_name(const struct source *s, uint32_t offset)
{
	const struct source_file *f = find_file(s, offset);
	return f ? f->name : s->name;
}

/* Returns the number of the line of an offset, from 0 on. */
static uint32_t find_line(const struct source *s, uint32_t offset)
{
	uint32_t low = 0, high = s->line_count; /* line_start[low] <= offset < line_start[high] */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (s->line_start[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void source_position(struct source *s, uint32_t offset, uint32_t *line, uint32_t *column)
{
	*line = *column = 0;
	if (!s->line_start && !source_text(s))
		return;
	if (!s->line_start)
		map_lines(s);
	if (offset > s->size)
		offset = s->size;
	const struct source_file *f = find_file(s, offset);
	uint32_t at = find_line(s, offset);
	*line = at - (f ? find_line(s, f->at) : 0) + 1;
	*column = offset - s->line_start[at] + 1;
}
