/* board: see board.h. */
#include "rt/board.h"
#include "rt/job.h"
#include <assert.h>
#include <string.h>

size_t rt_board_bytes(int ranks)
{
	return sizeof(struct rt_board) + (size_t)ranks * sizeof(struct rt_board_rank);
}

void rt_board_start(struct rt_board *b, int ranks, int first)
{
	b->ranks = ranks;
	b->first = first;
	for (int r = 0; r < ranks; r++)
		atomic_store_explicit(&b->rank[r].text_bytes, 1, memory_order_relaxed); /* label 0 is none */
}

static struct rt_board_rank *own(struct rt_job *job)
{
	return &job->board->rank[job->rank - job->board->first];
}

static const struct rt_board_rank *find(const struct rt_board *b, int rank)
{
	int i = rank - b->first;
	return i >= 0 && i < b->ranks ? &b->rank[i] : NULL;
}

/* Copies s up to the limit, cut between characters. Returns its length. */
static size_t put_text(char *to, const char *s)
{
	size_t n = strlen(s);
	if (n <= RT_LABEL_MAX_BYTES) {
		memcpy(to, s, n + 1);
		return n;
	}
	n = RT_LABEL_MAX_BYTES - 3;
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	memcpy(to, s, n);
	memcpy(to + n, "…", 4);
	return n + 3;
}

uint32_t rt_label_add(struct rt_job *job, const char *statement, const char *where)
{
	struct rt_board_rank *r = own(job);
	uint32_t at = atomic_load_explicit(&r->text_bytes, memory_order_relaxed);
	if (at + 2 * (RT_LABEL_MAX_BYTES + 1) > RT_BOARD_TEXT_BYTES)
		return 0;
	uint32_t end = at;
	end += (uint32_t)put_text(r->text + end, statement) + 1;
	end += (uint32_t)put_text(r->text + end, where ? where : "") + 1;
	/* Who reads a label reads text_bytes first. */
	atomic_store_explicit(&r->text_bytes, end, memory_order_release);
	return at;
}

int rt_board_line_new(struct rt_job *job, const char *name)
{
	struct rt_board_rank *r = own(job);
	for (int i = 0; i < RT_BOARD_LINES; i++) {
		if (atomic_load_explicit(&r->line[i].name, memory_order_relaxed))
			continue;
		uint32_t label = rt_label_add(job, name, NULL);
		if (!label)
			return -1;
		atomic_store_explicit(&r->line[i].iteration, -1, memory_order_relaxed);
		atomic_store_explicit(&r->line[i].name, label, memory_order_release);
		return i;
	}
	return -1;
}

void rt_board_line_free(struct rt_job *job, int line)
{
	if (line < 0)
		return;
	rt_board_set(job, line, RT_LINE_IDLE, (struct rt_origin){0}, 0);
	atomic_store_explicit(&own(job)->line[line].name, 0, memory_order_relaxed);
}

struct rt_board_line *rt_board_line_at(struct rt_job *job, int line)
{
	return line < 0 ? NULL : &own(job)->line[line];
}

void rt_board_set(struct rt_job *job, int line, enum rt_board_state state, struct rt_origin at,
                  uint32_t awaited)
{
	rt_board_line_set(rt_board_line_at(job, line), state, at, awaited);
}

/* The two strings of a label, NULL if there is none (yet). */
static const char *label_text(const struct rt_board_rank *r, uint32_t label)
{
	if (!r || label == 0 || label >= atomic_load_explicit(&r->text_bytes, memory_order_acquire))
		return NULL;
	return r->text + label;
}

static void put_label(const struct rt_board_rank *r, uint32_t label, int64_t iteration, struct buf *out)
{
	const char *text = label_text(r, label);
	if (!text)
		return;
	buf_puts(out, text);
	const char *where = text + strlen(text) + 1;
	if (*where)
		buf_printf(out, "  (%s)", where);
	if (iteration >= 0)
		buf_printf(out, " iteration %lld", (long long)iteration);
}

void rt_board_label(const struct rt_board *b, int rank, uint32_t label, struct buf *out)
{
	put_label(find(b, rank), label, -1, out);
}

void rt_board_print(const struct rt_board *b, int rank, struct buf *out)
{
	const struct rt_board_rank *r = find(b, rank);
	if (!r)
		return;
	bool any = false;
	uint32_t host = atomic_load_explicit(&r->host, memory_order_relaxed);
	for (int i = 0; i < RT_BOARD_LINES; i++) {
		const struct rt_board_line *l = &r->line[i];
		const char *name = label_text(r, atomic_load_explicit(&l->name, memory_order_relaxed));
		uint32_t state = atomic_load_explicit(&l->state, memory_order_relaxed);
		if (!name || state == RT_LINE_IDLE)
			continue;
		any = true;
		buf_printf(out, "rank %d %s: %s  ", rank, name,
		           state == RT_LINE_RUNNING ? "running" : "waiting in");
		put_label(r, atomic_load_explicit(&l->label, memory_order_relaxed),
		          atomic_load_explicit(&l->iteration, memory_order_relaxed), out);
		uint32_t awaited = atomic_load_explicit(&l->awaited, memory_order_relaxed);
		if (label_text(r, awaited)) {
			buf_puts(out, "  for  ");
			put_label(r, awaited, -1, out);
		}
		buf_putc(out, '\n');
	}
	const char *text = label_text(r, host);
	if (text && strcmp(text, "finished") == 0)
		buf_printf(out, "rank %d: finished\n", rank);
	else if (text)
		buf_printf(out, "rank %d: waiting for %s\n", rank, text);
	else if (!any)
		buf_printf(out, "rank %d: idle\n", rank);
}
