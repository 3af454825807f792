/* report_rows: first matches lines as if the numbers of all nameless things were equal; then separates
 * matches in which a number stands for another thing than before. */
#include "report/report_rows.h"
#include "base/edits.h"
#include "base/word.h"
#include <ctype.h>

enum { KINDS = 3, MOST_NUMBER = 1 << 20 };
static const char kinds[KINDS + 1] = "Tic";

/* Returns true if T3, i3 or c3 begins at `at`; sets its kind, its number and its end. */
static bool is_nameless(struct rows_line line, uint32_t at, unsigned *kind, uint32_t *number, uint32_t *end)
{
	const char *found = strchr(kinds, line.at[at]);
	uint32_t i = at + 1, sum = 0;
	if (!found || !*found || (at && word_has(line.at[at - 1])))
		return false;
	for (; i < line.n && isdigit((unsigned char)line.at[i]) && sum < MOST_NUMBER; i++)
		sum = sum * 10 + (uint32_t)(line.at[i] - '0');
	if (i == at + 1 || sum >= MOST_NUMBER || (i < line.n && word_has(line.at[i])))
		return false;
	*kind = (unsigned)(found - kinds);
	*number = sum;
	*end = i;
	return true;
}

/* Walks two lines that differ only in these numbers, and calls a function for each pair of numbers. Returns
 * false if the lines differ in something else, or if a call returned false. */
static bool walk_numbers(struct rows_line a, struct rows_line b,
                         bool (*call)(void *to, unsigned kind, uint32_t x, uint32_t y), void *to)
{
	uint32_t i = 0, j = 0;
	while (i < a.n && j < b.n) {
		unsigned kind, other;
		uint32_t x, y, end, other_end;
		if (is_nameless(a, i, &kind, &x, &end) && is_nameless(b, j, &other, &y, &other_end)) {
			if (kind != other || (call && !call(to, kind, x, y)))
				return false;
			i = end;
			j = other_end;
		} else if (a.at[i++] != b.at[j++]) {
			return false;
		}
	}
	return i == a.n && j == b.n;
}

static bool is_similar_line(void *rows, uint32_t i, uint32_t j)
{
	const struct rows *r = rows;
	struct rows_line a = r->text[0].at[i], b = r->text[1].at[j];
	return (a.n == b.n && !memcmp(a.at, b.at, a.n)) || walk_numbers(a, b, NULL, NULL);
}

struct meaning_pair {
	unsigned kind;
	uint32_t number[2]; /* by text: before, after */
};

/* For each number, the number in the other text that stands for the same thing, + 1; 0: none yet. */
struct meaning {
	VEC(uint32_t) of[2][KINDS];
	VEC(struct meaning_pair) taken; /* pairs added by the line in take_line */
};

static uint32_t *find_meaning(struct meaning *m, unsigned side, unsigned kind, uint32_t number)
{
	while (m->of[side][kind].n <= number)
		vec_push(&m->of[side][kind], 0);
	return &m->of[side][kind].at[number];
}

/* Pairs two numbers. Returns false if one of them already stands for another number. */
static bool pair_numbers(void *meaning, unsigned kind, uint32_t x, uint32_t y)
{
	struct meaning *m = meaning;
	uint32_t there = *find_meaning(m, 0, kind, x), back = *find_meaning(m, 1, kind, y);
	if (there || back)
		return there == y + 1 && back == x + 1;
	*find_meaning(m, 0, kind, x) = y + 1;
	*find_meaning(m, 1, kind, y) = x + 1;
	vec_push(&m->taken, ((struct meaning_pair){kind, {x, y}}));
	return true;
}

/* Returns true if the numbers of two lines agree with those of earlier lines and with each other. Otherwise
 * their pairs are dropped. */
static bool take_line(struct meaning *m, struct rows_line a, struct rows_line b)
{
	m->taken.n = 0;
	if (walk_numbers(a, b, pair_numbers, m))
		return true;
	for (uint32_t k = 0; k < m->taken.n; k++)
		for (unsigned side = 0; side < 2; side++)
			*find_meaning(m, side, m->taken.at[k].kind, m->taken.at[k].number[side]) = 0;
	return false;
}

static void split_lines(const struct buf *text, struct rows *r, unsigned side)
{
	const char *at = text->n ? text->at : "";
	for (const char *end = at + text->n; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		vec_push(&r->text[side], (struct rows_line){at, (uint32_t)(stop - at)});
		at = stop + 1;
	}
}

/* ---- lines that are not alike, beside one another */

struct hunk {
	const struct rows *rows;
	uint32_t from[2];
};

static struct rows_line without_blanks(struct rows_line line)
{
	while (line.n && *line.at == ' ') {
		line.at++;
		line.n--;
	}
	return line;
}

/* Returns the length of `T8: `, `output Y: ` or `T8 <- `, which name the result of a statement; 0: the line
 * has none. */
static uint32_t made_by(struct rows_line line)
{
	for (uint32_t i = 0; i + 1 < line.n && line.at[i] != '(' && line.at[i] != '='; i++)
		if ((line.at[i] == ':' && line.at[i + 1] == ' ') ||
		    (line.at[i] == '<' && line.at[i + 1] == '-'))
			return i + 2;
	return 0;
}

/* Returns true if two lines are equal except for indentation, or make the same tensor. */
static bool related(void *hunk, uint32_t i, uint32_t j)
{
	const struct hunk *h = hunk;
	struct rows_line a = without_blanks(h->rows->text[0].at[h->from[0] + i]);
	struct rows_line b = without_blanks(h->rows->text[1].at[h->from[1] + j]);
	uint32_t n = made_by(a);
	if (a.n > 1 && walk_numbers(a, b, NULL, NULL))
		return true;
	return n && n == made_by(b) && !memcmp(a.at, b.at, n);
}

/* Adds lines without a partner: removed ones beside added ones, as they come. */
static void flush(struct rows *r, uint32_t removed, uint32_t added, uint32_t i, uint32_t j)
{
	for (uint32_t k = 0; k < removed || k < added; k++)
		vec_push(&r->pair, ((struct rows_pair){.line = {k < removed ? i - removed + k : ROWS_NONE,
		                                                k < added ? j - added + k : ROWS_NONE}}));
}

/* Pairs the `removed` lines that end before i with the `added` lines that end before j. */
static void pair_up(struct rows *r, uint32_t removed, uint32_t added, uint32_t i, uint32_t j)
{
	struct hunk h = {r, {i - removed, j - added}};
	struct edits e = {0};
	uint32_t at[2] = {h.from[0], h.from[1]}, wait[2] = {0};
	edits_find(removed, added, related, &h, &e);
	for (uint32_t k = 0; k < e.kind.n; k++) {
		if (e.kind.at[k] == EDIT_KEEP) {
			flush(r, wait[0], wait[1], at[0], at[1]);
			vec_push(&r->pair, ((struct rows_pair){.line = {at[0]++, at[1]++}}));
			wait[0] = wait[1] = 0;
			continue;
		}
		at[e.kind.at[k] == EDIT_INSERT]++;
		wait[e.kind.at[k] == EDIT_INSERT]++;
	}
	flush(r, wait[0], wait[1], at[0], at[1]);
	r->removed += removed;
	r->added += added;
	edits_free(&e);
}

void rows_open(struct rows *r, const struct buf *before, const struct buf *after)
{
	struct edits e = {0};
	struct meaning m = {0};
	uint32_t i = 0, j = 0, removed = 0, added = 0;
	*r = (struct rows){0};
	split_lines(before, r, 0);
	split_lines(after, r, 1);
	edits_find(r->text[0].n, r->text[1].n, is_similar_line, r, &e);
	for (uint32_t k = 0; k < e.kind.n; k++) {
		bool keep = e.kind.at[k] == EDIT_KEEP;
		bool alike = keep && take_line(&m, r->text[0].at[i], r->text[1].at[j]);
		if (alike) {
			pair_up(r, removed, added, i, j);
			removed = added = 0;
			vec_push(&r->pair, ((struct rows_pair){.line = {i++, j++}, .alike = true}));
			continue;
		}
		bool removes = keep || e.kind.at[k] == EDIT_DELETE, adds = keep || !removes;
		i += removes;
		j += adds;
		removed += removes;
		added += adds;
	}
	pair_up(r, removed, added, i, j);
	for (unsigned side = 0; side < 2; side++)
		for (unsigned k = 0; k < KINDS; k++)
			vec_free(&m.of[side][k]);
	vec_free(&m.taken);
	edits_free(&e);
}

void rows_close(struct rows *r)
{
	vec_free(&r->text[0]);
	vec_free(&r->text[1]);
	vec_free(&r->pair);
}
