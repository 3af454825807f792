/* Tests of sched_pace: each source is gathered and each sink sent once, in the order of their use, by buckets that are
 * issued when the host may. Where a lane takes longer than the host, memory for all of them makes few buckets, less memory
 * makes more, and none has no result. Each layer is a source, work that uses it, and a sink. */
#include "check.h"
#include "sched/pace.h"
#include "test_sched.h"

enum { PROBLEMS = 300, LAYERS = 8, NODES = 3 * LAYERS, UNIT = 1 << 20 };
enum { SOURCE, LAYER_WORK, SINK };

struct row {
	struct sched_problem p;
	struct sched_node node[NODES];
	struct sched_transfer transfer[NODES];
	struct sched_pace_comm source[LAYERS], sink[LAYERS];
	struct sched_family family[2];
	int64_t live[NODES];
	struct sched_pace_options o;
};

/* time: most ns of the work of a layer. */
static void make(struct row *r, uint32_t seed, uint32_t time, int64_t limit)
{
	static const struct sched_point points[] = {{1 << 18, 4000}, {1 << 20, 6000}, {8 << 20, 30000}};
	struct test_random random = {seed};
	*r = (struct row){
	    .family = {{0, SCHED_ALLGATHER, false, points, 3}, {0, SCHED_REDUCE_SCATTER, false, points, 3}}};
	r->p = (struct sched_problem){.launch = 10,
	                              .bytes_per_ns = 1 << 20,
	                              .n = NODES,
	                              .transfer_n = NODES,
	                              .family_n = 2,
	                              .lane_n = 1,
	                              .node = r->node,
	                              .transfer = r->transfer,
	                              .family = r->family};
	for (uint32_t k = 0; k < LAYERS; k++) {
		uint32_t x = 3 * k;
		int64_t bytes = (int64_t)(1 + test_draw(&random, 4)) * UNIT;
		r->transfer[x + SOURCE] = (struct sched_transfer){bytes / 4, bytes, 0};
		r->transfer[x + SINK] = (struct sched_transfer){2 * bytes, 0, 1};
		r->node[x + SOURCE] = (struct sched_node){.transfer = x + SOURCE, .kind = SCHED_COMM};
		r->node[x + LAYER_WORK] =
		    (struct sched_node){.time = test_draw(&random, time), .kind = SCHED_COMPUTE};
		r->node[x + SINK] = (struct sched_node){.transfer = x + SINK, .kind = SCHED_COMM};
		r->node[x + SOURCE].time = sched_family_time(&r->family[0], bytes / 4);
		r->node[x + SINK].time = sched_family_time(&r->family[1], 2 * bytes);
		r->live[x + LAYER_WORK] = (int64_t)test_draw(&random, 4) * UNIT;
		r->source[k] = (struct sched_pace_comm){x, x + LAYER_WORK, x + LAYER_WORK, bytes, 0};
		r->sink[k] = (struct sched_pace_comm){x + SINK, x + SINK, x + SINK, 2 * bytes, 0};
	}
	r->o = (struct sched_pace_options){.limit = limit,
	                                   .live = r->live,
	                                   .source = r->source,
	                                   .sink = r->sink,
	                                   .source_n = LAYERS,
	                                   .sink_n = LAYERS};
}

/* Returns the bytes of the comms whose `first` is in a bucket. */
static int64_t bytes_of(const struct sched_pace_comm *comm, const struct sched_paced *b)
{
	int64_t bytes = 0;
	for (uint32_t k = 0; k < LAYERS; k++)
		bytes += comm[k].first >= b->from && comm[k].first < b->end ? comm[k].bytes : 0;
	return bytes;
}

/* Checks the buckets. Returns their number. */
static uint32_t check_buckets(const struct row *r)
{
	struct arena *a = arena_new();
	struct sched_paced *b;
	uint32_t n = sched_pace(&r->p, &r->o, a, &b, &(int64_t){0}), gathered = 0, sent = 0, issue = 0;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t *done = b[k].gather ? &gathered : &sent;
		int64_t bytes = bytes_of(b[k].gather ? r->source : r->sink, &b[k]);
		CHECK_EQ(b[k].from, *done);
		CHECK(b[k].end > b[k].from && b[k].end <= NODES);
		CHECK(b[k].issue >= issue && b[k].issue <= NODES);
		CHECK(b[k].gather ? b[k].issue <= b[k].from : b[k].issue >= b[k].end);
		CHECK(bytes <= r->o.limit);
		*done = b[k].end;
		issue = b[k].issue;
	}
	CHECK(!n || (gathered == NODES && sent == NODES));
	arena_free(a);
	return n;
}

/* Checks that the buckets are the same if memory has just the bytes that were needed. */
static void check_most(const struct row *r)
{
	struct arena *a = arena_new();
	struct sched_paced *b, *again;
	struct sched_pace_options o = r->o;
	int64_t most = 0, most_again = 0;
	uint32_t n = sched_pace(&r->p, &o, a, &b, &most);
	CHECK(most > 0 && most <= o.limit);
	o.limit = most;
	uint32_t again_n = sched_pace(&r->p, &o, a, &again, &most_again);
	CHECK_EQ(again_n, n);
	for (uint32_t k = 0; k < n && k < again_n; k++) {
		CHECK_EQ(again[k].gather, b[k].gather);
		CHECK_EQ(again[k].end, b[k].end);
		CHECK_EQ(again[k].issue, b[k].issue);
	}
	CHECK_EQ(most_again, most);
	arena_free(a);
}

/* Checks that a scatter waits for the one deep valley, which is behind more shallow ones than there are places:
 *
 *     live   82 72 82 72 … 82 0 82
 *
 * The scatter makes 30 in a memory of 100. */
static void check_deep_valley(void)
{
	enum { SHALLOW = 300, ALL = 2 * SHALLOW + 5 };
	static struct sched_node node[ALL];
	static int64_t live[ALL];
	struct row r;
	make(&r, 1, 100, 100 * UNIT);
	for (uint32_t x = 0; x < ALL; x++) {
		node[x] = (struct sched_node){.time = 10, .kind = SCHED_COMPUTE};
		live[x] = (x % 2 ? 82 : 72) * UNIT;
	}
	r.transfer[0] = (struct sched_transfer){UNIT, UNIT, 0};
	r.transfer[2] = (struct sched_transfer){15 * UNIT, 0, 1};
	node[0] = (struct sched_node){.transfer = 0, .time = 6000, .kind = SCHED_COMM};
	node[2] = (struct sched_node){.transfer = 2, .time = 6000, .kind = SCHED_COMM};
	live[0] = live[ALL - 3] = 0;
	live[ALL - 1] = 82 * UNIT;
	r.source[0] = (struct sched_pace_comm){0, 1, 1, UNIT, 0};
	r.sink[0] = (struct sched_pace_comm){2, 2, 2, 15 * UNIT, 0};
	r.p.n = ALL;
	r.p.node = node;
	r.o.live = live;
	r.o.source_n = r.o.sink_n = 1;
	struct arena *a = arena_new();
	struct sched_paced *b;
	uint32_t n = sched_pace(&r.p, &r.o, a, &b, &(int64_t){0});
	CHECK(n >= 2);
	if (n >= 2)
		CHECK(!b[1].gather && b[1].issue == ALL - 2);
	arena_free(a);
}

/* Checks that a scatter is issued before the work that leaves no room for its operand, 30 in a memory of 100:
 *
 *     live   0 10 10 10 10 90 10 10 */
static void check_crest(void)
{
	enum { ALL = 8, CREST = 5 };
	struct row r;
	make(&r, 1, 100, 100 * UNIT);
	for (uint32_t x = 0; x < ALL; x++) {
		r.node[x] = (struct sched_node){.time = 10, .kind = SCHED_COMPUTE};
		r.live[x] = (x == CREST ? 90 : x ? 10 : 0) * UNIT;
	}
	r.transfer[0] = (struct sched_transfer){UNIT, UNIT, 0};
	r.transfer[2] = (struct sched_transfer){15 * UNIT, 0, 1};
	r.node[0] = (struct sched_node){.transfer = 0, .time = 6000, .kind = SCHED_COMM};
	r.node[2] = (struct sched_node){.transfer = 2, .time = 6000, .kind = SCHED_COMM};
	r.source[0] = (struct sched_pace_comm){0, 1, 1, UNIT, 0};
	r.sink[0] = (struct sched_pace_comm){2, 2, 2, 30 * UNIT, 0};
	r.p.n = ALL;
	r.o.source_n = r.o.sink_n = 1;
	struct arena *a = arena_new();
	struct sched_paced *b;
	uint32_t n = sched_pace(&r.p, &r.o, a, &b, &(int64_t){0}), sent = 0;
	for (uint32_t k = 0; k < n; k++)
		if (!b[k].gather && b[k].from <= 2 && b[k].end > 2) {
			CHECK(b[k].issue > 2 && b[k].issue <= CREST);
			sent++;
		}
	CHECK_EQ(sent, 1u);
	arena_free(a);
}

int main(void)
{
	check_deep_valley();
	check_crest();
	unsigned some = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		struct row r;
		make(&r, seed, 100, (int64_t)1 << 40);
		uint32_t few = check_buckets(&r);
		CHECK(few && few <= 4);
		check_most(&r);
		make(&r, seed, 100, 24 * UNIT);
		CHECK(check_buckets(&r) >= few);
		make(&r, seed, 100000, (int64_t)(6 + seed % 40) * UNIT);
		if (check_buckets(&r)) {
			some++;
			check_most(&r);
		}
		make(&r, seed, 100, UNIT / 2);
		CHECK_EQ(check_buckets(&r), 0u);
	}
	CHECK(some > PROBLEMS / 4 && some < PROBLEMS);
	return check_result();
}
