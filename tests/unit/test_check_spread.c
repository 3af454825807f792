/* Spreads: the test that two of them meet, compared with a test of all pairs of members. */
#include "check.h"
#include "check/spread.h"
#include <stdlib.h>

enum { MEMBERS = 6 };

static bool overlap(struct span a, struct span b)
{
	return a.lo < b.hi && b.lo < a.hi && a.lo < a.hi && b.lo < b.hi;
}

static bool meet(const struct span *a, const struct span *b, uint32_t n)
{
	for (uint32_t p = 0; p < n; p++)
		for (uint32_t q = 0; q < n; q++)
			if (p != q && overlap(a[p], b[q]))
				return true;
	return false;
}

/* Draws short spans, so that about half of all spreads meet; some are empty, some are whole. */
static void draw(struct span *span, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		int64_t lo = rand() % 40;
		span[k] = rand() % 40 ? (struct span){lo, lo + rand() % 5} : SPAN_ALL;
	}
}

static void random_spreads(void)
{
	struct spreads s;
	unsigned met = 0;
	spreads_init(&s);
	srand(1);
	for (unsigned t = 0; t < 20000; t++) {
		struct span a[MEMBERS], b[MEMBERS];
		uint32_t n = 1 + (uint32_t)rand() % MEMBERS, who[2], me = (uint32_t)rand() % (n + 1);
		draw(a, n);
		draw(b, n);
		spread_id x = spread_get(&s, a, n), y = spread_get(&s, b, n);
		bool want = meet(a, b, n);
		met += want;
		for (unsigned again = 0; again < 2; again++) { /* the second time the result is known */
			bool got = spread_meets(&s, x, y, me, who);
			CHECK_EQ(got, want);
			if (got)
				CHECK(who[0] != who[1] && overlap(a[who[0]], b[who[1]]));
		}
		CHECK_EQ(spread_meets(&s, x, x, me, who), meet(a, a, n));
	}
	CHECK(met > 2000 && met < 18000);
	spreads_free(&s);
}

static void equal_spreads(void)
{
	struct spreads s;
	const struct span own[] = {{0, 2}, {2, 4}, {4, 4}}, next[] = {{2, 4}, {4, 4}, {0, 2}},
	                  all[] = {SPAN_ALL, SPAN_ALL, SPAN_ALL};
	uint32_t who[2];
	spreads_init(&s);
	spread_id a = spread_get(&s, own, 3), b = spread_get(&s, next, 3), c = spread_get(&s, all, 3);
	CHECK_EQ(spread_get(&s, own, 3), a);
	CHECK(a != b && b != c && spread_get(&s, own, 2) != a);
	CHECK(spread_covers(&s, c, a) && spread_covers(&s, a, a) && !spread_covers(&s, a, c) &&
	      !spread_covers(&s, a, b));
	CHECK(!spread_meets(&s, a, a, 0, who) && !spread_meets(&s, b, b, 0, who));
	CHECK(spread_meets(&s, a, b, 0, who) && who[0] == 1 && who[1] == 0);
	CHECK(spread_meets(&s, a, c, 2, who) && who[1] == 2); /* member 2 itself holds no element */
	CHECK(spread_meets(&s, c, c, 1, who) && who[1] == 1);
	spreads_free(&s);
}

int main(void)
{
	random_spreads();
	equal_spreads();
	return check_result();
}
