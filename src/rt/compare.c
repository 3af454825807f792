/* compare: see compare.h.
 *
 * If hashes differ, rank 0 sends its text to all ranks piece by piece, until the first rank whose text
 * differs has found the line. */
#include "rt/compare.h"
#include "base/arena.h"
#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

enum {
	PIECE = 1000,
	BEFORE = 40, /* bytes shown before the difference in a long line */
};

struct summary {
	uint64_t hash, bytes;
};

struct piece {
	int32_t found; /* this rank has found its difference */
	char text[PIECE];
};

static struct summary summarise_text(const char *text)
{
	return (struct summary){.hash = hash_text(text), .bytes = strlen(text)};
}

static int first_other(const struct summary *all, int ranks)
{
	for (int r = 1; r < ranks; r++)
		if (all[r].hash != all[0].hash || all[r].bytes != all[0].bytes)
			return r;
	return -1;
}

static bool is_inside(char c) /* inside a character of several bytes */
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Copies a line whose byte `differs` is the first that differs; the line is cut between characters. */
static void take_line(const char *line, size_t differs, char *to)
{
	size_t from = strspn(line, " \t"), end = strcspn(line, "\n"), n = 0;
	if (differs > from + RT_LINE_BYTES / 2) {
		from = differs - BEFORE;
		while (is_inside(line[from]))
			from--;
		n = strlen(strcpy(to, "…"));
	}
	size_t room = RT_LINE_BYTES - 1 - n, most = room - strlen("…");
	bool fits = end - from <= room;
	size_t bytes = fits ? end - from : most;
	while (!fits && is_inside(line[from + bytes]))
		bytes--;
	memcpy(to + n, line + from, bytes);
	strcpy(to + n + bytes, fits ? "" : "…");
}

/* Returns true if the part of rank 0's text received so far contains the line that differs. */
static bool find_differing_line(const char *ours, const struct buf *theirs, bool whole,
                                struct rt_difference *out)
{
	size_t at = 0, start = 0;
	int64_t line = 1;
	const char *first = theirs->at ? theirs->at : "";
	for (; at < theirs->n && ours[at] == first[at]; at++)
		if (ours[at] == '\n') {
			start = at + 1;
			line++;
		}
	bool has_line = memchr(first + start, '\n', theirs->n - start) || theirs->n - at >= RT_LINE_BYTES;
	if (!whole && (at == theirs->n || !has_line))
		return false;
	out->line = line;
	take_line(ours + start, at - start, out->here);
	take_line(first + start, at - start, out->first);
	return true;
}

/* Finds the difference on rank `other`. */
static enum status look_for(struct rt_job *job, const char *what, const char *text, uint64_t bytes, int other,
                            struct rt_difference *out)
{
	struct piece mine = {0}, *all = mem_alloc(sizeof *all * (size_t)job->size);
	struct buf theirs = {0};
	enum status status = STATUS_OK;
	bool over = false;
	for (uint64_t at = 0; status == STATUS_OK && !over; at += PIECE) {
		uint64_t n = bytes - at < PIECE ? bytes - at : PIECE;
		if (job->rank == 0)
			memcpy(mine.text, text + at, n);
		status = rt_job_allgather(job, what, &mine, sizeof mine, all);
		if (status != STATUS_OK)
			break;
		buf_putn(&theirs, all[0].text, n);
		over = all[other].found || at + n == bytes;
		if (job->rank == other && !mine.found)
			mine.found = find_differing_line(text, &theirs, at + n == bytes, out);
	}
	buf_free(&theirs);
	free(all);
	return status;
}

enum status rt_job_compare(struct rt_job *job, const char *what, const char *text, struct rt_difference *out)
{
	struct summary mine = summarise_text(text), *all = mem_alloc(sizeof *all * (size_t)job->size);
	struct rt_difference own = {.rank = job->rank}, *found;
	enum status status = rt_job_allgather(job, what, &mine, sizeof mine, all);
	int other = status == STATUS_OK ? first_other(all, job->size) : -1;
	if (other < 0) {
		out->rank = -1;
		free(all);
		return status;
	}
	found = mem_alloc(sizeof *found * (size_t)job->size);
	status = look_for(job, what, text, all[0].bytes, other, &own);
	if (status == STATUS_OK)
		status = rt_job_allgather(job, what, &own, sizeof own, found);
	if (status == STATUS_OK)
		*out = found[other];
	free(found);
	free(all);
	return status;
}

void rt_difference_put(const struct rt_difference *x, struct buf *out)
{
	if (!*x->here)
		buf_printf(out, "without  %s", x->first);
	else if (!*x->first)
		buf_printf(out, "%s  as well", x->here);
	else
		buf_printf(out, "%s,  not  %s", x->here, x->first);
}
