/* Tests of sched_regroup: after any change, a bucket has comms of one family and at least two members. */
#include "check.h"
#include "sched/regroup.h"
#include "sched/role.h"
#include "test_sched.h"

enum { PROBLEMS = 200, NODES = 60, CHANGES = 40 };

static void are_buckets(const struct sched_problem *p, const struct sched_rows *rows, const uint32_t *bucket,
                        uint32_t n)
{
	uint32_t members[NODES] = {0}, family[NODES];
	CHECK(n <= NODES);
	for (uint32_t x = 0; x < p->n; x++) {
		if (bucket[x] == SCHED_NONE)
			continue;
		CHECK(rows->at[x] != SCHED_NONE && bucket[x] < n);
		CHECK(!members[bucket[x]]++ || family[bucket[x]] == p->node[x].family);
		family[bucket[x]] = p->node[x].family;
	}
	for (uint32_t k = 0; k < n; k++)
		CHECK(members[k] > 1);
}

/* Checks that rows have each of their comms once: sources in the order of need, inner ones, then sinks. */
static void are_rows(const struct sched_problem *p, const uint8_t *role, const struct sched_inners *inner,
                     const struct sched_rows *rows)
{
	uint32_t n = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		bool in = role[x] == SCHED_SOURCE || role[x] == SCHED_SINK;
		for (uint32_t i = 0; i < inner->n; i++)
			in |= inner->at[i].comm == x;
		CHECK_EQ(rows->at[x] != SCHED_NONE, in);
		if (in) {
			CHECK_EQ(rows->comm[rows->at[x]], x);
			CHECK(rows->at[x] >= rows->family[p->node[x].family] &&
			      rows->at[x] < rows->family[p->node[x].family + 1]);
		}
		n += in;
	}
	CHECK_EQ(n, rows->n);
}

/* Returns the number of changes that had an effect. */
static unsigned change(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_random r = sched_random_from(seed);
	struct sched_problem p;
	struct sched_sources source;
	struct sched_rows rows;
	struct sched_inners inner;
	int64_t time[NODES];
	uint32_t bucket[NODES], before[NODES], n = 0;
	unsigned changed = 0;
	test_problem(a, seed, NODES, &p);
	for (uint32_t x = 0; x < p.n; x++)
		time[x] = x;
	const uint8_t *role = sched_roles(&p, a);
	sched_sources(&p, role, time, a, &source);
	sched_inners(&p, role, &inner);
	sched_rows(&p, role, &source, &inner, a, &rows);
	are_rows(&p, role, &inner, &rows);
	vec_free(&inner);
	memset(bucket, 0xff, sizeof bucket);
	for (unsigned k = 0; k < CHANGES && rows.n; k++) {
		memcpy(before, bucket, sizeof before);
		sched_regroup(&p, &rows, &r, rows.comm[sched_draw(&r, rows.n)], bucket, &n);
		are_buckets(&p, &rows, bucket, n);
		changed += memcmp(before, bucket, sizeof before) != 0;
	}
	arena_free(a);
	return changed;
}

int main(void)
{
	unsigned changed = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		changed += change(seed);
	CHECK(changed > PROBLEMS * CHANGES / 4);
	return check_result();
}
