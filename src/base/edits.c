/* edits: the fewest edits are found by Myers' algorithm: v[k] is how far along the first text d edits come on
 * diagonal k = line - other line; all v are kept to go back. Texts that need more than MOST_EDITS are taken
 * for different as a whole between their common beginning and end. */
#include "base/edits.h"

enum { MOST_EDITS = 1500 }; /* 9 MB of v */

struct pair {
	bool (*same)(void *to, uint32_t i, uint32_t j);
	void *to;
};

struct trace {
	VEC(int32_t) far; /* v of 0, 1, 2, … edits: 1, 3, 5, … numbers */
};

/* v of d edits, by diagonal -d … d. */
static int32_t *row(struct trace *t, int32_t d)
{
	return t->far.at + (size_t)d * (size_t)d + d;
}

/* Returns true if the last of d edits on diagonal k inserts a line; v is that of d - 1 edits. */
static bool inserts(const int32_t *v, int32_t d, int32_t k)
{
	return k == -d || (k != d && v[k - 1] < v[k + 1]);
}

/* The edits, last one first, of n lines and m others, which take d that are not EDIT_KEEP. */
static uint32_t go_back(struct trace *t, int32_t d, int32_t n, int32_t m, uint8_t *kind)
{
	int32_t x = n, y = m;
	uint32_t count = 0;
	for (; d > 0; d--) {
		const int32_t *v = row(t, d - 1);
		bool insert = inserts(v, d, x - y);
		int32_t before = insert ? x - y + 1 : x - y - 1, start = v[before];
		for (; x > start + !insert; x--)
			kind[count++] = EDIT_KEEP;
		kind[count++] = insert ? EDIT_INSERT : EDIT_DELETE;
		x = start;
		y = start - before;
	}
	for (; x > 0; x--)
		kind[count++] = EDIT_KEEP;
	return count;
}

static void turn(uint8_t *kind, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint8_t other = kind[i];
		kind[i] = kind[n - 1 - i];
		kind[n - 1 - i] = other;
	}
}

/* The edits of n lines and m others, both from `from` on, in `kind`, which has room for n + m.
 * Returns how many; 0: too many, or none are needed. */
static uint32_t find_edits(const struct pair *pair, uint32_t from, int32_t n, int32_t m, uint8_t *kind)
{
	struct trace t = {0};
	uint32_t edits = 0;
	bool found = false;
	for (int32_t d = 0; d <= MOST_EDITS && !found; d++) {
		vec_reserve(&t.far, (d + 1) * (d + 1));
		const int32_t *before = d ? row(&t, d - 1) : NULL;
		int32_t *v = row(&t, d);
		for (int32_t k = -d; k <= d && !found; k += 2) {
			int32_t x = !d ? 0 : inserts(before, d, k) ? before[k + 1] : before[k - 1] + 1;
			while (x < n && x - k < m &&
			       pair->same(pair->to, from + (uint32_t)x, from + (uint32_t)(x - k)))
				x++;
			v[k] = x;
			found = x >= n && x - k >= m;
		}
		if (found)
			edits = go_back(&t, d, n, m, kind);
	}
	turn(kind, edits);
	vec_free(&t.far);
	return edits;
}

static void push_edits(struct edits *e, enum edit_kind kind, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		vec_push(&e->kind, (uint8_t)kind);
	e->different += kind == EDIT_KEEP ? 0 : times;
}

void edits_find(uint32_t n, uint32_t m, bool (*same)(void *to, uint32_t i, uint32_t j), void *to,
                struct edits *out)
{
	const struct pair pair = {same, to};
	uint32_t begin = 0, end = 0;
	while (begin < n && begin < m && same(to, begin, begin))
		begin++;
	while (end < n - begin && end < m - begin && same(to, n - 1 - end, m - 1 - end))
		end++;
	n -= begin + end;
	m -= begin + end;
	uint8_t *kind = mem_alloc((size_t)n + m + 1);
	push_edits(out, EDIT_KEEP, begin);
	uint32_t edits = n && m ? find_edits(&pair, begin, (int32_t)n, (int32_t)m, kind) : 0;
	for (uint32_t i = 0; i < edits; i++)
		push_edits(out, kind[i], 1);
	if (!edits) {
		push_edits(out, EDIT_DELETE, n);
		push_edits(out, EDIT_INSERT, m);
	}
	push_edits(out, EDIT_KEEP, end);
	free(kind);
}

void edits_free(struct edits *e)
{
	vec_free(&e->kind);
}
