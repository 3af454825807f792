/* Tests of sched_bound_last: no order within the limit ends earlier, without buckets and with all buckets. */
#include "check.h"
#include "sched/bucket.h"
#include "sched/last.h"
#include "sched/sched_bound.h"
#include "sched/simulate.h"
#include "test_sched.h"

enum { PROBLEMS = 500, NODES = 7, MOST = 2 * NODES };

static int64_t limit_of_orders; /* bytes */

static int64_t runtime_within(struct sched_result r)
{
	return r.peak <= limit_of_orders ? r.runtime : INT64_MAX;
}

/* INT64_MAX: no order is within the limit. */
static int64_t least(const struct sched_problem *p, int64_t limit)
{
	limit_of_orders = limit;
	return least_of_orders(p, runtime_within);
}

/* Returns the least over all sets of comms of a family in one bucket, one set for each of the two
 * families. */
static int64_t least_bucketed(const struct sched_problem *p, int64_t limit)
{
	int64_t best = INT64_MAX;
	uint32_t comm[NODES], comms = 0;
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM)
			comm[comms++] = x;
	for (uint32_t set = 0; set < 1u << comms; set++) {
		struct arena *a = arena_new();
		struct sched_bucketed b;
		uint32_t bucket[NODES], members[2] = {0};
		memset(bucket, 0xff, sizeof bucket);
		for (uint32_t i = 0; i < comms; i++)
			if (set >> i & 1) {
				bucket[p->node[comm[i]].transfer] = sched_transfer(p, comm[i])->family;
				members[sched_transfer(p, comm[i])->family]++;
			}
		if (members[0] != 1 && members[1] != 1 && sched_bucket(p, bucket, 2, a, &b) &&
		    b.p.n <= MOST) {
			int64_t t = least(&b.p, limit);
			best = t < best ? t : best;
		}
		arena_free(a);
	}
	return best;
}

/* reached: how often the bound equals the least, without and with buckets. */
static void bound_is_below(uint32_t seed, unsigned reached[2])
{
	struct arena *a = arena_new();
	struct sched_problem p;
	uint32_t comm;
	test_problem(a, seed, NODES, &p);
	p.bytes_per_ns = 1 << (10 + seed % 9);
	p.grouped = seed % 5 == 4;
	int64_t peak = sched_simulate(&p, test_original(a, &p), NULL).peak;
	for (unsigned k = 0; k < 3; k++) {
		int64_t limit = peak - ((int64_t)k << 19), want = least(&p, limit);
		int64_t alone = sched_bound_last(&p, false, limit, &comm);
		CHECK(alone <= want);
		CHECK(sched_bound_within(&p, false, limit).runtime <= want);
		CHECK(comm == SCHED_NONE || p.node[comm].kind == SCHED_COMM);
		reached[0] += alone == want;
		if (seed < PROBLEMS / 5) {
			int64_t bucketed = sched_bound_last(&p, true, limit, &comm);
			int64_t most = least_bucketed(&p, limit);
			CHECK(bucketed <= most);
			CHECK(sched_bound_within(&p, true, limit).runtime <= most);
			reached[1] += bucketed == most;
		}
	}
	arena_free(a);
}

/* Work that could hide the comm keeps `big` alive, and there is no room for it beside `kept`:
 *
 *     big = first; kept = second; comm(kept); wait; work(big) */
static void limits_raise_the_bound(void)
{
	enum { MIB = 1 << 20 };
	struct arena *a = arena_new();
	struct sched_node node[] = {{.time = 10, .comm = SCHED_NONE},
	                            {.time = 100, .comm = SCHED_NONE},
	                            {.time = 500, .kind = SCHED_COMM},
	                            {.comm = 2, .kind = SCHED_WAIT},
	                            {.time = 400, .comm = SCHED_NONE}};
	struct sched_storage storage[] = {{100 * MIB, 0, false}, {100 * MIB, 1, true}};
	static const struct sched_pair edge[] = {{0, 1}, {1, 2}, {2, 3}, {0, 4}}, use[] = {{4, 0}, {2, 1}};
	struct sched_transfer transfer = {.family = SCHED_NONE};
	struct sched_problem p = {.launch = 0,
	                          .bytes_per_ns = 1,
	                          .n = 5,
	                          .lane_n = 1,
	                          .storage_n = 2,
	                          .node = node,
	                          .transfer_n = 1,
	                          .transfer = &transfer,
	                          .storage = storage};
	uint32_t comm;
	sched_problem_finish(&p, a, edge, 4, use, 2);
	CHECK_EQ(least(&p, 200 * MIB), 610);
	CHECK_EQ(sched_bound_last(&p, false, 200 * MIB, &comm), 610);
	CHECK_EQ(comm, 2);
	CHECK_EQ(least(&p, 150 * MIB), 1010);
	int64_t bound = sched_bound_last(&p, false, 150 * MIB, &comm);
	CHECK(bound > 750 && bound <= 1010); /* at most half of the work is between them */
	arena_free(a);
}

/* There is room for `big` beside the comm, but not beside `wide`, which is freed before:
 *
 *     big = first; wide = second; kept = third(wide); comm(kept); wait; work(big) */
static void limits_before_the_comm_raise_the_bound(void)
{
	enum { MIB = 1 << 20 };
	struct arena *a = arena_new();
	struct sched_node node[] = {{.time = 10, .comm = SCHED_NONE}, {.time = 50, .comm = SCHED_NONE},
	                            {.time = 50, .comm = SCHED_NONE}, {.time = 500, .kind = SCHED_COMM},
	                            {.comm = 3, .kind = SCHED_WAIT},  {.time = 400, .comm = SCHED_NONE}};
	struct sched_storage storage[] = {{100 * MIB, 0, false}, {100 * MIB, 1, false}, {MIB, 2, true}};
	static const struct sched_pair edge[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5}},
	                               use[] = {{5, 0}, {2, 1}, {3, 2}};
	struct sched_transfer transfer = {.family = SCHED_NONE};
	struct sched_problem p = {.launch = 0,
	                          .bytes_per_ns = 1,
	                          .n = 6,
	                          .lane_n = 1,
	                          .storage_n = 3,
	                          .node = node,
	                          .transfer_n = 1,
	                          .transfer = &transfer,
	                          .storage = storage};
	uint32_t comm;
	sched_problem_finish(&p, a, edge, 5, use, 3);
	CHECK_EQ(least(&p, 201 * MIB), 610);
	CHECK_EQ(sched_bound_last(&p, false, 201 * MIB, &comm), 610);
	CHECK_EQ(least(&p, 150 * MIB), 1010);
	int64_t bound = sched_bound_last(&p, false, 150 * MIB, &comm);
	CHECK(bound > 800 && bound <= 1010); /* at most half of the work is between them */
	arena_free(a);
}

int main(void)
{
	unsigned reached[2] = {0};
	limits_raise_the_bound();
	limits_before_the_comm_raise_the_bound();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		bound_is_below(seed, reached);
	CHECK(reached[0] > 0 && reached[1] > 0);
	return check_result();
}
