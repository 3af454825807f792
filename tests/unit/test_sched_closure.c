/* Tests of closure_most: no closed subset gives more, and its result is closed. */
#include "check.h"
#include "sched/closure.h"
#include "test_sched.h"

enum { PROBLEMS = 1000, THINGS = 10 };

static bool is_closed(const struct closure *c, uint32_t set)
{
	for (uint32_t i = 0; i < c->demand.n; i++)
		if (set >> c->demand.at[i].from & 1 && !(set >> c->demand.at[i].to & 1))
			return false;
	return true;
}

static int64_t sum(const struct closure *c, uint32_t set)
{
	int64_t t = 0;
	for (uint32_t x = 0; x < c->n; x++)
		t += set >> x & 1 ? c->worth[x] : 0;
	return t;
}

static void no_subset_brings_more(uint32_t seed)
{
	struct test_random r = {seed};
	int64_t worth[THINGS], best = 0;
	bool in[THINGS];
	uint32_t set = 0;
	struct closure c = {.n = 1 + test_draw(&r, THINGS), .worth = worth};
	for (uint32_t x = 0; x < c.n; x++)
		worth[x] = (int64_t)test_draw(&r, 21) - 10;
	for (uint32_t k = test_draw(&r, 3 * c.n); k-- > 0;)
		closure_demand(&c, test_draw(&r, c.n), test_draw(&r, c.n)); /* also cycles */
	for (uint32_t other = 0; other < 1u << c.n; other++)
		if (is_closed(&c, other) && sum(&c, other) > best)
			best = sum(&c, other);
	CHECK_EQ(closure_most(&c, in), best);
	for (uint32_t x = 0; x < c.n; x++)
		set |= (uint32_t)in[x] << x;
	CHECK(is_closed(&c, set));
	CHECK_EQ(sum(&c, set), best);
	vec_free(&c.demand);
}

int main(void)
{
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		no_subset_brings_more(seed);
	return check_result();
}
