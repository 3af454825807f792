/* Tests of problems that are scheduled together, on random problems whose comms meet: shared comms have one order and
 * the same buckets in all, no problem ends later than before, and limits hold. */
#include "check.h"
#include "sched/together.h"
#include "test_sched.h"

enum { TEAMS = 120, MEMBERS = 3, NODES = 30, LANES = 2, EVENTS = 64 };

struct team {
	struct arena *a;
	struct sched_problem p[MEMBERS];
	struct sched_member member[MEMBERS];
	struct sched_team t;
	uint32_t last; /* the members of lane 1: 0 to here; lane 0 has all of them */
};

/* Numbers the comms of each lane: the k-th of a lane meets the k-th of the others that have the lane. Comms without
 * another meet nothing, but are events, too. */
static void number_events(struct team *t)
{
	uint32_t most[LANES] = {0};
	for (uint32_t c = 0; c < MEMBERS; c++) {
		uint32_t n[LANES] = {0};
		for (uint32_t x = 0; x < t->p[c].n; x++)
			if (t->p[c].node[x].kind == SCHED_COMM)
				n[t->p[c].node[x].lane]++;
		for (uint32_t l = 0; l < LANES; l++)
			most[l] = n[l] > most[l] ? n[l] : most[l];
	}
	for (uint32_t c = 0; c < MEMBERS; c++) {
		uint32_t n[LANES] = {0};
		t->member[c].event = arena_new_array(t->a, uint32_t, t->p[c].n);
		for (uint32_t x = 0; x < t->p[c].n; x++) {
			uint32_t lane = t->p[c].node[x].lane;
			bool comm = t->p[c].node[x].kind == SCHED_COMM;
			bool own = comm && lane && c > t->last;
			t->member[c].event[x] = !comm ? SCHED_NONE
			                        : own ? most[0] + most[1] + n[lane]++
			                              : (lane ? most[0] : 0) + n[lane]++;
		}
	}
	t->t.event_n = most[0] + 2 * most[1];
}

static void open_team(struct team *t, uint32_t seed)
{
	*t = (struct team){.a = arena_new(), .last = 1 + seed % 2};
	for (uint32_t c = 0; c < MEMBERS; c++) {
		test_problem(t->a, seed * MEMBERS + c, NODES - 4 * c, &t->p[c]);
		struct sched_result r = sched_simulate(&t->p[c], test_original(t->a, &t->p[c]), NULL);
		t->member[c].p = &t->p[c];
		t->member[c].limit = r.peak + (seed % 3 ? 4 << 20 : 0);
	}
	number_events(t);
	t->t.member = t->member;
	t->t.member_n = MEMBERS;
	t->t.effort = (int)(seed % 3);
	t->t.bucket = seed % 5 != 0;
}

/* Lists the events of a schedule in order; a bucket stands for its least event. Returns how many there are. */
static uint32_t list_events(const struct team *t, const struct sched_schedule *s, uint32_t c, uint32_t *out,
                            uint64_t *bucket)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < s->b.p.n; k++) {
		struct sched_origin o = s->b.origin[s->order[k]];
		if (o.step != SCHED_STEP_COMM)
			continue;
		uint32_t least = t->member[c].event[o.node];
		uint64_t members = 0;
		for (uint32_t x = 0; x < t->p[c].n; x++)
			if (t->p[c].node[x].kind == SCHED_COMM &&
			    (x == o.node || (o.bucket != SCHED_NONE &&
			                     test_bucket_of(&t->p[c], s->bucket, x) == o.bucket))) {
				uint32_t e = t->member[c].event[x];
				least = e < least ? e : least;
				members |= (uint64_t)1 << e;
			}
		out[n] = least;
		bucket[n++] = members;
	}
	return n;
}

/* Checks that events which two schedules share come in one order, in the same buckets. */
static void compare_orders(const struct team *t, const struct sched_joint *j, uint32_t a, uint32_t b)
{
	uint32_t x[EVENTS], y[EVENTS], at = 0;
	uint64_t p[EVENTS], q[EVENTS];
	uint32_t n = list_events(t, &j->schedule[a], a, x, p), m = list_events(t, &j->schedule[b], b, y, q);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < m; i++)
			if (x[k] == y[i]) {
				CHECK(i >= at);
				CHECK(p[k] == q[i]);
				at = i;
			}
}

static void check_member(const struct team *t, const struct sched_joint *j, uint32_t c)
{
	const struct sched_schedule *s = &j->schedule[c];
	CHECK(sched_is_schedule(&s->b.p, s->order));
	CHECK(j->after[c].result.runtime <= j->before[c].result.runtime);
	CHECK(j->after[c].result.peak <= t->member[c].limit);
	CHECK_EQ(sched_simulate(&s->b.p, s->order, NULL).peak, j->after[c].result.peak);
}

/* Returns true if a leader was found. */
static bool schedule(uint32_t seed, unsigned *buckets)
{
	struct team t;
	struct sched_joint j;
	int64_t least;
	open_team(&t, seed);
	bool ok = sched_together(&t.t, t.a, &j, &least);
	CHECK(ok);
	for (uint32_t c = 0; c < MEMBERS && ok; c++) {
		check_member(&t, &j, c);
		for (uint32_t k = 0; k < j.schedule[c].b.p.n; k++)
			*buckets += j.schedule[c].b.origin[k].step == SCHED_STEP_COMM &&
			            j.schedule[c].b.origin[k].bucket != SCHED_NONE;
		for (uint32_t d = 0; d < c && j.choice == SCHED_LED; d++)
			compare_orders(&t, &j, d, c);
	}
	for (uint32_t c = 0; c < MEMBERS && ok; c++)
		sched_schedule_free(&j.schedule[c]);
	arena_free(t.a);
	return ok && j.choice == SCHED_LED;
}

/* Schedules all members within one limit. Returns false with the least limit if there is no schedule. */
static bool schedule_within(uint32_t seed, int64_t limit, int64_t *least)
{
	struct team t;
	struct sched_joint j;
	open_team(&t, seed);
	for (uint32_t c = 0; c < MEMBERS; c++)
		t.member[c].limit = limit;
	bool ok = sched_together(&t.t, t.a, &j, least);
	for (uint32_t c = 0; c < MEMBERS && ok; c++) {
		CHECK(j.after[c].result.peak <= limit);
		sched_schedule_free(&j.schedule[c]);
	}
	arena_free(t.a);
	return ok;
}

/* The least limit that is named after a failure is enough for every member. */
static void check_least(uint32_t seed)
{
	int64_t least = 0, again;
	if (!schedule_within(seed, 1, &least))
		CHECK(schedule_within(seed, least, &again));
}

int main(void)
{
	unsigned led = 0, buckets = 0, teams = getenv("HIRC_FEW") ? TEAMS / 4 : TEAMS;
	for (uint32_t seed = 0; seed < teams; seed++) {
		led += schedule(seed, &buckets);
		check_least(seed);
	}
	CHECK(led > teams / 4);
	CHECK(buckets > teams / 8);
	return check_result();
}
