/* Tests of how far comms run ahead: against walks over the whole order, and schedules that keep to it. */
#include "check.h"
#include "sched/role.h"
#include "sched/schedule.h"
#include "sched/window.h"
#include "test_sched.h"

enum { PROBLEMS = 150, NODES = 60, MOVES = 200 };

static uint32_t place_of(const struct sched_problem *p, const uint32_t *order, uint32_t comm, bool wait)
{
	for (uint32_t k = 0; k < p->n; k++)
		if (wait ? p->node[order[k]].comm == comm : order[k] == comm)
			return k;
	return p->n;
}

/* By the words of pace.h, comm by comm. */
static struct sched_pace by_words(const struct sched_problem *p, const uint8_t *role, const uint32_t *order)
{
	struct sched_pace most = {0, 0};
	for (uint32_t k = 0; k < p->n; k++) {
		int64_t flying = 0;
		for (uint32_t c = 0; c < p->n; c++)
			if (p->node[c].kind == SCHED_COMM && place_of(p, order, c, false) <= k &&
			    place_of(p, order, c, true) > k)
				flying += p->node[c].out;
		most.in_flight = flying > most.in_flight ? flying : most.in_flight;
	}
	for (uint32_t c = 0; c < p->n; c++) {
		uint32_t wait = place_of(p, order, c, true);
		int64_t ahead = -p->node[c].time;
		if (p->node[c].kind != SCHED_COMM || role[c] != SCHED_SOURCE || wait == p->n)
			continue;
		for (uint32_t k = place_of(p, order, c, false); k < wait; k++)
			ahead += sched_host_time(p, order[k]);
		most.prefetch = ahead > most.prefetch ? ahead : most.prefetch;
	}
	return most;
}

/* A stretch is refused where the whole order would be beyond a limit. Returns how many were. */
static unsigned stretches(const struct sched_problem *p, const uint8_t *role, struct test_random *r)
{
	struct arena *a = arena_new();
	struct window w;
	unsigned refused = 0;
	uint32_t *order = test_original(a, p), *other = arena_new_array(a, uint32_t, p->n);
	struct sched_pace limit = by_words(p, role, order);
	limit.in_flight += 1 + (int64_t)test_draw(r, 4) * (1 << 19);
	limit.prefetch += 1 + test_draw(r, 300);
	window_open(&w, p, INT64_MAX / 2, order);
	window_pace(&w, role, limit);
	for (unsigned m = 0; m < MOVES; m++) {
		uint32_t from, end;
		if (!test_move(&w, r, other, &from, &end))
			continue;
		struct sched_pace want = by_words(p, role, other), got = sched_pace_of(p, role, other);
		CHECK_EQ(want.in_flight, got.in_flight);
		CHECK_EQ(want.prefetch, got.prefetch);
		bool ok = want.in_flight <= limit.in_flight && want.prefetch <= limit.prefetch;
		CHECK_EQ(window_runtime(&w, from, end) != INT64_MAX, ok);
		refused += !ok;
		if (ok)
			window_accept(&w, from, end);
	}
	window_close(&w);
	arena_free(a);
	return refused;
}

/* Sources that nothing but waits need can be held back to any distance. Returns whether one was. */
static bool holds(const struct sched_problem *p, const uint8_t *role, struct test_random *r)
{
	struct arena *a = arena_new();
	uint32_t *order = test_original(a, p);
	struct sched_pace before = sched_pace_of(p, role, order);
	int64_t prefetch = test_draw(r, 400);
	sched_pace_hold(p, role, prefetch, order);
	struct sched_pace after = sched_pace_of(p, role, order);
	CHECK(sched_is_schedule(p, order));
	CHECK(after.prefetch <= prefetch);
	arena_free(a);
	return before.prefetch > prefetch;
}

/* At each effort; the original order has one comm in flight at a time. Returns whether the limits matter. */
static bool schedules(const struct sched_problem *p, struct test_random *r)
{
	struct arena *a = arena_new();
	struct sched_schedule s;
	struct sched_pace least = {0, 0};
	struct sched_options o = {.limit = sched_simulate(p, test_original(a, p), NULL).peak + (1 << 22),
	                          .bucket = true};
	for (uint32_t x = 0; x < p->n; x++)
		least.in_flight = p->node[x].out > least.in_flight ? p->node[x].out : least.in_flight;
	CHECK(sched_schedule(p, &o, &s));
	struct sched_pace any = sched_pace_of(&s.b.p, sched_roles(&s.b.p, a), s.order);
	sched_schedule_free(&s);
	o.pace = (struct sched_pace){least.in_flight + 1 + test_draw(r, 1 << 22), 1 + test_draw(r, 200)};
	for (o.effort = 0; o.effort <= SCHED_MAX_EFFORT; o.effort++) {
		CHECK(sched_schedule(p, &o, &s));
		CHECK(sched_is_schedule(&s.b.p, s.order) && s.result.peak <= o.limit);
		struct sched_pace is = by_words(&s.b.p, sched_roles(&s.b.p, a), s.order);
		CHECK(is.in_flight == s.pace.in_flight && is.prefetch == s.pace.prefetch);
		CHECK(is.in_flight <= o.pace.in_flight && is.prefetch <= o.pace.prefetch);
		sched_schedule_free(&s);
	}
	arena_free(a);
	return any.in_flight > o.pace.in_flight || any.prefetch > o.pace.prefetch;
}

int main(void)
{
	unsigned refused = 0, held = 0, matter = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		struct arena *a = arena_new();
		struct test_random r = {seed};
		struct sched_problem p;
		test_problem(a, seed, NODES, &p);
		const uint8_t *role = sched_roles(&p, a);
		refused += stretches(&p, role, &r);
		held += holds(&p, role, &r);
		matter += schedules(&p, &r);
		arena_free(a);
	}
	CHECK(refused > PROBLEMS && held > PROBLEMS / 10 && matter > PROBLEMS / 10);
	return check_result();
}
