/* Tests of buckets of inner comms: no member needs another one, and all alike comms are members. */
#include "check.h"
#include "sched/bucket.h"
#include "sched/inner.h"
#include "sched/role.h"
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
		for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++) {
			uint32_t y = p->pred.item[i], n = w->most[y] + (p->node[y].kind == SCHED_COMM);
			w->most[x] = n > w->most[x] ? n : w->most[x];
			w->needs[x][y] = true;
			for (uint32_t z = 0; z < y; z++)
				w->needs[x][z] |= w->needs[y][z];
		}
}

/* Returns the number of members. */
static unsigned members(uint32_t seed)
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
	sched_inner_buckets(&p, &inner, most, bucket, &bucket_n);
	for (uint32_t x = 0; x < p.n; x++) {
		bool shares = false;
		uint32_t here = test_bucket_of(&p, bucket, x);
		for (uint32_t y = 0; y < p.n; y++) {
			bool alike = x != y && role[x] == SCHED_INNER && role[y] == SCHED_INNER &&
			             sched_transfer(&p, x)->family == sched_transfer(&p, y)->family &&
			             sched_transfer(&p, x)->in <= most && sched_transfer(&p, y)->in <= most &&
			             way.most[x] == way.most[y];
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

int main(void)
{
	unsigned n = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		n += members(seed);
	CHECK(n > PROBLEMS / 10);
	return check_result();
}
