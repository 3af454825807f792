/* Tests of exact orders: no order is shorter, within a limit or without, and none has a smaller peak. */
#include "check.h"
#include "sched/exact.h"
#include "test_sched.h"

enum { PROBLEMS = 200, NODES = 7, STATES = 100000 };

static int64_t limit = INT64_MAX;

static int64_t runtime_of(struct sched_result r)
{
	return r.peak <= limit ? r.runtime : INT64_MAX;
}

static int64_t peak_of(struct sched_result r)
{
	return r.peak;
}

static void is_shortest(const struct sched_problem *p)
{
	uint32_t order[NODES], states = STATES;
	int64_t least = least_of_orders(p, runtime_of);
	struct sched_exact_options o = {.limit = limit, .below = least + 1};
	bool found;
	CHECK(sched_exact(p, &o, &states, order, &found) && found);
	CHECK(states < STATES);
	CHECK(sched_is_schedule(p, order));
	CHECK_EQ(sched_simulate(p, order, NULL).runtime, least);
	CHECK(sched_simulate(p, order, NULL).peak <= limit);
	o.below = least;
	CHECK(sched_exact(p, &o, &states, order, &found) && !found);
}

static void try_problem(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	uint32_t order[NODES], states = STATES, few = 3;
	test_problem(a, seed, NODES, &p);
	limit = INT64_MAX;
	is_shortest(&p);
	limit = least_of_orders(&p, peak_of);
	is_shortest(&p);
	CHECK(sched_exact_peak(&p, &states, order));
	CHECK(sched_is_schedule(&p, order));
	CHECK_EQ(sched_simulate(&p, order, NULL).peak, limit);
	CHECK(!sched_exact_peak(&p, &few, order));
	CHECK_EQ(few, 0u);
	arena_free(a);
}

int main(void)
{
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		try_problem(seed);
	return check_result();
}
