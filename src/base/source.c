/* source: the text of an input, and the map from byte offsets to lines. */
#include "base/source.h"
#include "base/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RELEASE_STEP = 1 << 20 }; /* bytes that are given back together */

struct source *source_take(const char *name, char *text, uint32_t size)
{
	struct source *s = mem_zalloc(sizeof *s);
	s->name = mem_strdup(name);
	s->text = text;
	s->size = size;
	return s;
}

int64_t source_change(const struct stat *info)
{
	return S_ISREG(info->st_mode) ? (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec
	                              : 0;
}

struct source *source_from_text(const char *name, const char *text, uint32_t size)
{
	char *copy = mem_alloc((size_t)size + 1);
	if (size)
		memcpy(copy, text, size);
	copy[size] = '\0';
	return source_take(name, copy, size);
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
	    f && !fstat(fileno(f), &info) && source_change(&info) == s->changed && info.st_size == s->size;
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
