/* reduce_search: see reduce_search.h. */
#include "reduce/reduce_search.h"
#include <stdlib.h>
#include <string.h>

enum { COARSE = 32 }; /* a coarse search tries groups of more than a 32nd of all chunks */

void reduce_edit_add(struct reduce_chunks *c, uint32_t at, uint32_t end, const char *text)
{
	struct reduce_edit e = {.at = at, .end = end, .chunk = c->n - 1, .text = text};
	vec_push(&c->edit, e);
}

static int compare_edits(const void *a, const void *b)
{
	const struct reduce_edit *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1; /* the longer one first: it contains the other */
	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Puts the text with the edits of the chunks that are on. */
static void put_candidate(const struct buf *text, const struct reduce_chunks *c, const bool *on,
                          struct buf *out)
{
	uint32_t done = 0;
	out->n = 0;
	buf_puts(out, "");
	for (uint32_t i = 0; i < c->edit.n; i++) {
		const struct reduce_edit *e = &c->edit.at[i];
		if (!on[e->chunk] || e->at < done)
			continue;
		buf_putn(out, text->at + done, e->at - done);
		buf_puts(out, e->text);
		done = e->end;
	}
	buf_putn(out, text->at + done, text->n - done);
}

/* Returns true if this text was tried before; otherwise records it. */
static bool is_known(struct reduce *r, const struct buf *text)
{
	uint64_t hash = hash_block(hash_number(0, text->n), text->at, text->n);
	struct hash_probe probe = {.hash = hash};
	for (uint32_t id; (id = hash_next(&r->known, &probe));)
		if (r->tried.at[id - 1] == hash)
			return true;
	vec_push(&r->tried, hash);
	hash_insert(&r->known, hash, r->tried.n);
	return false;
}

static bool is_kept(struct reduce *r, const struct buf *candidate)
{
	bool same = candidate->n == r->text.n && !memcmp(candidate->at, r->text.at, candidate->n);
	if (same || is_known(r, candidate))
		return false;
	r->candidates++;
	return r->keeps(r->to, candidate);
}

/* Turns on the chunks from `first` up to `end`, without `end`. If the candidate does not show the fault,
 * restores `on` and returns false. */
static bool try_range(struct reduce *r, const struct buf *base, const struct reduce_chunks *c, bool *on,
                      uint32_t first, uint32_t end)
{
	struct buf candidate = {0};
	bool *before = mem_alloc(c->n);
	memcpy(before, on, c->n);
	memset(on + first, true, end - first);
	put_candidate(base, c, on, &candidate);
	bool kept = is_kept(r, &candidate);
	if (kept) {
		struct buf old = r->text;
		r->text = candidate;
		candidate = old;
	} else {
		memcpy(on, before, c->n);
	}
	free(before);
	buf_free(&candidate);
	return kept;
}

/* Returns true if an edit of the chunk begins at an edit of a chunk that is on. Edits are sorted. */
static bool is_excluded(const struct reduce_chunks *c, const bool *on, uint32_t chunk)
{
	bool made = false, ours = false;
	for (uint32_t i = 0; i < c->edit.n; i++) {
		if (!i || c->edit.at[i].at != c->edit.at[i - 1].at)
			made = ours = false;
		made = made || on[c->edit.at[i].chunk];
		ours = ours || c->edit.at[i].chunk == chunk;
		if (made && ours)
			return true;
	}
	return false;
}

static bool is_on(const bool *on, uint32_t first, uint32_t end)
{
	return !memchr(on + first, false, end - first);
}

bool reduce_search(struct reduce *r, struct reduce_chunks *c)
{
	bool *on = mem_zalloc(c->n + 1), changed = false;
	struct buf base = {0};
	buf_putn(&base, r->text.at, r->text.n);
	if (c->edit.n)
		qsort(c->edit.at, c->edit.n, sizeof *c->edit.at, compare_edits);
	uint32_t least = r->coarse ? c->n / COARSE : 0;
	for (uint32_t size = c->alternatives ? 1 : c->n; size > least; size /= 2)
		for (uint32_t end = c->n; end && !r->stops(r->to); end -= end < size ? end : size) {
			uint32_t first = end < size ? 0 : end - size;
			if (c->alternatives && is_excluded(c, on, first))
				continue;
			if (!is_on(on, first, end) && try_range(r, &base, c, on, first, end))
				changed = true;
		}
	buf_free(&base);
	free(on);
	return changed;
}
