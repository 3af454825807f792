/* Tests of batch: a bound is near the best of all buckets in a row of gathers, and no bucket within the
 * limit is larger than stated. */
#include "check.h"
#include "sched/batch.h"
#include "sched/bucket.h"
#include "sched/sched_bound.h"
#include "sched/simulate.h"
#include "test_sched.h"

enum { GATHERS = 9, NODES = 3 * GATHERS, PROBLEMS = 300, RANDOM_NODES = 9 };

static const struct sched_point points[] = {{1 << 20, 1000}, {64 << 20, 7300}};
static const struct sched_family family = {.collective = SCHED_REDUCE_SCATTER, .point = points, .n = 2};

/* Makes gathers that need nothing, each with a wait and a node that reads it after the node before. Nothing
 * is packed, so that only the sizes of buckets count. */
static void make_row(struct arena *a, int64_t work, struct sched_problem *p)
{
	struct sched_pair edge[3 * GATHERS];
	uint32_t n = 0;
	*p = (struct sched_problem){.launch = 1,
	                            .bytes_per_ns = 1,
	                            .grouped = true,
	                            .n = NODES,
	                            .lane_n = 1,
	                            .family_n = 1,
	                            .family = &family};
	p->node = arena_new_array(a, struct sched_node, NODES);
	p->transfer = arena_new_array(a, struct sched_transfer, GATHERS);
	p->transfer_n = GATHERS;
	for (uint32_t k = 0; k < GATHERS; k++) {
		struct sched_node *m = &p->node[3 * k];
		int64_t in = (int64_t)1 << 20;
		p->transfer[k] = (struct sched_transfer){in, in, 0};
		m[0] = (struct sched_node){.time = 1000, .transfer = k, .kind = SCHED_COMM};
		m[1] = (struct sched_node){.comm = 3 * k, .kind = SCHED_WAIT};
		m[2] = (struct sched_node){.time = work, .comm = SCHED_NONE};
		edge[n++] = (struct sched_pair){3 * k, 3 * k + 1};
		edge[n++] = (struct sched_pair){3 * k + 1, 3 * k + 2};
		if (k)
			edge[n++] = (struct sched_pair){3 * k - 1, 3 * k + 2};
	}
	sched_problem_finish(p, a, edge, n, NULL, 0);
}

/* Returns the least runtime of all buckets of neighbours, issued first and awaited as late as possible. */
static int64_t least_of_rows(int64_t work)
{
	int64_t least = INT64_MAX;
	for (uint32_t cuts = 0; cuts < 1u << (GATHERS - 1); cuts++) {
		int64_t lane = 0, host = 0;
		for (uint32_t first = 0, k = 1; k <= GATHERS; k++) {
			if (k < GATHERS && !(cuts >> (k - 1) & 1))
				continue;
			lane += sched_family_time(&family, (int64_t)(k - first) << 20);
			host = (host > lane ? host : lane) + (k - first) * work;
			first = k;
		}
		least = host < least ? host : least;
	}
	return least;
}

static void bounds_are_near(int64_t work)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	make_row(a, work, &p);
	int64_t least = least_of_rows(work), bound = sched_bound(&p, true).runtime;
	CHECK(bound <= least + 4 * NODES); /* launches */
	CHECK(bound >= least - least / 20);
	arena_free(a);
}

/* Much work needs all comms but the last one, and none of them may be in a bucket. */
static void lanes_add_up_comms_without_family(void)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	make_row(a, 1, &p);
	for (uint32_t k = 0; k < GATHERS; k++)
		p.transfer[k].family = SCHED_NONE;
	p.node[NODES - 4].time = 20000;
	CHECK(sched_bound(&p, true).runtime >= (GATHERS - 1) * 1000 + 20000);
	arena_free(a);
}

/* No two of the comms fit together. */
static void memory_keeps_buckets_small(void)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	make_row(a, 1, &p);
	struct sched_storage storage[GATHERS];
	struct sched_pair edge[3 * GATHERS], use[2 * GATHERS];
	uint32_t n = 0;
	for (uint32_t k = 0; k < GATHERS; k++) {
		storage[k] = (struct sched_storage){1 << 20, 3 * k, false};
		use[2 * k] = (struct sched_pair){3 * k + 1, k};
		use[2 * k + 1] = (struct sched_pair){3 * k + 2, k};
		edge[n++] = (struct sched_pair){3 * k, 3 * k + 1};
		edge[n++] = (struct sched_pair){3 * k + 1, 3 * k + 2};
	}
	p.storage = storage;
	p.storage_n = GATHERS;
	sched_problem_finish(&p, a, edge, n, use, 2 * GATHERS);
	int64_t most;
	bool alone[NODES];
	sched_batch_most(&p, 3 << 19, &most, alone);
	CHECK_EQ(most, 3 << 19);
	CHECK(alone[0] && alone[3]);
	CHECK(sched_bound_within(&p, true, 3 << 19).runtime >= GATHERS * 1000);
	CHECK(sched_bound_within(&p, true, 8 << 20).runtime < GATHERS * 1000);
	arena_free(a);
}

/* Puts comms of each family into a bucket at random: if any order is within a limit, so is the stated size. */
static void sizes_hold(uint32_t seed)
{
	struct arena *a = arena_new();
	struct test_random r = {seed};
	struct sched_problem p;
	struct sched_bucketed b;
	uint32_t bucket[RANDOM_NODES];
	uint32_t members[2] = {0};
	bool alone[RANDOM_NODES];
	int64_t bytes[2] = {0}, most[2];
	test_problem(a, seed, RANDOM_NODES, &p);
	p.grouped = seed % 4 == 3;
	p.copies = seed % 4 == 2;
	for (uint32_t k = 0; k < p.transfer_n; k++) {
		bool in = p.transfer[k].family != SCHED_NONE && test_draw(&r, 2);
		bucket[k] = in ? p.transfer[k].family : SCHED_NONE;
		if (in) {
			bytes[bucket[k]] += p.transfer[k].in;
			members[bucket[k]]++;
		}
	}
	if (sched_bucket(&p, bucket, 2, a, &b)) {
		int64_t peak = sched_simulate(&b.p, test_original(a, &b.p), NULL).peak;
		sched_batch_most(&p, peak, most, alone);
		for (uint32_t x = 0; x < p.n; x++) {
			uint32_t at = test_bucket_of(&p, bucket, x);
			CHECK(at == SCHED_NONE || !alone[x] || members[at] == 1);
		}
		for (unsigned f = 0; f < 2; f++)
			CHECK(members[f] < 2 || bytes[f] <= most[f]);
	}
	arena_free(a);
}

int main(void)
{
	for (int64_t work = 0; work <= 2000; work += 100)
		bounds_are_near(work);
	lanes_add_up_comms_without_family();
	memory_keeps_buckets_small();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		sizes_hold(seed);
	return check_result();
}
