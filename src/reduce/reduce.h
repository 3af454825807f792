/* reduce: makes a program smaller while a test of its caller still holds.
 *
 *     program of 40 statements ──candidates──> keeps()? ──> program of 3 statements
 *
 * The idea is delta debugging: leave out large parts first, then halves of them, then single ones, and begin
 * again until nothing more can go (reduce_search.h). Parts are those of the language where the parser can
 * read the program, and lines and words where it cannot. The search asks for no chance and no clock: the
 * same program and test give the same result. */
#ifndef HIRC_REDUCE_REDUCE_H
#define HIRC_REDUCE_REDUCE_H
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include <stdbool.h>

struct reduce {
	struct buf text; /* in: the program; then the smallest one so far; owned by the caller */
	/* Returns true if a candidate still shows the fault. */
	bool (*keeps)(void *to, const struct buf *candidate);
	/* Returns true if the search is to end, with what it has. */
	bool (*stops)(void *to);
	/* Called before each group of candidates; kind: `statements`. */
	void (*shows)(void *to, const char *kind, const struct buf *text);
	void *to;
	uint32_t candidates; /* calls of keeps; out */

	bool coarse;         /* small parts wait until no large one can go */
	VEC(uint64_t) tried; /* hashes of candidates */
	struct hash_table known;
};

void reduce_run(struct reduce *r);
/* Frees all but the text. */
void reduce_free(struct reduce *r);
/* Counts statements and declarations, those in blocks too; 0: the parser cannot read the text. */
uint32_t reduce_count_statements(const struct buf *text);

#endif
