/* reduce: makes a program smaller while a test of its caller still holds.
 *
 *     program of 40 statements ──candidates──> keeps()? ──> program of 3 statements
 *
 * The method is delta debugging: leave out large parts first, then halves of them, then single ones, and
 * start again until no part can be left out (reduce_search.h). Parts are statements, operands and so on if
 * the parser can read the program, and lines and words if it cannot. The search uses no random numbers and no
 * clock: the same program and test give the same result. */
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
	/* Returns true if the search must stop, with the smallest program so far. */
	bool (*stops)(void *to);
	/* Called before each group of candidates. kind: the kind of parts, such as `statements`. */
	void (*shows)(void *to, const char *kind, const struct buf *text);
	void *to;
	uint32_t candidates; /* calls of keeps; out */

	bool coarse;         /* only large parts are tried; false once none of them can be left out */
	VEC(uint64_t) tried; /* hashes of candidates */
	struct hash_table known;
};

void reduce_run(struct reduce *r);
/* Frees all but the text. */
void reduce_free(struct reduce *r);
/* Counts statements and declarations, also inside blocks; 0: the parser cannot read the text. */
uint32_t reduce_count_statements(const struct buf *text);

#endif
