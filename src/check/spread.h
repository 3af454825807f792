/* spread: the part of an axis that each rank of a slice touches, when all issue the same statement.
 *
 *     S: f32[8@x] on 4 ranks                       own blocks       [0, 2) [2, 4) [4, 6) [6, 8)
 *     G = symmetric_view(S)                        all of G         all, all, all, all
 *     g = shard_by_stream(G, (axis_index(x)+1)%4)  the next block   [2, 4) [4, 6) [6, 8) [0, 2)
 *
 * Two spreads a and b meet when one rank's part of a overlaps another rank's part of b. Spreads are interned:
 * equal ones have equal ids. */
#ifndef HIRC_CHECK_SPREAD_H
#define HIRC_CHECK_SPREAD_H
#include "base/hash.h"
#include "base/vec.h"
#include <stdbool.h>

typedef uint32_t spread_id; /* 0: none */

struct span { /* lo <= index < hi */
	int64_t lo, hi;
};
#define SPAN_ALL ((struct span){INT64_MIN, INT64_MAX})

enum { SPREAD_PAIRS = 1024 };

struct spread {
	uint32_t first, n; /* spans, by member */
};

struct spread_pair {
	spread_id a, b;
	bool meet;
};

struct spreads {
	VEC(struct span) span;
	VEC(struct spread) spread;
	struct hash_table ids;                 /* of spreads */
	struct spread_pair pair[SPREAD_PAIRS]; /* the last results */
};

void spreads_init(struct spreads *s);
void spreads_free(struct spreads *s);
spread_id spread_get(struct spreads *s, const struct span *span, uint32_t n);
static inline struct span spread_span(const struct spreads *s, spread_id a, uint32_t member)
{
	return s->span.at[s->spread.at[a].first + member];
}
/* Returns true if two spreads of one slice meet. who: a member of a and one of b; `me` is preferred as the
 * second. */
bool spread_meets(struct spreads *s, spread_id a, spread_id b, uint32_t me, uint32_t *who);
/* Returns true if the part of each rank in a contains its part in b. */
bool spread_covers(const struct spreads *s, spread_id a, spread_id b);

#endif
