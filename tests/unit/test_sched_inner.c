/* Tests of buckets of inner comms: no member needs another one, and all alike comms are members of their parts. */
#include "check.h"
#include "sched/bucket.h"
#include "sched/inner.h"
#include "sched/role.h"
#include "sched/schedule.h"
#include "test_sched.h"
#include <string.h>

enum { PROBLEMS = 300, NODES = 150 };

struct ways {
	bool needs[NODES][NODES]; /* by node: the nodes that it needs, directly or not */
	uint32_t most[NODES];     /* by node: most comms on a path to it */
};

static void find(const struct sched_problem *p, struct ways *w)
{
	memset(w, 0, sizeof *w);
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t y = p->pred.item[i], n = w->most[y] + (p->node[y].kind == SCHED_COMM);
			w->most[x] = n > w->most[x] ? n : w->most[x];
			w->needs[x][y] = true;
			for (uint32_t z = 0; z < y; z++)
				w->needs[x][z] |= w->needs[y][z];
		}
}

/* Returns true if node x may share a bucket with alike ones. */
static bool may_share(const struct sched_problem *p, const uint8_t *role, uint32_t x, int64_t most)
{
	return role[x] == SCHED_INNER && sched_transfer(p, x)->in <= most;
}

/* Returns the part of node x, if the nodes of its family and way are in so many. */
static uint64_t part_of(const struct sched_problem *p, const uint8_t *role, const struct ways *w, uint32_t x,
                        int64_t most, uint32_t parts)
{
	uint64_t before = 0, n = 0, k = 0;
	for (uint32_t y = 0; y < p->n; y++) {
		bool alike = may_share(p, role, y, most) && w->most[x] == w->most[y] &&
		             sched_transfer(p, x)->family == sched_transfer(p, y)->family;
		n += alike;
		before += alike && y < x;
	}
	while ((k + 1) * n / parts <= before)
		k++;
	return k;
}

/* Returns the number of members. */
static unsigned members(uint32_t seed, uint32_t parts)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	struct sched_inners inner;
	struct sched_bucketed b;
	uint32_t bucket[NODES], bucket_n = 0;
	struct ways way;
	unsigned n = 0;
	test_problem(a, seed, NODES, &p);
	find(&p, &way);
	const uint8_t *role = sched_roles(&p, a);
	int64_t most = (int64_t)(1 + seed % 8) << 19;
	memset(bucket, 0xff, sizeof bucket);
	sched_inners(&p, role, &inner);
	sched_inner_buckets(&p, &inner, most, parts, bucket, &bucket_n);
	for (uint32_t x = 0; x < p.n; x++) {
		bool shares = false;
		uint32_t here = test_bucket_of(&p, bucket, x);
		for (uint32_t y = 0; y < p.n; y++) {
			bool alike = x != y && may_share(&p, role, x, most) && may_share(&p, role, y, most) &&
			             sched_transfer(&p, x)->family == sched_transfer(&p, y)->family &&
			             way.most[x] == way.most[y] &&
			             part_of(&p, role, &way, x, most, parts) ==
			                 part_of(&p, role, &way, y, most, parts);
			CHECK_EQ(alike,
			         x != y && here != SCHED_NONE && here == test_bucket_of(&p, bucket, y));
			CHECK(!alike || !way.needs[x][y]);
			shares |= alike;
		}
		CHECK_EQ(shares, here != SCHED_NONE);
		CHECK(!shares || here < bucket_n);
		n += shares;
	}
	if (sched_bucket(&p, bucket, bucket_n, a, &b))
		CHECK(sched_is_schedule(&b.p, test_original(a, &b.p)));
	vec_free(&inner);
	arena_free(a);
	return n;
}

/* Chains of work and comms, side by side. In each round half of the comms run beside the work of the other half. */
static void halves_take_turns(void)
{
	enum { CHAINS = 8, ROUNDS = 6, STEP = 3, COUNT = CHAINS * ROUNDS * STEP };
	static const struct sched_point points[] = {{1 << 20, 1000}, {64 << 20, 7300}};
	static const struct sched_family family = {.collective = SCHED_ALLREDUCE, .point = points, .n = 2};
	struct arena *a = arena_new();
	struct sched_problem p = {.launch = 1,
	                          .bytes_per_ns = 1 << 20,
	                          .n = COUNT,
	                          .lane_n = 1,
	                          .family_n = 1,
	                          .family = &family,
	                          .transfer_n = CHAINS * ROUNDS};
	struct sched_pair edge[COUNT];
	uint32_t n = 0;
	p.node = arena_new_array(a, struct sched_node, COUNT);
	p.transfer = arena_new_array(a, struct sched_transfer, p.transfer_n);
	for (uint32_t k = 0; k < p.transfer_n; k++) {
		struct sched_node *m = &p.node[STEP * k];
		p.transfer[k] = (struct sched_transfer){1 << 20, 1 << 20, 0};
		m[0] = (struct sched_node){.time = 400, .comm = SCHED_NONE};
		m[1] = (struct sched_node){.time = 1000, .transfer = k, .kind = SCHED_COMM};
		m[2] = (struct sched_node){.comm = STEP * k + 1, .kind = SCHED_WAIT};
		edge[n++] = (struct sched_pair){STEP * k, STEP * k + 1};
		edge[n++] = (struct sched_pair){STEP * k + 1, STEP * k + 2};
		if (k % ROUNDS)
			edge[n++] = (struct sched_pair){STEP * k - 1, STEP * k};
	}
	sched_problem_finish(&p, a, edge, n, NULL, 0);
	struct sched_options o = {.limit = INT64_MAX, .effort = 2, .bucket = true};
	struct sched_schedule s;
	CHECK(sched_schedule(&p, &o, &s));
	CHECK(s.result.runtime < ROUNDS * CHAINS * 400 + 3000);
	sched_schedule_free(&s);
	arena_free(a);
}

int main(void)
{
	unsigned n = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		n += members(seed, 1);
	CHECK(n > PROBLEMS / 10);
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		members(seed, 2 + seed % 3);
	halves_take_turns();
	return check_result();
}
