/* reduce_search: the search for chunks of a text that can be left out or replaced.
 *
 *     chunks  1 2 3 4 5 6 7 8
 *     tried   [             ] [     ] [     ] [ ] [ ] [ ] … 1 2 3 …
 *
 * A chunk is one or more edits that are made together, such as those for a statement and its users. */
#ifndef HIRC_REDUCE_REDUCE_SEARCH_H
#define HIRC_REDUCE_REDUCE_SEARCH_H
#include "reduce/reduce.h"

struct reduce_edit {
	uint32_t at, end; /* bytes of the text that are replaced */
	uint32_t chunk;
	const char *text; /* the replacement; "" leaves the bytes out; in the arena */
};

struct reduce_chunks {
	VEC(struct reduce_edit) edit;
	uint32_t n;        /* number of chunks; a new edit belongs to chunk n - 1 */
	bool alternatives; /* edits at one place exclude each other: each chunk is tried alone, and the first
	                    * one that keeps the fault is used */
	struct arena *arena; /* owned by the caller */
};

static inline void reduce_chunk_begin(struct reduce_chunks *c)
{
	c->n++;
}
void reduce_edit_add(struct reduce_chunks *c, uint32_t at, uint32_t end, const char *text);
/* Tries all chunks, from the last to the first, and stores the smallest text that keeps the fault in r->text.
 * Returns true if the text changed. An edit inside another edit that is made is skipped. */
bool reduce_search(struct reduce *r, struct reduce_chunks *c);

#endif
