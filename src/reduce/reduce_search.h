/* reduce_search: the search for the chunks of a text that can go, or be replaced.
 *
 *     chunks  1 2 3 4 5 6 7 8
 *     tried   [             ] [     ] [     ] [ ] [ ] [ ] … 1 2 3 …
 *
 * A chunk is one or more edits that are made together: a statement and its users. */
#ifndef HIRC_REDUCE_REDUCE_SEARCH_H
#define HIRC_REDUCE_REDUCE_SEARCH_H
#include "reduce/reduce.h"

struct reduce_edit {
	uint32_t at, end; /* bytes of the text that are replaced */
	uint32_t chunk;
	const char *text; /* in their place; "" leaves them out; of the arena */
};

struct reduce_chunks {
	VEC(struct reduce_edit) edit;
	uint32_t n;        /* chunks; edits that follow are of number n - 1 */
	bool alternatives; /* edits at one place exclude each other: each chunk is tried alone, and the first
	                    * that is kept stays */
	struct arena *arena; /* owned by the caller */
};

static inline void reduce_chunk_begin(struct reduce_chunks *c)
{
	c->n++;
}
void reduce_edit_add(struct reduce_chunks *c, uint32_t at, uint32_t end, const char *text);
/* Tries all chunks, the last first, and leaves r->text as small as they make it. Returns true if it changed.
 * An edit within another one that is made is left out. */
bool reduce_search(struct reduce *r, struct reduce_chunks *c);

#endif
