/* Tests of schedules where a part of the work's time hides comms: they are those of comms that take longer,
 * and have the times of the problem itself. */
#include "check.h"
#include "sched/discount.h"
#include "test_sched.h"

enum { PROBLEMS = 100, NODES = 60 };

/* Returns whether the schedule is another one than with all of the work's time. */
static bool is_discounted(uint32_t seed, unsigned percent, int effort)
{
	struct arena *a = arena_new();
	struct sched_problem p, longer;
	struct sched_schedule s, whole, of_longer;
	struct sched_bucketed b;
	test_problem(a, seed, NODES, &p);
	struct sched_options o = {.limit = sched_simulate(&p, test_original(a, &p), NULL).peak + (1 << 20),
	                          .effort = effort,
	                          .bucket = true};
	CHECK(sched_schedule(&p, &o, &whole));
	sched_discount(&p, percent, a, &longer);
	for (uint32_t x = 0; x < p.n; x++)
		CHECK(p.node[x].kind == SCHED_COMM
		          ? longer.node[x].time * percent >= p.node[x].time * 100 &&
		                (longer.node[x].time - 1) * percent < p.node[x].time * 100
		          : longer.node[x].time == p.node[x].time);
	CHECK(sched_schedule(&longer, &o, &of_longer));
	o.overlap = percent;
	CHECK(sched_schedule(&p, &o, &s));
	CHECK(s.b.p.n == of_longer.b.p.n && !memcmp(s.order, of_longer.order, sizeof *s.order * s.b.p.n));
	uint32_t bucket_n = 0;
	for (uint32_t x = 0; x < p.n; x++)
		if (s.bucket[x] != SCHED_NONE && s.bucket[x] >= bucket_n)
			bucket_n = s.bucket[x] + 1;
	CHECK(sched_bucket(&p, s.bucket, bucket_n, a, &b));
	CHECK_EQ(b.p.n, s.b.p.n);
	for (uint32_t k = 0; k < b.p.n; k++)
		CHECK_EQ(b.p.node[k].time, s.b.p.node[k].time);
	CHECK_EQ(sched_simulate(&b.p, s.order, NULL).runtime, s.result.runtime);
	bool other = whole.b.p.n != s.b.p.n || memcmp(s.order, whole.order, sizeof *s.order * s.b.p.n);
	sched_schedule_free(&s);
	sched_schedule_free(&whole);
	sched_schedule_free(&of_longer);
	arena_free(a);
	return other;
}

int main(void)
{
	unsigned others = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		others += is_discounted(seed, 50, (int)(seed % 3));
		others += is_discounted(seed, 130, 1);
	}
	CHECK(others > PROBLEMS / 4);
	return check_result();
}
