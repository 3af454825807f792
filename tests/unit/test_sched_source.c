/* Tests of sched_sources: a source is needed when the first work uses it, not when a view of it runs.
 * Tests of sched_scatter: a bucket of sinks takes at most its share of the free memory. */
#include "check.h"
#include "sched/role.h"
#include "sched/scatter.h"
#include "sched/sched_source.h"
#include "test_sched.h"

enum { MEBI = 1 << 20 };

/* The views of both sources run at once; the work of the second source runs first. */
static void views_need_nothing(void)
{
	enum { FIRST, SECOND, WAIT_FIRST, WAIT_SECOND, VIEW_FIRST, VIEW_SECOND, EARLY, LATE, N };
	struct arena *a = arena_new();
	struct sched_node node[N] = {[FIRST] = {.time = 100, .kind = SCHED_COMM},
	                             [SECOND] = {.time = 100, .kind = SCHED_COMM},
	                             [WAIT_FIRST] = {.comm = FIRST, .kind = SCHED_WAIT},
	                             [WAIT_SECOND] = {.comm = SECOND, .kind = SCHED_WAIT},
	                             [VIEW_FIRST] = {.comm = SCHED_NONE},
	                             [VIEW_SECOND] = {.comm = SCHED_NONE},
	                             [EARLY] = {.time = 5000, .comm = SCHED_NONE},
	                             [LATE] = {.time = 5000, .comm = SCHED_NONE}};
	const struct sched_pair edge[] = {{FIRST, WAIT_FIRST},      {SECOND, WAIT_SECOND},
	                                  {WAIT_FIRST, VIEW_FIRST}, {WAIT_SECOND, VIEW_SECOND},
	                                  {VIEW_FIRST, LATE},       {VIEW_SECOND, EARLY}};
	struct sched_transfer transfer = {0};
	struct sched_problem p = {
	    .launch = 10, .n = N, .transfer_n = 1, .lane_n = 1, .node = node, .transfer = &transfer};
	const int64_t start[N] = {0, 10, 20, 30, 40, 50, 60, 5070};
	struct sched_sources source;
	sched_problem_finish(&p, a, edge, sizeof edge / sizeof *edge, NULL, 0);
	sched_sources(&p, sched_roles(&p, a), start, a, &source);
	CHECK_EQ(source.first[1], 2u);
	CHECK_EQ(source.at[0].comm, (uint32_t)SECOND);
	CHECK_EQ(source.at[0].needed, 60);
	CHECK_EQ(source.at[1].comm, (uint32_t)FIRST);
	CHECK_EQ(source.at[1].needed, 5070);
	arena_free(a);
}

static void buckets_fit(void)
{
	enum { N = 8 };
	struct arena *a = arena_new();
	struct sched_node node[N];
	struct sched_sink at[N];
	uint32_t bucket[N], bucket_n = 0;
	struct sched_transfer transfer[N];
	struct sched_problem p = {.launch = 10,
	                          .n = N,
	                          .transfer_n = N,
	                          .lane_n = 1,
	                          .family_n = 1,
	                          .node = node,
	                          .transfer = transfer};
	for (uint32_t x = 0; x < N; x++) {
		transfer[x] = (struct sched_transfer){.in = MEBI};
		node[x] = (struct sched_node){.transfer = x, .kind = SCHED_COMM};
		at[x] = (struct sched_sink){x, 10 * x, x < 4 ? 8 * MEBI : 16 * MEBI};
	}
	struct sched_sinks sink = {at, N};
	struct sched_scatter_options o = {MEBI, INT64_MAX, 0.5};
	memset(bucket, 0xff, sizeof bucket);
	sched_scatter(&p, &sink, &o, bucket, &bucket_n);
	CHECK_EQ(bucket_n, 3u);
	for (uint32_t x = 0; x < N; x++) /* two operands and their copies fit, later four */
		CHECK_EQ(bucket[x], x < 2 ? 0u : x < 6 ? 1u : 2u);
	arena_free(a);
}

int main(void)
{
	views_need_nothing();
	buckets_fit();
	return check_result();
}
