/* vary: see vary.h. */
#include "sched/vary.h"
#include "sched/combine.h"

static const double windows[] = {0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.2, 1}; /* parts of the work */
enum {
	FEW = 256, /* with fewer nodes, a small part of the work is hardly one node */
	MOST_PARTS = 4,
	WIDE = 2, /* windows tried for so few nodes, the last ones */
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void vary_inner(struct scheduler *s)
{
	struct plan plan = s->best.plan;
	plan.parts = 1;
	for (uint32_t k = s->join.n; k-- > 0;) {
		plan.inner = s->join.at[k];
		plan_try(s, &plan);
	}
}

void sched_vary_parts(struct scheduler *s)
{
	struct plan plan = s->best.plan;
	for (plan.parts = 2; plan.parts <= MOST_PARTS && 2 * plan.parts <= s->inners.most; plan.parts *= 2)
		for (uint32_t k = s->join.n; k-- > 0;) {
			plan.inner = s->join.at[k];
			plan_try(s, &plan);
		}
}

/* Tries only longer windows than now, unless `all` is set. */
static void vary_window(struct scheduler *s, bool all)
{
	struct plan plan = s->best.plan;
	int64_t now = plan.window;
	for (unsigned i = 0; i < COUNT(windows) - (s->p->n <= FEW ? 0 : WIDE); i++) {
		plan.window = (int64_t)(windows[i] * (double)s->work) + s->inner;
		if (plan.window > now || all)
			plan_try(s, &plan);
	}
}

static void vary_feeding(struct scheduler *s)
{
	static const double parts[] = {0.0003, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 1};
	struct plan plan = s->best.plan;
	for (unsigned i = 0; i < COUNT(parts); i++) {
		plan.prefetch = (int64_t)(parts[i] * (double)s->work);
		plan_try(s, &plan);
	}
	plan = s->best.plan;
	for (unsigned i = 0; i < COUNT(parts); i++) {
		plan.urgent = (int64_t)(parts[i] * (double)s->work);
		plan_try(s, &plan);
	}
}

static void vary_depth(struct scheduler *s)
{
	struct plan plan = s->best.plan;
	plan.deep = !plan.deep;
	plan_try(s, &plan);
}

/* Returns true if a lane without buckets has more work than the host. */
static bool is_lane_bound(const struct scheduler *s)
{
	int64_t lane[SCHED_MAX_LANES] = {0};
	bool bound = false;
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *c = &s->p->node[s->comm.at[i]];
		lane[c->lane] += c->time + s->p->launch;
		bound |= lane[c->lane] > s->work;
	}
	return bound;
}

/* Varies windows before buckets, since the gain of buckets depends on the window more than the other way
 * round. If a lane can only keep up with the host with buckets, those come first. */
bool sched_vary(struct scheduler *s, bool all)
{
	int64_t before = s->best.schedule.result.runtime;
	bool last = s->bucket && is_lane_bound(s);
	if (!last)
		vary_window(s, all);
	if (s->bucket) {
		sched_combine(s, all || s->p->n <= FEW);
		vary_inner(s);
	}
	if (last)
		vary_window(s, all);
	vary_depth(s);
	if (all)
		vary_feeding(s);
	return s->best.schedule.result.runtime < before;
}
