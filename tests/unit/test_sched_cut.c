/* Tests of sched_cut: no other cuts of a row of layers take less time, and memory that admits no segment is noticed. Each
 * layer is a source, work that uses it, and a sink. */
#include "check.h"
#include "sched/cut.h"
#include "test_sched.h"

enum { PROBLEMS = 300, LAYERS = 7, NODES = 3 * LAYERS, UNIT = 1 << 20, LAUNCH = 10 };
enum { SOURCE, LAYER_WORK, SINK };

struct row {
	struct sched_problem p;
	struct sched_node node[NODES];
	struct sched_cut_comm source[LAYERS], sink[LAYERS];
	struct sched_family family[2];
	int64_t live[NODES];
	struct sched_cut_options o;
};

static void make(struct row *r, uint32_t seed)
{
	static const struct sched_point points[] = {{1 << 18, 400}, {1 << 20, 600}, {8 << 20, 3000}};
	struct test_random random = {seed};
	*r = (struct row){
	    .family = {{0, SCHED_ALLGATHER, false, points, 3}, {0, SCHED_REDUCE_SCATTER, false, points, 3}}};
	r->p = (struct sched_problem){.launch = LAUNCH,
	                              .bytes_per_ns = 1 << 20,
	                              .n = NODES,
	                              .family_n = 2,
	                              .lane_n = 1,
	                              .node = r->node,
	                              .family = r->family};
	for (uint32_t k = 0; k < LAYERS; k++) {
		uint32_t x = 3 * k;
		int64_t bytes = (int64_t)(1 + test_draw(&random, 4)) * UNIT;
		r->node[x + SOURCE] = (struct sched_node){.in = bytes / 4, .out = bytes, .kind = SCHED_COMM};
		r->node[x + LAYER_WORK] =
		    (struct sched_node){.time = 100 * test_draw(&random, 20), .kind = SCHED_COMPUTE};
		r->node[x + SINK] =
		    (struct sched_node){.in = 2 * bytes, .out = 0, .family = 1, .kind = SCHED_COMM};
		r->node[x + SOURCE].time = sched_family_time(&r->family[0], bytes / 4);
		r->node[x + SINK].time = sched_family_time(&r->family[1], 2 * bytes);
		r->live[x + LAYER_WORK] = (int64_t)test_draw(&random, 8) * UNIT;
		r->source[k] = (struct sched_cut_comm){x, x + LAYER_WORK, x + LAYER_WORK, bytes};
		r->sink[k] = (struct sched_cut_comm){x + SINK, x + SINK, x + SINK, bytes};
	}
	r->o = (struct sched_cut_options){.limit = (int64_t)(8 + test_draw(&random, 30)) * UNIT,
	                                  .live = r->live,
	                                  .source = r->source,
	                                  .sink = r->sink,
	                                  .source_n = LAYERS,
	                                  .sink_n = LAYERS};
}

/* Returns the time of one bucket for the layers from i on and before j, and adds its copies to `host`. */
static int64_t bucket_time(const struct row *r, uint32_t i, uint32_t j, unsigned kind, int64_t *host)
{
	int64_t in = 0, out = 0;
	for (uint32_t k = i; k < j; k++) {
		in += r->node[3 * k + kind].in;
		out += r->node[3 * k + kind].out;
	}
	if (j - i > 1)
		*host += sched_copy_time(&r->p, in) + sched_copy_time(&r->p, out);
	return i == j ? 0 : sched_family_time(&r->family[kind == SINK], in) + LAUNCH;
}

/* Returns the bytes for the next gather beside the layers from i on and before j. */
static int64_t room(const struct row *r, uint32_t i, uint32_t j)
{
	int64_t sinks = 0, sources = 0, least;
	for (uint32_t k = i; k < j; k++) {
		sinks += r->node[3 * k + SINK].in;
		sources += r->source[k].bytes;
	}
	least = r->o.limit - (j - i > 1 ? 2 * (sinks > sources ? sinks : sources) : 0);
	for (uint32_t k = i, made = 0; k < j; k++) {
		int64_t live = r->live[3 * k + LAYER_WORK];
		live =
		    live > r->sink[k].bytes ? live : r->sink[k].bytes; /* the next source is in this block */
		least =
		    r->o.limit - live - made - sources < least ? r->o.limit - live - made - sources : least;
		made += (uint32_t)r->sink[k].bytes;
		sources -= r->source[k].bytes;
	}
	return least;
}

/* Returns the time with a cut before layer k for each bit k of cuts; INT64_MAX: memory does not admit them. The first
 * source is before the first place, so a segment without layers may come first. */
static int64_t time_with(const struct row *r, uint32_t cuts)
{
	int64_t host = 0, time = 0, work = LAUNCH;
	bool begun = false;
	for (uint32_t i = 0, j = 0, end; i < LAYERS; i = j) {
		for (j = i + (begun || !(cuts & 1)); j < LAYERS && !(cuts >> j & 1); j++)
			;
		time += begun ? 0 : bucket_time(r, 0, j, SOURCE, &host);
		begun = true;
		host = 0;
		int64_t scatter = bucket_time(r, i, j, SINK, &host), next, ignored = 0, bytes = 0;
		for (uint32_t x = 3 * i + 1; x < 3 * j + 1 && x < NODES; x++)
			work += sched_host_time(&r->p, x);
		for (end = j; end < LAYERS && (end == j || !(cuts >> end & 1)); end++)
			bytes += r->source[end].bytes;
		next = bucket_time(r, j, end, SOURCE, &ignored);
		work += host;
		if (room(r, i, j) < 0)
			return INT64_MAX;
		time += scatter + (bytes > room(r, i, j) ? work + next : next > work ? next : work);
		work = 0;
	}
	return time;
}

static bool no_cuts_are_better(uint32_t seed)
{
	struct arena *a = arena_new();
	struct row r;
	struct sched_cuts found;
	uint32_t cuts = 0;
	make(&r, seed);
	int64_t least = INT64_MAX;
	for (uint32_t other = 0; other < 1u << LAYERS; other++)
		least = time_with(&r, other) < least ? time_with(&r, other) : least;
	bool some = sched_cut(&r.p, &r.o, a, &found);
	CHECK_EQ(some, least < INT64_MAX);
	for (uint32_t k = 1; some && k < found.n; k++)
		cuts |= 1u << (found.at[k] / 3);
	if (some) {
		CHECK_EQ(found.at[0], 0u);
		CHECK_EQ(found.at[found.n], NODES);
		CHECK_EQ(time_with(&r, cuts), least);
	}
	arena_free(a);
	return some;
}

int main(void)
{
	unsigned some = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		some += no_cuts_are_better(seed);
	CHECK(some > PROBLEMS / 2 && some < PROBLEMS);
	return check_result();
}
