/* spread: interned lists of spans, and the test that two of them meet. */
#include "check/spread.h"
#include <stdlib.h>
#include <string.h>

void spreads_init(struct spreads *s)
{
	memset(s, 0, sizeof *s);
	vec_push(&s->spread, (struct spread){0});
}

void spreads_free(struct spreads *s)
{
	vec_free(&s->span);
	vec_free(&s->spread);
	hash_table_free(&s->ids);
}

spread_id spread_get(struct spreads *s, const struct span *span, uint32_t n)
{
	struct hash_probe p = {.hash = hash_block(0, span, sizeof *span * n)};
	for (spread_id k; (k = hash_next(&s->ids, &p));)
		if (s->spread.at[k].n == n &&
		    (!n || !memcmp(s->span.at + s->spread.at[k].first, span, sizeof *span * n)))
			return k;
	struct spread x = {.first = s->span.n, .n = n};
	for (uint32_t k = 0; k < n; k++)
		vec_push(&s->span, span[k]);
	vec_push(&s->spread, x);
	hash_insert(&s->ids, p.hash, s->spread.n - 1);
	return s->spread.n - 1;
}

struct end { /* of a member's span */
	struct span span;
	uint32_t member;
	bool second; /* of b */
};

static int by_start(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	return (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
}

/* Sweeps along the axis and keeps, of each spread, the two members that reach furthest. */
static bool sweep_ends(const struct end *at, uint32_t n, uint32_t *who)
{
	const struct end *furthest[2][2] = {{NULL}};
	for (uint32_t k = 0; k < n; k++) {
		for (unsigned i = 0; i < 2; i++) {
			const struct end *other = furthest[!at[k].second][i];
			if (!other || other->member == at[k].member || other->span.hi <= at[k].span.lo)
				continue;
			who[at[k].second] = at[k].member, who[!at[k].second] = other->member;
			return true;
		}
		const struct end **own = furthest[at[k].second];
		if (!own[0] || at[k].span.hi > own[0]->span.hi)
			own[1] = own[0], own[0] = &at[k];
		else if (!own[1] || at[k].span.hi > own[1]->span.hi)
			own[1] = &at[k];
	}
	return false;
}

static bool has_overlap(struct span a, struct span b)
{
	return a.lo < b.hi && b.lo < a.hi && a.lo < a.hi && b.lo < b.hi;
}

bool spread_meets(struct spreads *s, spread_id a, spread_id b, uint32_t me, uint32_t *who)
{
	struct spread_pair *known = &s->pair[(a * 31u + b) % SPREAD_PAIRS];
	const struct spread x = s->spread.at[a], y = s->spread.at[b];
	if (known->a == a && known->b == b && a && !known->meet)
		return false;
	for (uint32_t k = 0; k < x.n && me < y.n; k++)
		if (k != me && has_overlap(spread_span(s, a, k), spread_span(s, b, me))) {
			who[0] = k;
			who[1] = me;
			return true;
		}
	struct end *at = mem_alloc(sizeof *at * (x.n + y.n + 1u));
	uint32_t n = 0;
	for (uint32_t k = 0; k < x.n + y.n; k++) {
		bool second = k >= x.n;
		uint32_t member = second ? k - x.n : k;
		struct span span = s->span.at[(second ? y.first : x.first) + member];
		if (span.lo < span.hi)
			at[n++] = (struct end){span, member, second};
	}
	qsort(at, n, sizeof *at, by_start);
	*known = (struct spread_pair){a, b, sweep_ends(at, n, who)};
	free(at);
	return known->meet;
}

bool spread_covers(const struct spreads *s, spread_id a, spread_id b)
{
	const struct spread x = s->spread.at[a], y = s->spread.at[b];
	for (uint32_t k = 0; k < x.n && a != b; k++) {
		struct span p = s->span.at[x.first + k], q = s->span.at[y.first + k];
		if (y.n != x.n || (q.lo < q.hi && (p.lo > q.lo || p.hi < q.hi)))
			return false;
	}
	return true;
}
