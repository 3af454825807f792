/* Tests of schedules in which work and communication slow each other: the simulation follows the rule ns by ns,
 * moves give the times of a new simulation, and no bound is above the best of all orders. */
#include "check.h"
#include "sched/contention.h"
#include "sched/sched_bound.h"
#include "sched/schedule.h"
#include "test_sched.h"

enum { PROBLEMS = 200, NODES = 24, SMALL = 7, MOVES = 60, RULES = 4, LANES = 2 };

/* Draws rules: of one link or two, and of none. */
static void draw_rules(struct arena *a, struct test_random *r, struct sched_problem *p)
{
	struct sched_contention *rule = arena_new_array(a, struct sched_contention, RULES);
	rule[0] = (struct sched_contention){SCHED_ALONE, SCHED_ALONE, 0};
	for (uint32_t k = 1; k < RULES; k++) {
		rule[k].compute = SCHED_ALONE + (test_draw(r, 2) ? test_draw(r, 1500) : 0);
		rule[k].comm = SCHED_ALONE + (test_draw(r, 2) ? test_draw(r, 1500) : 0);
		rule[k].link = test_draw(r, 3);
	}
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM)
			p->node[x].contention = (uint8_t)(p->node[x].lane ? 1 : test_draw(r, RULES));
	p->contention = rule;
	p->contention_n = RULES;
}

static void make_problem(struct arena *a, uint32_t seed, uint32_t n, struct sched_problem *p)
{
	struct test_random r = {seed};
	test_problem(a, seed, n, p);
	draw_rules(a, &r, p);
}

/* A table of rules that slow nothing gives the same times as no table. */
static void rules_may_slow_nothing(const struct sched_problem *p)
{
	static const struct sched_contention none = {SCHED_ALONE, SCHED_ALONE, 0};
	struct arena *a = arena_new();
	struct sched_problem with = *p, without = *p;
	struct sched_moment x[NODES], y[NODES];
	uint32_t *order = test_original(a, p);
	with.node = arena_new_array(a, struct sched_node, p->n);
	for (uint32_t k = 0; k < p->n; k++) {
		with.node[k] = p->node[k];
		with.node[k].contention = 0;
	}
	with.contention = &none;
	with.contention_n = 1;
	without.contention = NULL;
	without.contention_n = 0;
	struct sched_result r = sched_simulate(&with, order, x), s = sched_simulate(&without, order, y);
	CHECK_EQ(r.runtime, s.runtime);
	CHECK_EQ(r.exposed, s.exposed);
	CHECK_EQ(r.host, s.host);
	for (uint32_t k = 0; k < p->n; k++)
		CHECK(x[k].start == y[k].start && x[k].stall == y[k].stall && x[k].begin == y[k].begin &&
		      x[k].end == y[k].end && x[k].live == y[k].live);
	arena_free(a);
}

/* The rule again, one ns after the other. */
struct clock {
	const struct sched_problem *p;
	int64_t now, free[LANES]; /* free: when the comm before lets the lane go */
	uint32_t queue[LANES][NODES * 4], n[LANES], first[LANES];
	double left[LANES]; /* ns; of the comm that runs */
	bool runs[LANES];
	int64_t begin[NODES * 4], end[NODES * 4], issued[NODES * 4];
	bool over[NODES * 4];
};

static void start_comms(struct clock *c)
{
	for (uint32_t l = 0; l < LANES; l++)
		while (!c->runs[l] && c->first[l] < c->n[l]) {
			uint32_t x = c->queue[l][c->first[l]];
			int64_t time = c->p->node[x].time;
			if (c->now < c->free[l])
				break;
			c->begin[x] = c->now;
			c->left[l] = (double)time;
			c->runs[l] = time > 0;
			if (time <= 0) {
				c->over[x] = true;
				c->end[x] = c->now + time;
				c->free[l] = c->end[x] + c->p->launch;
				c->first[l]++;
			}
		}
}

/* Passes one ns. work: NULL, or the ns that are left of the host's work. */
static void tick(struct clock *c, double *work)
{
	double most = 1000;
	uint32_t on[LANES] = {0};
	for (uint32_t l = 0; l < LANES; l++) {
		const struct sched_contention *r =
		    c->runs[l] ? &c->p->contention[c->p->node[c->queue[l][c->first[l]]].contention] : NULL;
		most = r && (double)r->compute > most ? (double)r->compute : most;
		for (uint32_t k = 0; r && k < LANES; k++)
			on[l] +=
			    c->runs[k] &&
			    c->p->contention[c->p->node[c->queue[k][c->first[k]]].contention].link == r->link;
		on[l] = r && r->link ? on[l] : 1;
	}
	c->now++;
	for (uint32_t l = 0; l < LANES; l++) {
		if (!c->runs[l])
			continue;
		uint32_t x = c->queue[l][c->first[l]];
		double slow = work ? (double)c->p->contention[c->p->node[x].contention].comm : 1000;
		c->left[l] -= 1000 / slow / on[l];
		if (c->left[l] > 1e-9)
			continue;
		c->runs[l] = false;
		c->over[x] = true;
		c->end[x] = c->now;
		c->free[l] = c->now + c->p->launch;
		c->first[l]++;
	}
	if (work)
		*work -= 1000 / most;
	start_comms(c);
}

static void simulation_follows_the_rule(const struct sched_problem *p, const uint32_t *order)
{
	struct sched_moment trace[NODES * 4];
	struct sched_result r = sched_simulate(p, order, trace);
	struct clock *c = mem_zalloc(sizeof *c);
	int64_t end = 0, stalls = 0;
	c->p = p;
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = order[k];
		const struct sched_node *n = &p->node[x];
		CHECK_EQ(trace[k].start, c->now);
		if (n->kind == SCHED_COMM) {
			c->queue[n->lane][c->n[n->lane]++] = x;
			start_comms(c);
		} else {
			int64_t from = c->now;
			while (n->comm != SCHED_NONE && !c->over[n->comm])
				tick(c, NULL);
			while (n->comm != SCHED_NONE && c->now < c->end[n->comm] + p->launch)
				tick(c, NULL);
			CHECK_EQ(trace[k].stall, c->now - from);
			stalls += c->now - from;
			CHECK_EQ(trace[k].begin, c->now);
			double work = (double)n->time;
			while (work > 1e-9)
				tick(c, &work);
			CHECK_EQ(trace[k].end, c->now);
			end = n->time > 0 && c->now > end ? c->now : end;
		}
		for (int64_t t = 0; t < p->launch; t++)
			tick(c, NULL);
	}
	while (c->first[0] < c->n[0] || c->first[1] < c->n[1])
		tick(c, NULL);
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = order[k];
		if (p->node[x].kind != SCHED_COMM)
			continue;
		CHECK_EQ(trace[k].begin, c->begin[x]);
		CHECK_EQ(trace[k].end, c->end[x]);
		end = p->node[x].time > 0 && c->end[x] > end ? c->end[x] : end;
	}
	CHECK_EQ(r.runtime, end);
	CHECK_EQ(r.exposed, stalls);
	free(c);
}

static void moves_are_what_they_say(const struct sched_problem *p, struct test_random *r)
{
	struct arena *a = arena_new();
	struct window w;
	uint32_t *order = test_original(a, p), *other = arena_new_array(a, uint32_t, p->n);
	window_open(&w, p, INT64_MAX, order);
	for (unsigned m = 0; m < MOVES; m++) {
		uint32_t from, end;
		if (!test_move(&w, r, other, &from, &end))
			continue;
		struct sched_result want = sched_simulate(p, other, NULL);
		int64_t got = window_runtime(&w, from, end, INT64_MAX);
		CHECK(got >= want.runtime && got <= want.runtime + p->launch * p->n);
		if (test_draw(r, 2))
			continue;
		window_accept(&w, from, end);
		CHECK_EQ(w.runtime, got);
	}
	window_close(&w);
	arena_free(a);
}

static void schedules_are_valid(const struct sched_problem *p)
{
	struct arena *a = arena_new();
	struct sched_result before = sched_simulate(p, test_original(a, p), NULL);
	int64_t runtime = before.runtime;
	for (int effort = 0; effort <= SCHED_MAX_EFFORT; effort++) {
		struct sched_options o = {.limit = before.peak + (1 << 20), .effort = effort, .bucket = true};
		struct sched_schedule s;
		sched_schedule(p, &o, &s);
		CHECK(sched_is_schedule(&s.b.p, s.order));
		simulation_follows_the_rule(&s.b.p, s.order);
		CHECK(s.result.peak <= o.limit);
		CHECK(s.result.runtime <= runtime);
		CHECK(sched_bound_within(p, true, o.limit).runtime <= s.result.runtime);
		runtime = s.result.runtime;
		sched_schedule_free(&s);
	}
	arena_free(a);
}

static int64_t runtime_of(struct sched_result r)
{
	return r.runtime;
}

static void bounds_are_below_all_orders(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	make_problem(a, seed, SMALL, &p);
	int64_t best = least_of_orders(&p, runtime_of);
	CHECK(sched_bound(&p, false).runtime <= best);
	CHECK(sched_bound(&p, true).runtime <= best);
	arena_free(a);
}

/* Work of 1000 ns beside a comm of 600 ns: one of the two is over first, and then the other is not slowed. */
static void rates_are_those_of_the_rule(void)
{
	static const struct sched_contention nccl = {1350, 1100, 1};
	struct sched_progress p = sched_progress_begin(1000, 10);
	CHECK_EQ(sched_progress_end(&p), 1010);
	sched_progress_turn(&p, 10, sched_work_rate(nccl.compute));
	CHECK_EQ(sched_progress_end(&p), 1360);
	sched_progress_turn(&p, 145, SCHED_RATE); /* 135 ns did 100 */
	CHECK_EQ(sched_progress_end(&p), 1045);
	CHECK_EQ(sched_comm_rate(&nccl, false, 1), SCHED_RATE);
	CHECK_EQ(sched_comm_rate(&nccl, false, 2), SCHED_RATE / 2);
	p = sched_progress_begin(600, 0);
	sched_progress_turn(&p, 0, sched_comm_rate(&nccl, true, 2));
	CHECK_EQ(sched_progress_end(&p), 1320);
}

int main(void)
{
	uint32_t problems = getenv("HIRC_FEW") ? PROBLEMS / 4 : PROBLEMS;
	rates_are_those_of_the_rule();
	for (uint32_t seed = 0; seed < problems; seed++) {
		struct arena *a = arena_new();
		struct test_random r = {seed};
		struct sched_problem p;
		make_problem(a, seed, NODES, &p);
		simulation_follows_the_rule(&p, test_original(a, &p));
		rules_may_slow_nothing(&p);
		moves_are_what_they_say(&p, &r);
		if (seed < problems / 10)
			schedules_are_valid(&p);
		bounds_are_below_all_orders(seed);
		arena_free(a);
	}
	return check_result();
}
