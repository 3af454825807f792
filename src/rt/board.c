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
		atomic_store_explicit(&b->rank[r].text_bytes, 1,
		                      memory_order_relaxed); /* label 0 means none */
}

static struct rt_board_rank *get_own_entry(struct rt_job *job)
{
	return &job->board->rank[job->rank - job->board->first];
}

const struct rt_board_rank *rt_board_find(const struct rt_board *b, int rank)
{
	int i = rank - b->first;
	bool here = i >= 0 && i < b->ranks && atomic_load_explicit(&b->rank[i].here, memory_order_relaxed);
	return here ? &b->rank[i] : NULL;
}

void rt_board_join(struct rt_board *b, int rank, int process)
{
	struct rt_board_rank *r = &b->rank[rank - b->first];
	atomic_store_explicit(&r->process, process, memory_order_relaxed);
	atomic_store_explicit(&r->here, 1, memory_order_relaxed);
}

int rt_board_seen(const struct rt_board *b)
{
	int n = 0;
	for (int r = 0; r < b->ranks; r++)
		n += rt_board_find(b, b->first + r) != NULL;
	return n;
}

/* Copies s up to the limit, cut between characters. Returns the length. */
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
	struct rt_board_rank *r = get_own_entry(job);
	uint32_t at = atomic_load_explicit(&r->text_bytes, memory_order_relaxed);
	if (at + 2 * (RT_LABEL_MAX_BYTES + 1) > RT_BOARD_TEXT_BYTES)
		return 0;
	uint32_t end = at;
	end += (uint32_t)put_text(r->text + end, statement) + 1;
	end += (uint32_t)put_text(r->text + end, where ? where : "") + 1;
	/* stored last, with release: a reader of a label reads text_bytes first */
	atomic_store_explicit(&r->text_bytes, end, memory_order_release);
	return at;
}

int rt_board_line_new(struct rt_job *job, const char *name)
{
	struct rt_board_rank *r = get_own_entry(job);
	for (int i = 0; i < RT_BOARD_LINES; i++) {
		if (atomic_load_explicit(&r->line[i].name, memory_order_relaxed))
			continue;
		uint32_t label = rt_label_add(job, name, NULL);
		if (!label)
			return -1;
		atomic_store_explicit(&r->line[i].iteration, -1, memory_order_relaxed);
		atomic_store_explicit(&r->line[i].peer, 0, memory_order_relaxed);
		atomic_store_explicit(&r->line[i].members, 0, memory_order_relaxed);
		atomic_store_explicit(&r->line[i].begun, 0, memory_order_relaxed);
		atomic_store_explicit(&r->line[i].name, label, memory_order_release);
		return i;
	}
	return -1;
}

void rt_board_line_members(struct rt_job *job, int line, const int *rank, int n)
{
	struct rt_board_rank *r = get_own_entry(job);
	uint32_t unit = sizeof *rank, at = atomic_load_explicit(&r->text_bytes, memory_order_relaxed);
	at = (at + unit - 1) / unit * unit;
	if (line < 0 || (uint64_t)at + ((uint64_t)n + 1) * unit > RT_BOARD_TEXT_BYTES)
		return;
	memcpy(r->text + at, &n, unit);
	memcpy(r->text + at + unit, rank, (size_t)n * unit);
	atomic_store_explicit(&r->text_bytes, at + ((uint32_t)n + 1) * unit, memory_order_release);
	atomic_store_explicit(&r->line[line].members, at, memory_order_release);
}

void rt_board_line_free(struct rt_job *job, int line)
{
	if (line < 0)
		return;
	rt_board_set(job, line, RT_LINE_IDLE, (struct rt_origin){0}, 0);
	atomic_store_explicit(&get_own_entry(job)->line[line].name, 0, memory_order_relaxed);
}

struct rt_board_line *rt_board_line_at(struct rt_job *job, int line)
{
	return line < 0 ? NULL : &get_own_entry(job)->line[line];
}

void rt_board_set(struct rt_job *job, int line, enum rt_board_state state, struct rt_origin at,
                  uint32_t awaited)
{
	rt_board_line_set(rt_board_line_at(job, line), state, at, awaited);
}

const char *rt_board_text(const struct rt_board_rank *r, uint32_t label)
{
	if (!r || label == 0 || label >= atomic_load_explicit(&r->text_bytes, memory_order_acquire))
		return NULL;
	return r->text + label;
}

void rt_board_label(const struct rt_board *b, int rank, uint32_t label, struct buf *out)
{
	const char *text = rt_board_text(rt_board_find(b, rank), label);
	if (!text)
		return;
	buf_puts(out, text);
	const char *where = text + strlen(text) + 1;
	if (*where)
		buf_printf(out, "  (%s)", where);
}
