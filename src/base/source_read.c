/* source_read: reads files as text.
 *
 * A file is read in chunks, since it may be a pipe. It is refused as soon as it
 * cannot be a program: a NUL byte ends the reading, so that an endless device
 * does not fill the memory. UTF-8 is checked once the whole text is read. All
 * later stages rely on text without NUL bytes and on valid UTF-8. */
#include "base/source_read.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	READ_CHUNK = 64 << 10,
	LARGE = 16 << 20, /* bytes of a text whose program takes hundreds of MiB */
};

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
	*out = source_take(name, text, (uint32_t)size);
	(*out)->changed = source_change(&info);
	return STATUS_OK;
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
		s = source_take(of[0]->name, text, (uint32_t)size - 2);
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
