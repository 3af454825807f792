/* Tests of intervals, and of the parts into which a rank's time is divided: exact to the nanosecond. */
#include "check.h"
#include "exec/balance.h"
#include "exec/intervals.h"

static intervals of(const int64_t (*at)[2], int n)
{
	intervals s = {0};
	for (int k = 0; k < n; k++)
		intervals_add(&s, at[k][0], at[k][1]);
	intervals_unite(&s);
	return s;
}

static void unions(void)
{
	static const int64_t at[][2] = {{50, 60}, {10, 20}, {15, 30}, {30, 40}, {12, 18}, {70, 70}, {55, 58}};
	intervals s = of(at, 7);
	CHECK_EQ(s.n, 2);
	CHECK(s.at[0].begin == 10 && s.at[0].end == 40 && s.at[0].before == 0);
	CHECK(s.at[1].begin == 50 && s.at[1].end == 60 && s.at[1].before == 30);
	CHECK_EQ(intervals_length(&s), 40);
	CHECK_EQ(intervals_gaps(&s), 10);
	vec_free(&s);
}

static void parts(void)
{
	static const int64_t at[][2] = {{10, 20}, {30, 40}};
	static const struct {
		int64_t begin, end, want;
	} row[] = {{0, 10, 0},  {0, 11, 1},   {10, 20, 10}, {15, 35, 10}, {20, 30, 0}, {39, 100, 1},
	           {40, 50, 0}, {0, 100, 20}, {12, 13, 1},  {13, 12, 0},  {13, 13, 0}};
	intervals s = of(at, 2), none = {0};
	for (size_t k = 0; k < sizeof row / sizeof *row; k++)
		CHECK_EQ(intervals_within(&s, row[k].begin, row[k].end), row[k].want);
	CHECK_EQ(intervals_within(&none, 0, 100), 0);
	CHECK_EQ(intervals_length(&none), 0);
	CHECK_EQ(intervals_gaps(&none), 0);
	vec_free(&s);
}

/* Compares random sets with sums over single moments. */
static void random_sets(void)
{
	enum { MOMENTS = 200, SETS = 300, MOST = 12 };
	uint64_t random = 1;
	for (int set = 0; set < SETS; set++) {
		bool in[MOMENTS] = {false};
		intervals s = {0};
		for (int k = 0; k < set % MOST; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			int64_t begin = (int64_t)(random >> 33) % MOMENTS,
			        end = (int64_t)(random >> 41) % MOMENTS;
			if (begin > end)
				continue;
			intervals_add(&s, begin, end);
			for (int64_t m = begin; m < end; m++)
				in[m] = true;
		}
		intervals_unite(&s);
		int64_t from = set % 50, to = MOMENTS - set % 70, want = 0, all = 0;
		for (int64_t m = 0; m < MOMENTS; m++) {
			want += in[m] && m >= from && m < to;
			all += in[m];
		}
		CHECK_EQ(intervals_within(&s, from, to), want);
		CHECK_EQ(intervals_length(&s), all);
		vec_free(&s);
	}
}

static struct trace_span span(enum rt_trace_kind kind, uint32_t run, int64_t begin, int64_t end)
{
	return (struct trace_span){.kind = kind, .run = run, .begin = begin, .end = end};
}

/* Two streams that work at once, a collective beside them, a wait, and time between two runs. */
static void balances(void)
{
	struct trace_span at[] = {
	    span(RT_TRACE_TASK, 0, 100, 110),       span(RT_TRACE_COLLECTIVE, 0, 105, 125),
	    span(RT_TRACE_TASK, 0, 108, 115),       span(RT_TRACE_WAIT, 0, 115, 125),
	    span(RT_TRACE_MESSAGE, 0, 120, 130),    span(RT_TRACE_TASK, 0, 140, 150),
	    span(RT_TRACE_COLLECTIVE, 1, 900, 905), span(RT_TRACE_TASK, 1, 910, 911),
	};
	struct balance b = balance_of(&(struct trace_spans){at, sizeof at / sizeof *at});
	CHECK_EQ(b.wall, 50 + 11);
	CHECK_EQ(b.work, 15 + 10 + 1);
	CHECK_EQ(b.exposed, 15 + 5);
	CHECK_EQ(b.idle, 10 + 5);
	struct balance none = balance_of(&(struct trace_spans){0});
	CHECK(none.wall == 0 && none.work == 0 && none.exposed == 0 && none.idle == 0);
}

/* Ids distinguish tasks that run at the same time; a group ends with its last member. */
static void spans_of_marks(void)
{
	struct trace *t = trace_new(16);
	const struct rt_origin at = {.label = 1, .iteration = -1};
	const struct rt_trace_mark mark[] = {
	    {.kind = RT_TRACE_TASK, .id = 1, .at = at, .ns = 100},
	    {.kind = RT_TRACE_TASK, .id = 2, .at = at, .ns = 105},
	    {.kind = RT_TRACE_COLLECTIVE, .id = 3, .at = at, .ns = 101},
	    {.kind = RT_TRACE_COLLECTIVE, .ends = true, .id = 3, .at = at, .bytes = 8, .ns = 120},
	    {.kind = RT_TRACE_COLLECTIVE, .ends = true, .id = 3, .at = at, .bytes = 4, .ns = 110},
	    {.kind = RT_TRACE_TASK, .ends = true, .id = 1, .at = at, .ns = 107},
	    {.kind = RT_TRACE_TASK, .ends = true, .id = 2, .at = at, .ns = 109},
	};
	for (size_t k = 0; k < sizeof mark / sizeof *mark; k++) {
		if (k == 0 || k == 1)
			trace_run(t);
		t->tracer.event(&t->tracer, &mark[k]);
	}
	struct trace_spans s = trace_spans(t);
	CHECK_EQ(s.n, 3);
	CHECK(s.at[0].begin == 100 && s.at[0].end == 107 && s.at[0].run == 0);
	CHECK(s.at[1].begin == 101 && s.at[1].end == 120 && s.at[1].bytes == 12 && s.at[1].run == 1);
	CHECK(s.at[2].begin == 105 && s.at[2].end == 109);
	free(s.at);
	trace_free(t);
}

int main(void)
{
	unions();
	parts();
	random_sets();
	balances();
	spans_of_marks();
	return check_result();
}
