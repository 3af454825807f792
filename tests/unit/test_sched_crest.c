/* Tests of crest and crest_bound: no order keeps less alive while a crest runs, and no schedule within the limit takes
 * less than the bound, with all buckets. */
#include "check.h"
#include "sched/bucket.h"
#include "sched/crest.h"
#include "sched/crest_bound.h"
#include "sched/sched_bound.h"
#include "test_sched.h"
#include <stdlib.h>

enum { PROBLEMS = 150, MOST = 12, LAYERS = 3 };

/* Draws layers: each waits for a gather, and makes what the next one and a scatter at the end need. Some have another
 * node beside them. */
static void make_layers(struct arena *a, uint32_t seed, struct sched_problem *p)
{
	static const struct sched_point points[] = {
	    {1 << 19, 300}, {1 << 20, 400}, {2 << 20, 600}, {4 << 20, 900}, {8 << 20, 1600}};
	struct test_random r = {seed * 6007u + 5};
	struct sched_family *family = arena_new_array(a, struct sched_family, 2);
	family[0] = (struct sched_family){0, SCHED_ALLGATHER, false, points, 5};
	family[1] = (struct sched_family){0, SCHED_REDUCE_SCATTER, false, points, 5};
	*p = (struct sched_problem){
	    .launch = 10, .bytes_per_ns = 1 << 16, .lane_n = 1, .family_n = 2, .family = family};
	p->grouped = test_draw(&r, 4) == 0;
	p->node = arena_new_array(a, struct sched_node, MOST);
	p->transfer = arena_new_array(a, struct sched_transfer, LAYERS + 1);
	p->transfer_n = LAYERS + 1;
	p->storage = arena_new_array(a, struct sched_storage, MOST);
	struct sched_pair edge[4 * MOST], use[4 * MOST];
	uint32_t n = 0, edge_n = 0, use_n = 0, before = SCHED_NONE;
	for (uint32_t layer = 0; layer < LAYERS; layer++) {
		uint32_t comm = n++, wait = n++, beside = SCHED_NONE;
		int64_t in = (int64_t)(1 + test_draw(&r, 4)) << 19;
		p->node[comm] = (struct sched_node){.kind = SCHED_COMM, .transfer = layer};
		p->transfer[layer] = (struct sched_transfer){in, 2 * in, 0};
		p->node[comm].time = sched_family_time(&family[0], in);
		p->node[wait] = (struct sched_node){.kind = SCHED_WAIT, .comm = comm};
		if (n + 2 + 2 * (LAYERS - 1 - layer) < MOST - 1 && test_draw(&r, 2))
			beside = n++;
		uint32_t work = n++;
		edge[edge_n++] = (struct sched_pair){comm, wait};
		edge[edge_n++] = (struct sched_pair){wait, work};
		use[use_n++] = (struct sched_pair){wait, comm};
		use[use_n++] = (struct sched_pair){work, comm};
		p->node[work] = (struct sched_node){.time = 100 + 50 * test_draw(&r, 9)};
		if (beside != SCHED_NONE) {
			p->node[beside] = (struct sched_node){.time = 50};
			edge[edge_n++] = (struct sched_pair){beside, work};
			use[use_n++] = (struct sched_pair){work, beside};
		}
		if (before != SCHED_NONE) {
			edge[edge_n++] = (struct sched_pair){before, work};
			use[use_n++] = (struct sched_pair){work, before};
		}
		before = work;
	}
	uint32_t comm = n++;
	p->node[comm] = (struct sched_node){.kind = SCHED_COMM, .transfer = LAYERS};
	p->transfer[LAYERS] = (struct sched_transfer){1 << 20, 1 << 18, 1};
	p->node[comm].time = sched_family_time(&family[1], 1 << 20);
	edge[edge_n++] = (struct sched_pair){before, comm};
	use[use_n++] = (struct sched_pair){comm, before};
	p->n = p->storage_n = n;
	for (uint32_t x = 0; x < n; x++) {
		struct sched_node *m = &p->node[x];
		int64_t bytes = m->kind == SCHED_COMM   ? p->transfer[m->transfer].out
		                : m->kind == SCHED_WAIT ? 0
		                                        : (int64_t)test_draw(&r, 6) << 19;
		p->storage[x] = (struct sched_storage){bytes, x, false};
		m->comm = m->kind == SCHED_COMPUTE ? SCHED_NONE : m->comm;
	}
	sched_problem_finish(p, a, edge, edge_n, use, use_n);
}

/* ---- all orders */

static int64_t limit_of_orders; /* bytes */
static uint32_t node_of_orders;

static int64_t runtime_within(struct sched_result r)
{
	return r.peak <= limit_of_orders ? r.runtime : INT64_MAX;
}

/* Returns the least over all sets of gathers in one bucket. */
static int64_t least_within(const struct sched_problem *p, int64_t limit)
{
	int64_t best = INT64_MAX;
	uint32_t comm[LAYERS], comms = 0;
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM && sched_transfer(p, x)->family == 0)
			comm[comms++] = x;
	for (uint32_t set = 0; set < 1u << comms; set++) {
		struct arena *a = arena_new();
		struct sched_bucketed b;
		uint32_t bucket[MOST], members = 0;
		memset(bucket, 0xff, sizeof bucket);
		for (uint32_t i = 0; i < comms; i++)
			if (set >> i & 1) {
				bucket[p->node[comm[i]].transfer] = 0;
				members++;
			}
		limit_of_orders = limit;
		if (members != 1 && sched_bucket(p, bucket, members ? 1 : 0, a, &b)) {
			int64_t t = least_of_orders(&b.p, runtime_within);
			best = t < best ? t : best;
		}
		arena_free(a);
	}
	return best;
}

/* Returns the least bytes that are live while a node runs, among all orders that begin with the n nodes of `done`. */
static int64_t least_live(const struct sched_problem *p, uint32_t *order, uint32_t n, uint32_t done)
{
	int64_t best = INT64_MAX;
	if (n == p->n) {
		struct sched_moment trace[MOST];
		sched_simulate(p, order, trace);
		for (uint32_t k = 0; k < n; k++)
			if (order[k] == node_of_orders)
				return trace[k].live;
	}
	for (uint32_t x = 0; x < p->n; x++) {
		bool ready = !(done >> x & 1);
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			ready &= done >> p->pred.item[i] & 1;
		if (!ready)
			continue;
		order[n] = x;
		int64_t live = least_live(p, order, n + 1, done | 1u << x);
		best = live < best ? live : best;
	}
	return best;
}

/* ---- tests */

static void crests_keep_the_least(uint32_t seed, unsigned *crests)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	make_layers(a, seed, &p);
	struct sched_crests found = sched_crests(&p, 0, a);
	for (uint32_t s = 0; s < p.storage_n; s++)
		if (p.node[p.storage[s].def].kind != SCHED_COMPUTE)
			p.storage[s].bytes = 0;
	for (uint32_t k = 0; k < found.n; k++) {
		uint32_t order[MOST];
		node_of_orders = found.node[k];
		CHECK_EQ(least_live(&p, order, 0, 0), found.live[k]);
		CHECK_EQ(found.after[found.node[k]], k + 1);
		CHECK_EQ(found.before[found.node[k]], k);
	}
	*crests += found.n;
	arena_free(a);
}

/* higher: how often a limit raises the bound by crests above all others. */
static void bounds_are_below(uint32_t seed, unsigned *higher)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	make_layers(a, seed, &p);
	int64_t peak = sched_simulate(&p, test_original(a, &p), NULL).peak;
	for (int64_t limit = peak + (2 << 19); limit > peak - (4 << 19); limit -= 1 << 19) {
		struct sched_bound bound = sched_bound_within(&p, true, limit);
		CHECK(bound.runtime <= least_within(&p, limit));
		*higher += bound.resource == SCHED_BOUND_CRESTS;
	}
	arena_free(a);
}

/* No crests are looked for in a very large problem, so they bound nothing. */
static void large_problems_have_none(void)
{
	enum { LARGE = 300000 };
	struct arena *a = arena_new();
	struct sched_problem p = {.n = LARGE, .lane_n = 1, .launch = 10};
	int64_t *zero = arena_new_array(a, int64_t, LARGE);
	bool *alone = arena_new_array(a, bool, LARGE);
	p.node = arena_new_array(a, struct sched_node, LARGE);
	p.node[0] = (struct sched_node){.kind = SCHED_COMM, .time = 100};
	p.transfer = &(struct sched_transfer){.in = 1 << 20, .family = SCHED_NONE};
	p.transfer_n = 1;
	for (uint32_t x = 1; x < LARGE; x++)
		p.node[x] = (struct sched_node){.time = 100, .comm = SCHED_NONE};
	p.node[1].kind = SCHED_WAIT;
	p.node[1].comm = 0;
	sched_problem_finish(&p, a, &(struct sched_pair){0, 1}, 1, NULL, 0);
	struct sched_batches b = {&p, zero, zero, zero, alone};
	CHECK_EQ(sched_bound_crests(&b, 0, INT64_MAX), 0);
	arena_free(a);
}

int main(void)
{
	large_problems_have_none();
	unsigned crests = 0, higher = 0, problems = getenv("HIRC_FEW") ? PROBLEMS / 3 : PROBLEMS;
	for (uint32_t seed = 0; seed < problems; seed++) {
		crests_keep_the_least(seed, &crests);
		bounds_are_below(seed, &higher);
	}
	CHECK(crests > problems);
	CHECK(higher > 0);
	return check_result();
}
