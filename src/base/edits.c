/* edits: Myers' algorithm finds the fewest edits. v[k] is the last line of the first text that d edits can
 * reach on diagonal k = line - other line; the v of every d is kept to go back. If two texts need more than
 * MOST_EDITS, all lines between their common beginning and end count as different. */
#include "base/edits.h"

enum { MOST_EDITS = 1500 }; /* all v take 9 MB */

struct pair {
	bool (*same)(void *to, uint32_t i, uint32_t j);
	void *to;
};

struct trace {
	VEC(int32_t) far; /* v for 0, 1, 2, … edits, of 1, 3, 5, … numbers */
};

/* Returns v for d edits; the index is the diagonal, -d … d. */
static int32_t *row(struct trace *t, int32_t d)
{
	return t->far.at + (size_t)d * (size_t)d + d;
}

/* Returns true if the last of d edits on diagonal k inserts a line. v: for d - 1 edits. */
static bool inserts(const int32_t *v, int32_t d, int32_t k)
{
	return k == -d || (k != d && v[k - 1] < v[k + 1]);
}

/* Stores the edits from n lines to m others, from the last to the first; d of them are not EDIT_KEEP. Returns
 * their number. */
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

static void reverse_edits(uint8_t *kind, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint8_t other = kind[i];
		kind[i] = kind[n - 1 - i];
		kind[n - 1 - i] = other;
	}
}

/* Stores in `kind`, which has room for n + m, the edits from n lines to m others, both starting at `from`.
 * Returns their number; 0: there are too many, or none are needed. */
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
	reverse_edits(kind, edits);
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
