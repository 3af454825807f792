/* vary: see vary.h. */
#include "sched/vary.h"

static const double shares[] = {0, 0.5, 0.25, 0.125};
static const double packs[] = {0.7, 0.5, 0.35, 0.25, 0.125};
static const double inflates[] = {1, 1.3, 1.6, 2, 2.5, 3, 4, 6},
                    spans[] = {0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 1},
                    windows[] = {0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.2, 1}; /* parts of the work */
enum {
	NEAR = 16, /* least span, in launches */
	FEW = 256, /* with fewer nodes, a small part of the work is hardly one node */
	WIDE = 2,  /* windows tried for so few nodes, the last ones */
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void try_gather(struct scheduler *s, struct plan plan, double inflate)
{
	plan.inflate = inflate;
	for (uint32_t k = 0; k < s->gather.n; k++) {
		plan.gather = s->gather.at[k];
		plan_try(s, &plan);
	}
}

static void vary_gather(struct scheduler *s, bool all)
{
	struct plan plan = s->best.plan;
	try_gather(s, plan, s->inflate);
	if (s->inflate > 1)
		try_gather(s, plan, 1.4 * s->inflate);
	for (unsigned i = 0; all && i < COUNT(inflates); i++)
		try_gather(s, plan, inflates[i]);
	for (unsigned i = 0; i < COUNT(shares); i++) {
		plan.share = shares[i];
		try_gather(s, plan, s->inflate);
	}
}

/* Tries larger sizes until one brings nothing, or all of them. */
static void vary_scatter(struct scheduler *s, bool all)
{
	struct plan plan = s->best.plan;
	bool better = true;
	for (uint32_t k = 0; k < s->scatter.n && (better || all); k++) {
		better = false;
		for (unsigned i = 0; i < COUNT(spans) - (all ? 0 : 2); i += all ? 1 : 2) {
			plan.scatter = s->scatter.at[k];
			plan.span = (int64_t)(spans[i] * (double)s->work);
			plan.span = plan.span > NEAR * s->p->launch ? plan.span : NEAR * s->p->launch;
			better |= plan_try(s, &plan);
		}
		for (unsigned i = 0; i < COUNT(packs); i++) {
			struct plan capped = plan;
			capped.span = s->work;
			capped.pack = packs[i];
			better |= plan_try(s, &capped);
		}
	}
}

static void vary_inner(struct scheduler *s)
{
	struct plan plan = s->best.plan;
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
	static const double parts[] = {0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1};
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
	bool last = s->o->bucket && is_lane_bound(s);
	if (!last)
		vary_window(s, all);
	if (s->o->bucket) {
		vary_gather(s, all);
		vary_inner(s);
		vary_scatter(s, all);
	}
	if (last)
		vary_window(s, all);
	vary_depth(s);
	if (all)
		vary_feeding(s);
	return s->best.schedule.result.runtime < before;
}
