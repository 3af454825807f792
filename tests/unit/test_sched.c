/* Tests of sched on small random problems: the simulation follows the model, memory stays within its limit,
 * buckets and moves give a valid schedule, and no bound is above the best of all orders. */
#include "test_sched.h"
#include "check.h"
#include "sched/headroom.h"
#include "sched/heap.h"
#include "sched/list.h"
#include "sched/role.h"
#include "sched/sched_bound.h"
#include "sched/schedule.h"
#include "sched/window.h"

enum { PROBLEMS = 300, NODES = 24, SMALL = 7, MOVES = 60 };

/* The model again, one place after the other, with sums in place of counters. */
static int64_t live_at(const struct sched_problem *p, const uint32_t *order, uint32_t k)
{
	uint32_t place[NODES * 4];
	int64_t live = p->fixed;
	for (uint32_t i = 0; i < p->n; i++)
		place[order[i]] = i;
	for (uint32_t s = 0; s < p->storage_n; s++) {
		const struct sched_storage *t = &p->storage[s];
		uint32_t last = 0;
		for (uint32_t i = p->users.at[s]; i < p->users.end[s]; i++)
			last = place[p->users.item[i]] > last ? place[p->users.item[i]] : last;
		if (t->def != SCHED_NONE && place[t->def] <= k && (t->kept || last >= k))
			live += t->bytes;
	}
	return live;
}

static void simulation_is_the_model(const struct sched_problem *p, const uint32_t *order)
{
	struct sched_moment trace[NODES * 4];
	struct sched_result r = sched_simulate(p, order, trace);
	int64_t host = 0, lane[2] = {0}, over[NODES * 4] = {0}, end = 0, exposed = 0, peak = p->fixed;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct sched_node *n = &p->node[order[k]];
		CHECK_EQ(trace[k].start, host);
		if (n->kind == SCHED_COMM) {
			int64_t at = host > lane[n->lane] ? host : lane[n->lane];
			lane[n->lane] = over[order[k]] = at + n->time + p->launch;
			host += p->launch;
			end = at + n->time > end ? at + n->time : end;
		} else {
			if (n->comm != SCHED_NONE && over[n->comm] > host) {
				exposed += over[n->comm] - host;
				host = over[n->comm];
			}
			end = n->time > 0 && host + n->time > end ? host + n->time : end;
			host += n->time + p->launch;
		}
		CHECK_EQ(trace[k].live, live_at(p, order, k));
		peak = trace[k].live > peak ? trace[k].live : peak;
	}
	CHECK_EQ(r.runtime, end);
	CHECK_EQ(r.exposed, exposed);
	CHECK_EQ(r.peak, peak);
}

/* Returns the peak of the issued nodes followed by the others in the original order. */
static int64_t peak_with_rest(const struct sched_problem *p, const uint32_t *issued, uint32_t n)
{
	uint32_t order[NODES];
	bool done[NODES] = {0};
	for (uint32_t k = 0; k < n; k++) {
		order[k] = issued[k];
		done[issued[k]] = true;
	}
	for (uint32_t x = 0; x < p->n; x++)
		if (!done[x])
			order[n++] = x;
	return sched_simulate(p, order, NULL).peak;
}

/* Asks at some steps only: the tree is brought up to date when it is asked for. */
static void headroom_is_the_peak_with_the_rest(const struct sched_problem *p, struct test_random *r)
{
	struct arena *a = arena_new();
	struct headroom empty, h;
	uint32_t issued[NODES], n = 0;
	headroom_open(&empty, p, a);
	headroom_copy(&h, &empty, a);
	CHECK(headroom_fits(&h, peak_with_rest(p, issued, 0)));
	for (unsigned step = 0; step < 4 * NODES && n < p->n; step++) {
		if (n && !test_draw(r, 3)) {
			headroom_undo(&h);
			n--;
		} else {
			uint32_t x = test_draw(r, p->n);
			bool ready = !h.issued[x];
			for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
				ready &= h.issued[p->pred.item[i]];
			if (!ready)
				continue;
			headroom_issue(&h, x);
			issued[n++] = x;
		}
		int64_t peak = peak_with_rest(p, issued, n);
		if (test_draw(r, 2))
			CHECK(headroom_fits(&h, peak));
		if (test_draw(r, 2))
			CHECK(!headroom_fits(&h, peak - 1));
	}
	headroom_close(&h);
	arena_free(a);
}

/* Random buckets: the order has all nodes, and is a schedule of the problem with buckets. */
static void buckets_keep_what_is_needed(const struct sched_problem *p, struct test_random *r)
{
	struct arena *a = arena_new();
	struct sched_bucketed b;
	uint32_t bucket[NODES];
	for (uint32_t k = 0; k < p->transfer_n; k++)
		bucket[k] = test_draw(r, 2) ? p->transfer[k].family : SCHED_NONE;
	if (sched_bucket(p, bucket, 2, a, &b)) {
		uint32_t *order = test_original(a, &b.p);
		CHECK(sched_is_schedule(&b.p, order));
		simulation_is_the_model(&b.p, order);
		for (uint32_t x = 0; x < p->n; x++)
			for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
				uint32_t need = b.became[p->pred.item[i]];
				CHECK(need < b.became[x] ||
				      (need == b.became[x] && p->node[x].kind != SCHED_COMPUTE));
			}
		for (uint32_t i = 0; i < b.p.storage_n; i++) /* each storage is read after it is made */
			CHECK(b.p.users.at[i] == b.p.users.end[i] || b.p.storage[i].def == SCHED_NONE ||
			      b.p.storage[i].def <= b.p.users.item[b.p.users.at[i]]);
		for (uint32_t k = 0; k < b.p.n; k++)
			CHECK(sched_awaited(&b.p.node[k]) == SCHED_NONE ||
			      b.p.node[b.p.node[k].comm].kind == SCHED_COMM);
		for (uint32_t k = 0; k < b.p.n && p->grouped; k++) /* nothing is packed, no memory is
		                                                      needed for it */
			CHECK(b.origin[k].step != SCHED_STEP_PACK && b.origin[k].step != SCHED_STEP_UNPACK);
		for (uint32_t i = 0; i < b.p.storage_n && p->grouped; i++)
			CHECK(i < p->storage_n ? b.p.storage[i].bytes == p->storage[i].bytes
			                       : b.p.storage[i].def == SCHED_NONE);
	}
	arena_free(a);
}

static void moves_are_what_they_say(const struct sched_problem *p, struct test_random *r)
{
	struct arena *a = arena_new();
	struct window w;
	uint32_t *order = test_original(a, p), *other = arena_new_array(a, uint32_t, p->n);
	int64_t limit = sched_simulate(p, order, NULL).peak + (1 << 19);
	window_open(&w, p, limit, order);
	for (unsigned m = 0; m < MOVES; m++) {
		uint32_t from, end;
		if (!test_move(&w, r, other, &from, &end))
			continue;
		CHECK(sched_is_schedule(p, other));
		struct sched_result want = sched_simulate(p, other, NULL);
		int64_t got = window_runtime(&w, from, end, INT64_MAX);
		CHECK_EQ(got == INT64_MAX, want.peak > limit);
		if (got == INT64_MAX)
			continue;
		CHECK(got >= want.runtime &&
		      got <= want.runtime + p->launch * p->n); /* all nodes are done, not only those that
		                                                  take time */
		CHECK_EQ(window_runtime(&w, from, end, got - 1), INT64_MAX);
		CHECK_EQ(window_runtime(&w, from, end, got), got);
		window_accept(&w, from, end);
		CHECK_EQ(w.runtime, got);
		CHECK(memcmp(order, other, sizeof *other * p->n) == 0);
	}
	window_close(&w);
	arena_free(a);
}

static bool has_sinks(const struct sched_problem *p)
{
	struct arena *a = arena_new();
	const uint8_t *role = sched_roles(p, a);
	bool found = false;
	for (uint32_t x = 0; x < p->n; x++)
		found |= role[x] == SCHED_SINK;
	arena_free(a);
	return found;
}

/* List scheduling gives up exactly when it would not end below the limit, and makes the same order of all options that
 * it names. */
static void lists_end_below(const struct sched_problem *p, struct test_random *r)
{
	struct arena *a = arena_new();
	uint32_t *order = test_original(a, p), *again = arena_new_array(a, uint32_t, p->n);
	struct sched_list_options o = {.limit = sched_simulate(p, order, NULL).peak + (1 << 20),
	                               .window = 50 * test_draw(r, 40),
	                               .prefetch = 2000,
	                               .urgent = 200,
	                               .below = INT64_MAX};
	const struct sched_list_base *base = sched_list_read(p, sched_roles(p, a), false, a);
	struct sched_list_same same, ignored;
	CHECK(sched_list(base, &o, order, &same));
	if (!has_sinks(p)) /* then no source goes before a sink */
		CHECK(same.urgent.from == INT64_MIN && same.urgent.to == INT64_MAX);
	struct sched_result got = sched_simulate(p, order, NULL);
	CHECK(sched_is_schedule(p, order) && got.peak <= o.limit);
	o.below = got.runtime + 1;
	CHECK(sched_list(base, &o, again, &ignored));
	CHECK(memcmp(order, again, sizeof *order * p->n) == 0);
	o.below = got.runtime;
	CHECK(!sched_list(base, &o, again, &ignored));
	o.below = INT64_MAX;
	o.window = same.window.from > 0 ? same.window.from : 0;
	o.prefetch = same.prefetch.to < INT64_MAX / 2 ? same.prefetch.to : INT64_MAX / 2;
	o.urgent = same.urgent.from > 0 ? same.urgent.from : 0;
	CHECK(sched_list(base, &o, again, &ignored));
	CHECK(memcmp(order, again, sizeof *order * p->n) == 0);
	CHECK(sched_list(sched_list_read(p, sched_roles(p, a), true, a), &o, again, &ignored));
	CHECK(memcmp(order, again, sizeof *order * p->n) == 0);
	arena_free(a);
}

/* After random pushes, pops and removals, the entries are popped by key. */
static void heaps_keep_their_order(uint32_t seed)
{
	struct test_random r = {seed};
	struct heap h;
	int64_t key[NODES];
	bool in[NODES] = {0};
	for (uint32_t x = 0; x < NODES; x++)
		key[x] = test_draw(&r, 8);
	heap_open(&h, key, NODES);
	for (unsigned step = 0; step < 4 * NODES; step++) {
		uint32_t x = test_draw(&r, NODES), best = SCHED_NONE;
		if (h.n && !test_draw(&r, 3)) {
			uint32_t i = test_draw(&r, h.n);
			in[h.at[i]] = false;
			heap_remove(&h, i);
		} else if (!in[x]) {
			in[x] = true;
			heap_push(&h, x);
		}
		for (uint32_t y = 0; y < NODES; y++)
			if (in[y] && (best == SCHED_NONE || key[y] > key[best]))
				best = y;
		CHECK(best == SCHED_NONE ? !h.n : h.at[0] == best);
		if (h.n && !test_draw(&r, 3)) {
			CHECK_EQ(heap_pop(&h), best);
			in[best] = false;
		}
	}
	heap_close(&h);
}

static void schedules_keep_to_the_limit(const struct sched_problem *p)
{
	for (int effort = 0; effort < SCHED_MAX_EFFORT; effort++) {
		struct arena *a = arena_new();
		struct sched_result before = sched_simulate(p, test_original(a, p), NULL);
		struct sched_options o = {.limit = before.peak + (1 << 20), .effort = effort, .bucket = true};
		struct sched_schedule s, again;
		sched_schedule(p, &o, &s);
		sched_schedule(p, &o, &again);
		CHECK(sched_is_schedule(&s.b.p, s.order));
		simulation_is_the_model(&s.b.p, s.order);
		CHECK(s.result.peak <= o.limit);
		CHECK(s.b.p.n == again.b.p.n && memcmp(s.order, again.order, sizeof *s.order * s.b.p.n) == 0);
		CHECK(sched_bound_within(p, true, o.limit).runtime <= s.result.runtime);
		sched_schedule_free(&s);
		sched_schedule_free(&again);
		arena_free(a);
	}
}

/* More effort, buckets, and any search at all never make a schedule longer. */
static void more_is_never_worse(const struct sched_problem *p)
{
	struct arena *a = arena_new();
	struct sched_result before = sched_simulate(p, test_original(a, p), NULL);
	int64_t runtime = before.runtime;
	for (int effort = 0; effort <= SCHED_MAX_EFFORT; effort++) {
		struct sched_options o = {.limit = before.peak + (1 << 20), .effort = effort, .bucket = true};
		struct sched_schedule s, alone;
		sched_schedule(p, &o, &s);
		o.bucket = false;
		sched_schedule(p, &o, &alone);
		CHECK(s.result.runtime <= runtime);
		CHECK(s.result.runtime <= alone.result.runtime);
		CHECK(alone.result.runtime <= before.runtime);
		runtime = s.result.runtime;
		sched_schedule_free(&s);
		sched_schedule_free(&alone);
	}
	arena_free(a);
}

static int64_t runtime_of(struct sched_result r)
{
	return r.runtime;
}

/* Draws a problem in which the host takes a launch for a wait, half of one, or no time. */
static void draw_problem(struct arena *a, uint32_t seed, uint32_t n, struct sched_problem *p)
{
	test_problem(a, seed, n, p);
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_WAIT)
			p->node[x].time = -p->launch / 2 * (x % 3);
}

static void bounds_are_below_all_orders(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	draw_problem(a, seed, SMALL, &p);
	int64_t best = least_of_orders(&p, runtime_of);
	struct sched_bound alone = sched_bound(&p, false), bucketed = sched_bound(&p, true);
	CHECK(alone.runtime <= best);
	CHECK(bucketed.runtime <= alone.runtime);
	arena_free(a);
}

static void families_have_steps_and_slopes(void)
{
	static const struct sched_point point[] = {{1 << 20, 100}, {2 << 20, 300}, {4 << 20, 500}};
	struct sched_family f = {0, SCHED_ALLGATHER, false, point, 3};
	CHECK_EQ(sched_family_time(&f, 1), 100);
	CHECK_EQ(sched_family_time(&f, 3 << 19), 200);
	CHECK_EQ(sched_family_time(&f, 3 << 20), 400);
	CHECK_EQ(sched_family_time(&f, 8 << 20), 900);
	f.stepped = true;
	CHECK_EQ(sched_family_time(&f, 3 << 19), 100); /* up to the next whole MiB */
	CHECK_EQ(sched_family_time(&f, 3 << 20), 400); /* no point there */
	f.n = 1;
	CHECK_EQ(sched_family_time(&f, 8 << 20), 100);
}

/* No size needs less time per byte than stated. */
static void least_is_below_all_sizes(uint32_t seed)
{
	struct test_random r = {seed};
	struct sched_point point[4];
	struct sched_family f = {.point = point, .n = 1 + test_draw(&r, 4)};
	int64_t at = 0, time = 0, most = (int64_t)(1 + test_draw(&r, 64)) << 18;
	for (unsigned i = 0; i < f.n; i++) {
		at += (int64_t)(1 + test_draw(&r, 12)) << 18;
		time += test_draw(&r, 1000);
		point[i] = (struct sched_point){(double)at, (double)time + 100.6};
	}
	f.stepped = test_draw(&r, 2);
	double least = sched_family_least(&f, most);
	for (int64_t bytes = 1; bytes <= most; bytes += bytes < 1 << 16 ? bytes : 1 << 16) {
		CHECK(least * (double)bytes <= (double)sched_family_time(&f, bytes));
		CHECK(least * (double)(bytes - 1) <= (double)sched_family_time(&f, bytes - 1));
	}
}

static void schedule_alone(struct sched_problem *p)
{
	for (int effort = 0; effort <= SCHED_MAX_EFFORT; effort++) {
		struct sched_options o = {.limit = 100, .effort = effort, .bucket = true};
		struct sched_schedule s;
		sched_schedule(p, &o, &s);
		CHECK(sched_is_schedule(&s.b.p, s.order));
		CHECK_EQ(s.b.p.n, p->n);
		CHECK_EQ(s.result.runtime, p->n * 7 + (p->n ? p->n - 1 : 0) * 2);
		CHECK_EQ(sched_bound(p, true).runtime, s.result.runtime);
		sched_schedule_free(&s);
	}
}

/* Nothing to do, and nothing to overlap. */
static void no_comms_are_fine(void)
{
	struct arena *a = arena_new();
	struct sched_node node[3];
	for (uint32_t x = 0; x < 3; x++)
		node[x] = (struct sched_node){.time = 7, .comm = SCHED_NONE};
	for (uint32_t n = 0; n <= 3; n++) {
		struct sched_problem p = {.launch = 2, .bytes_per_ns = 1, .n = n, .node = node};
		CHECK(!sched_problem_excess(&p));
		sched_problem_finish(&p, a, NULL, 0, NULL, 0);
		schedule_alone(&p);
	}
	arena_free(a);
}

/* Two comms and their waits, a wait for the result of the first wait, and a node that reads its own. */
static void chained_waits_follow_the_unpack(void)
{
	static const struct sched_point point[] = {{1, 9}};
	static const struct sched_family family = {.collective = SCHED_ALLGATHER, .point = point, .n = 1};
	static const struct sched_pair edge[] = {{0, 2}, {1, 3}, {2, 4}, {4, 5}}, use[] = {{4, 0}, {5, 1}};
	static const uint32_t bucket[] = {0, 0};
	struct arena *a = arena_new();
	struct sched_node node[6];
	struct sched_transfer transfer[2] = {{1, 2, 0}, {1, 2, 0}};
	struct sched_storage storage[2] = {{64, 2, false}, {64, 4, false}};
	for (uint32_t x = 0; x < 6; x++)
		node[x] = (struct sched_node){.comm = SCHED_NONE};
	for (uint32_t x = 0; x < 2; x++)
		node[x] = (struct sched_node){.transfer = x, .kind = SCHED_COMM};
	for (uint32_t x = 2; x < 5; x++)
		node[x] = (struct sched_node){.comm = x == 3, .kind = SCHED_WAIT};
	struct sched_problem p = {.bytes_per_ns = 1,
	                          .n = 6,
	                          .transfer_n = 2,
	                          .storage_n = 2,
	                          .family_n = 1,
	                          .lane_n = 1,
	                          .node = node,
	                          .transfer = transfer,
	                          .storage = storage,
	                          .family = &family};
	sched_problem_finish(&p, a, edge, 4, use, 2);
	struct sched_bucketed b;
	CHECK(sched_bucket(&p, bucket, 1, a, &b));
	uint32_t chained = b.became[4], reader = b.became[5], unpack = b.p.storage[0].def;
	CHECK_EQ(b.origin[unpack].step, SCHED_STEP_UNPACK);
	CHECK_EQ(b.p.pred.end[reader] - b.p.pred.at[reader], 1);
	CHECK_EQ(b.p.pred.item[b.p.pred.at[reader]], chained);
	CHECK_EQ(b.p.users.item[b.p.users.at[0]], chained);
	CHECK_EQ(b.p.storage[1].def, chained);
	arena_free(a);
}

/* A copy would take as much memory again. */
static void no_bucket_shares_the_problem(void)
{
	static const struct sched_pair edge[] = {{0, 1}, {1, 2}};
	static const uint32_t bucket[] = {SCHED_NONE};
	struct arena *a = arena_new();
	struct sched_transfer transfer = {.family = SCHED_NONE};
	struct sched_node node[3] = {{.transfer = 0, .kind = SCHED_COMM},
	                             {.comm = 0, .kind = SCHED_WAIT},
	                             {.time = 7, .comm = SCHED_NONE}};
	struct sched_problem p = {
	    .bytes_per_ns = 1, .n = 3, .transfer_n = 1, .lane_n = 1, .node = node, .transfer = &transfer};
	sched_problem_finish(&p, a, edge, 2, NULL, 0);
	struct sched_bucketed b;
	CHECK(sched_bucket(&p, bucket, 0, a, &b));
	CHECK(b.p.node == p.node);
	CHECK_EQ(b.became[2], 2);
	CHECK_EQ(b.origin[0].step, SCHED_STEP_COMM);
	CHECK_EQ(b.origin[1].step, SCHED_STEP_WAIT);
	CHECK_EQ(b.origin[2].step, SCHED_STEP_NODE);
	CHECK_EQ(b.origin[2].bucket, SCHED_NONE);
	arena_free(a);
}

static void too_much_is_told(void)
{
	struct sched_node node[2] = {{.time = INT64_MAX / 2}, {.time = INT64_MAX / 2}};
	struct sched_storage storage[2] = {{.bytes = INT64_MAX}, {.bytes = INT64_MAX}};
	struct sched_problem p = {.launch = 1, .lane_n = SCHED_MAX_LANES};
	CHECK(!sched_problem_excess(&p));
	p.lane_n++;
	CHECK_STR(sched_problem_excess(&p), "more than 64 lanes");
	p = (struct sched_problem){.n = SCHED_MAX_NODES + 1};
	CHECK_STR(sched_problem_excess(&p), "more than 2^28 nodes or storages");
	p = (struct sched_problem){.n = 2, .node = node};
	CHECK_STR(sched_problem_excess(&p), "more than 2^56 ns in all");
	p = (struct sched_problem){.storage_n = 2, .storage = storage};
	CHECK_STR(sched_problem_excess(&p), "more than 2^56 bytes in all");
}

int main(void)
{
	no_comms_are_fine();
	chained_waits_follow_the_unpack();
	no_bucket_shares_the_problem();
	too_much_is_told();
	families_have_steps_and_slopes();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		struct arena *a = arena_new();
		struct test_random r = {seed};
		struct sched_problem p;
		draw_problem(a, seed, NODES, &p);
		uint32_t *order = test_original(a, &p);
		CHECK(sched_is_schedule(&p, order));
		simulation_is_the_model(&p, order);
		headroom_is_the_peak_with_the_rest(&p, &r);
		buckets_keep_what_is_needed(&p, &r);
		moves_are_what_they_say(&p, &r);
		lists_end_below(&p, &r);
		if (seed < PROBLEMS / 10)
			schedules_keep_to_the_limit(&p);
		if (seed % 30 == 0)
			more_is_never_worse(&p);
		struct sched_problem grouped = p;
		grouped.grouped = true;
		buckets_keep_what_is_needed(&grouped, &r);
		if (seed < PROBLEMS / 10)
			schedules_keep_to_the_limit(&grouped);
		bounds_are_below_all_orders(seed);
		least_is_below_all_sizes(seed);
		heaps_keep_their_order(seed);
		arena_free(a);
	}
	return check_result();
}
