/* Tests of orders that need less memory, and of schedules within limits that the original order exceeds. */
#include "check.h"
#include "sched/peak.h"
#include "sched/schedule.h"
#include "test_sched.h"

enum { PROBLEMS = 100, NODES = 8 };

static int64_t peak_of(struct sched_result r)
{
	return r.peak;
}

/* Checks a peak by the problem itself: members of a bucket replace each other. */
static void is_told_of_original(const struct sched_problem *p, const struct sched_schedule *s)
{
	CHECK(sched_is_schedule(&s->b.p, s->order));
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t k = s->b.became[x];
		const struct sched_origin *o = &s->b.origin[k];
		CHECK(o->bucket == SCHED_NONE ? o->node == x : p->node[o->node].kind == SCHED_COMM);
		if (p->node[x].kind == SCHED_COMM)
			CHECK_EQ(o->bucket, s->bucket[p->node[x].transfer]);
		CHECK_EQ(s->b.p.node[k].kind, p->node[x].kind);
	}
}

static bool schedule(const struct sched_problem *p, int64_t limit, bool feasible)
{
	struct sched_options o = {.limit = limit, .effort = 2, .bucket = true};
	struct sched_schedule s;
	bool ok = sched_schedule(p, &o, &s);
	CHECK(feasible || !ok);
	CHECK_EQ(s.result.peak <= limit, ok);
	is_told_of_original(p, &s);
	struct sched_result again = sched_simulate(&s.b.p, s.order, NULL);
	CHECK(again.runtime == s.result.runtime && again.peak == s.result.peak);
	sched_schedule_free(&s);
	return ok;
}

/* Returns 1 if the least peak was found. */
static unsigned lower(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_problem p, q;
	uint32_t order[NODES];
	test_problem(a, seed, NODES, &p);
	int64_t best = least_of_orders(&p, peak_of),
	        original = sched_simulate(&p, test_original(a, &p), NULL).peak;
	int64_t found = sched_lower_peak(&p, 0, order);
	CHECK(sched_is_schedule(&p, order));
	CHECK_EQ(sched_simulate(&p, order, NULL).peak, found);
	CHECK(found <= original && found >= best);
	sched_reorder(&p, order, a, &q);
	CHECK_EQ(sched_simulate(&q, test_original(a, &q), NULL).peak, found);
	CHECK_EQ(sched_simulate(&q, test_original(a, &q), NULL).runtime,
	         sched_simulate(&p, order, NULL).runtime);
	CHECK(schedule(&p, found, true));
	schedule(&p, best - 1, false);
	/* the first order that is good enough is taken */
	CHECK_EQ(sched_lower_peak(&p, original, order), original);
	arena_free(a);
	return found == best;
}

/* a; b; use a; use b: it is enough to keep one at a time. */
static void makers_wait_for_users(void)
{
	struct arena *a = arena_new();
	struct sched_node node[4];
	struct sched_storage storage[] = {{100, 0, false}, {100, 1, false}, {1, 2, true}, {1, 3, true}};
	static const struct sched_pair edge[] = {{0, 2}, {1, 3}}, use[] = {{2, 0}, {3, 1}};
	uint32_t order[4];
	for (uint32_t x = 0; x < 4; x++)
		node[x] = (struct sched_node){.time = 5, .comm = SCHED_NONE};
	struct sched_problem p = {
	    .launch = 1, .bytes_per_ns = 1, .n = 4, .storage_n = 4, .node = node, .storage = storage};
	sched_problem_finish(&p, a, edge, 2, use, 2);
	CHECK_EQ(sched_simulate(&p, test_original(a, &p), NULL).peak, 201);
	CHECK_EQ(sched_lower_peak(&p, 110, order), 102);
	CHECK(order[0] == 0 && order[1] == 2 && order[2] == 1 && order[3] == 3);
	arena_free(a);
}

int main(void)
{
	unsigned found = 0;
	makers_wait_for_users();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		found += lower(seed);
	CHECK(found > PROBLEMS / 2);
	return check_result();
}
