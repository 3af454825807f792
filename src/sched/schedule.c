/* schedule: see schedule.h. */
#include "sched/schedule.h"
#include "sched/improve.h"
#include "sched/paced.h"
#include "sched/peak.h"
#include "sched/role.h"
#include "sched/sched_bound.h"
#include "sched/sched_plan.h"
#include "sched/search.h"
#include "sched/small.h"
#include "sched/vary.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- known before the search */

static const uint32_t most_sizes[SCHED_MAX_EFFORT + 1] = {1, 8, 16, 16};

static const uint32_t most_joins[SCHED_MAX_EFFORT + 1] = {1, 1, 8, 8};

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Sorts and removes duplicates; of more than `most` sizes it keeps `most`, evenly spread. */
static void sort_distinct(struct sizes *l, uint32_t most)
{
	uint32_t n = 0;
	if (l->n)
		qsort(l->at, l->n, sizeof *l->at, by_size);
	for (uint32_t i = 0; i < l->n; i++)
		if (!n || l->at[n - 1] != l->at[i])
			l->at[n++] = l->at[i];
	l->n = n < most ? n : most;
	for (uint32_t i = 0; n > most && i < most; i++)
		l->at[i] = l->at[(uint64_t)(i + 1) * n / most - 1];
}

/* Finds the sizes that plans of an effort have. */
static void find_sizes(struct scheduler *s, int effort)
{
	s->join.n = s->gather.n = s->scatter.n = 0;
	for (uint32_t x = 0; x < s->p->n; x++) {
		if (s->role[x] == SCHED_SOURCE)
			vec_push(&s->gather, sched_transfer(s->p, x)->in);
		else if (s->role[x] == SCHED_SINK)
			vec_push(&s->scatter, sched_transfer(s->p, x)->in);
	}
	for (uint32_t i = 0; i < s->inners.n; i++)
		vec_push(&s->join, sched_transfer(s->p, s->inners.at[i].comm)->in);
	sort_distinct(&s->join, most_joins[effort]);
	sort_distinct(&s->gather, most_sizes[effort]);
	sort_distinct(&s->scatter, most_sizes[effort]);
}

/* Returns the factor by which sources take longer if the sinks of their lane are spread over all work. */
static double inflated(const struct scheduler *s)
{
	static const double most = 6;
	int64_t sinks[SCHED_MAX_LANES] = {0};
	double inflate = 1;
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *c = &s->p->node[s->comm.at[i]];
		if (s->role[s->comm.at[i]] == SCHED_SINK)
			sinks[c->lane] += c->time;
	}
	for (uint32_t l = 0; l < s->p->lane_n; l++) {
		double left = (double)(s->work - sinks[l]), here = most;
		if (left * most > (double)s->work)
			here = (double)s->work / left;
		if (s->source.first[l + 1] > s->source.first[l] && here > inflate)
			inflate = here;
	}
	return inflate;
}

/* Finds the memory that is free while each source is used. trace: of an order in which the results of
 * sources take no memory. */
static void find_room(struct scheduler *s, const struct sched_moment *trace)
{
	for (uint32_t l = 0; l < s->p->lane_n; l++)
		for (uint32_t i = s->source.first[l], k = 0, end = s->source.first[l + 1]; i < end; i++) {
			int64_t most = k < s->p->n ? trace[k].live : 0;
			for (; k < s->p->n && (i + 1 == end || trace[k].start < s->source.at[i + 1].needed);
			     k++)
				most = trace[k].live > most ? trace[k].live : most;
			s->source.at[i].room = s->o->limit - most;
		}
}

/* Lists the sinks that may share a bucket. live: by node: bytes that are live when it runs, in the same order. */
static void find_sinks(struct scheduler *s, const int64_t *live)
{
	const struct sched_problem *p = s->p;
	int64_t when = 0;
	s->sink.at = arena_new_array(s->arena, struct sched_sink, s->comm.n);
	for (uint32_t x = 0; x < p->n; when += sched_host_time(p, x++))
		if (s->role[x] == SCHED_SINK && sched_transfer(p, x)->family != SCHED_NONE)
			s->sink.at[s->sink.n++] = (struct sched_sink){x, when, s->o->limit - live[x]};
}

/* Finds the times when sources are needed, in a schedule in which sources and sinks take no time, and the memory
 * beside sources and sinks. */
static void find_sources(struct scheduler *s, const struct plan *plan)
{
	struct arena *scratch = arena_new();
	struct sched_problem idle = *s->p;
	idle.node = arena_new_array(scratch, struct sched_node, s->p->n);
	idle.storage = arena_new_array(scratch, struct sched_storage, s->p->storage_n);
	if (s->p->n)
		memcpy(idle.node, s->p->node, sizeof *idle.node * s->p->n);
	for (uint32_t x = 0; x < s->p->n; x++)
		if (s->role[x] == SCHED_SOURCE || s->role[x] == SCHED_SINK)
			idle.node[x].time = 0;
	if (s->p->storage_n)
		memcpy(idle.storage, s->p->storage, sizeof *idle.storage * s->p->storage_n);
	for (uint32_t k = 0; k < s->p->storage_n; k++)
		if (idle.storage[k].def != SCHED_NONE && s->role[idle.storage[k].def] == SCHED_SOURCE)
			idle.storage[k].bytes = 0;
	uint32_t *order = arena_new_array(scratch, uint32_t, s->p->n);
	struct sched_moment *trace = arena_new_array(scratch, struct sched_moment, s->p->n);
	int64_t *start = arena_new_array(scratch, int64_t, s->p->n),
	        *live = arena_new_array(scratch, int64_t, s->p->n);
	struct sched_list_same same;
	plan_list(s, sched_list_read(&idle, s->role, true, scratch), plan, INT64_MAX, order, &same);
	sched_simulate(&idle, order, trace);
	for (uint32_t k = 0; k < s->p->n; k++) {
		start[order[k]] = trace[k].start;
		live[order[k]] = trace[k].live;
	}
	sched_sources(s->p, s->role, start, s->arena, &s->source);
	find_room(s, trace);
	find_sinks(s, live);
	arena_free(scratch);
}

/* Runs the search; goal: see struct sched_search_options. A step in a large problem looks at more work, so
 * there are fewer steps; a small problem needs fewer. */
static void search_order(const struct scheduler *s, struct trial *t, uint64_t steps, int64_t goal)
{
	struct sched_schedule *made = &t->schedule;
	uint64_t most = steps * 4000 / (1 + s->comm.n), enough = (uint64_t)64 * s->p->n;
	most = most < enough ? most : enough;
	struct sched_search_options o = {.limit = s->o->limit,
	                                 .steps = most < steps ? most : steps,
	                                 .seed = 1,
	                                 .enough = s->bound,
	                                 .goal = goal};
	plan_open(s->p, t);
	size_t bytes = sizeof *made->order * made->b.p.n;
	uint32_t *before = mem_alloc(bytes + 1);
	if (bytes)
		memcpy(before, made->order, bytes);
	sched_search(&made->b.p, &o, made->order);
	struct sched_result found = sched_simulate(&made->b.p, made->order, NULL);
	/* The search counts trailing nodes that take no time, and so may find a longer order. */
	if (found.runtime <= made->result.runtime)
		made->result = found;
	else if (bytes)
		memcpy(made->order, before, bytes);
	free(before);
	plan_close(s->p, t);
}

/* Makes the trial the best if it is shorter; the former best takes its place. */
static void swap_if_shorter(struct scheduler *s, struct trial *t)
{
	struct trial former = s->best;
	if (t->schedule.result.runtime >= former.schedule.result.runtime)
		return;
	s->best = *t;
	*t = former;
}

/* Searches from the best and from all starts. give_up: starts that come no nearer to the best are left early. */
static void search_starts(struct scheduler *s, uint64_t steps, bool give_up)
{
	search_order(s, &s->best, steps, 0);
	for (uint32_t k = 0; k < s->start_n; k++) {
		search_order(s, &s->start[k], steps, give_up ? s->best.schedule.result.runtime : 0);
		swap_if_shorter(s, &s->start[k]);
	}
}

/* Improves the best and all starts. */
static void improve_starts(struct scheduler *s, const struct sched_improve_options *o)
{
	sched_improve(s, o);
	for (uint32_t k = 0; k < s->start_n; k++) {
		struct trial best = s->best;
		s->best = s->start[k];
		sched_improve(s, o);
		s->start[k] = best;
		swap_if_shorter(s, &s->start[k]);
	}
}

/* Returns a trial without buckets; its order is to be set. */
static struct trial alone_trial(struct scheduler *s, const struct plan *plan)
{
	struct trial t = plan_trial(s, plan);
	struct sched_schedule *made = &t.schedule;
	memset(made->bucket, 0xff, sizeof *made->bucket * s->p->transfer_n);
	plan_open(s->p, &t);
	made->order = arena_new_array(made->arena, uint32_t, s->p->n);
	return t;
}

/* Tries the original order. */
static void try_original(struct scheduler *s, const struct plan *plan)
{
	struct trial t = alone_trial(s, plan);
	for (uint32_t x = 0; x < s->p->n; x++)
		t.schedule.order[x] = x;
	plan_offer(s, &t);
}

/* Tries the original order with each comm just before the first node that needs it. Then no work runs beside a
 * comm that its node waits for, which is best if they slow each other much. */
static void try_apart(struct scheduler *s, const struct plan *plan)
{
	const struct sched_problem *p = s->p;
	struct trial t = alone_trial(s, plan);
	bool *issued = mem_zalloc((size_t)p->n + 1);
	uint32_t n = 0;
	for (uint32_t k = 0; k < 2 * p->n; k++) { /* comms that no node needs come last */
		uint32_t x = k < p->n ? k : k - p->n;
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			if (!issued[p->pred.item[i]]) {
				issued[p->pred.item[i]] = true;
				t.schedule.order[n++] = p->pred.item[i];
			}
		if (issued[x] || (k < p->n && p->node[x].kind == SCHED_COMM))
			continue;
		issued[x] = true;
		t.schedule.order[n++] = x;
	}
	free(issued);
	plan_offer(s, &t);
}

enum {
	LARGE = 1000,       /* nodes; with fewer, a search is quick */
	MOST_KEPT = 200000, /* nodes of all starts, for their memory */
};

/* Returns the part of its steps that a search is worth: all of them only if the best is so much longer than the
 * lower bound that they may find something. */
static double worth(const struct scheduler *s)
{
	static const double least = 0.3, enough = 0.01;
	double bound = (double)s->bound;
	double gap = bound > 0 ? (double)s->best.schedule.result.runtime / bound - 1 : enough;
	return gap >= enough ? 1 : gap <= least * enough ? least : gap / enough;
}

/* Tries all plans, and improves the best ones. */
static void vary_and_search(struct scheduler *s)
{
	find_sizes(s, 2);
	uint32_t kept = MOST_KEPT / (s->p->n + 1);
	s->start_most = kept < SCHED_STARTS ? kept : SCHED_STARTS;
	for (unsigned round = 0; round < 2 && sched_vary(s, true); round++)
		;
	if (s->bucket)
		sched_vary_parts(s);
	plan_forget(s);
	s->solved = sched_small(s, 20000);
	if (s->solved)
		return;
	double part = s->p->n < LARGE ? 1 : worth(s);
	struct sched_improve_options improve = {.changes = (uint32_t)(50 * part), .steps = 300, .seed = 1};
	search_starts(s, (uint64_t)(5000 * part), true);
	search_order(s, &s->best, (uint64_t)(10000 * part), 0);
	if (s->bucket)
		sched_improve(s, &improve);
}

static struct trial run_once(const struct sched_problem *p, const struct sched_options *o, bool bucket,
                             const struct scheduler *former, int64_t bound);

/* Adds the schedule that needs no more memory than the original order. A larger limit gives other buckets, which may
 * take longer. */
static void add_tight_start(struct scheduler *s)
{
	struct trial original = alone_trial(s, &s->best.plan);
	struct sched_options o = *s->o;
	for (uint32_t x = 0; x < s->p->n; x++)
		original.schedule.order[x] = x;
	o.limit = sched_simulate(&original.schedule.b.p, original.schedule.order, NULL).peak;
	o.effort = 2;
	sched_schedule_free(&original.schedule);
	if (o.limit == s->o->limit)
		return;
	struct trial tight = run_once(s->p, &o, s->bucket, NULL, s->bound);
	plan_open(s->p, &tight);
	s->plans += tight.schedule.plans;
	plan_offer(s, &tight);
}

static void search_longer(struct scheduler *s)
{
	static const struct sched_improve_options
	    first = {.changes = 200, .steps = 300, .seed = 100},
	    then = {.changes = 2000, .steps = 300, .seed = 1000, .lanes = 0.01},
	    again = {.changes = 1000, .steps = 300, .seed = 2000, .lanes = 0.01},
	    last = {.changes = 120, .steps = 300, .seed = 4000, .refill = true, .lanes = 0.01};
	s->solved = s->solved || sched_small(s, 200000);
	if (s->solved)
		return;
	add_tight_start(s);
	if (s->bucket) {
		sched_paced_try(s);
		improve_starts(s, &first);
		sched_improve(s, &then);
	}
	search_starts(s, 5000, false);
	if (s->bucket)
		improve_starts(s, &again);
	search_order(s, &s->best, 100000, 0);
	if (s->bucket) /* last, so that the schedule is never longer than without it */
		sched_improve(s, &last);
}

void sched_schedule_free(struct sched_schedule *s)
{
	arena_free(s->arena);
	arena_free(s->reordered);
}

enum { FEW_LAUNCHES = 64 }; /* of a small problem, a part of the work is hardly one launch */

/* Finds how the comms of each lane, on average, and work slow each other. */
static void find_slowdowns(struct scheduler *s)
{
	const struct sched_problem *p = s->p;
	double *time = mem_zalloc(sizeof *time * ((size_t)p->lane_n + 1));
	s->slows = arena_new_array(s->arena, double, p->lane_n);
	s->slowed = arena_new_array(s->arena, double, p->lane_n);
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *c = &p->node[s->comm.at[i]];
		const struct sched_contention *r = &p->contention[c->contention];
		double t = c->time > 0 ? (double)c->time : 0;
		time[c->lane] += t;
		s->slows[c->lane] += t * (1 - (double)SCHED_ALONE / (double)r->compute);
		s->slowed[c->lane] += t * (double)r->comm / SCHED_ALONE;
	}
	for (uint32_t l = 0; l < p->lane_n; l++) {
		s->slows[l] = time[l] > 0 ? s->slows[l] / time[l] : 0;
		s->slowed[l] = time[l] > 0 ? s->slowed[l] / time[l] : 1;
	}
	free(time);
}

static void open_scheduler(struct scheduler *s, const struct sched_problem *p, const struct sched_options *o,
                           bool bucket, const struct scheduler *former)
{
	*s = (struct scheduler){.p = p, .o = o, .bucket = bucket, .arena = arena_new(), .former = former};
	s->role = sched_roles(p, s->arena);
	for (uint32_t x = 0; x < p->n; x++) {
		s->work += sched_host_time(p, x);
		if (p->node[x].kind == SCHED_COMPUTE && p->node[x].time > 0)
			s->timed += sched_host_time(p, x);
		if (s->role[x] == SCHED_INNER && p->node[x].time > s->inner)
			s->inner = p->node[x].time;
		if (p->node[x].kind == SCHED_COMM)
			vec_push(&s->comm, x);
	}
	s->planned = arena_new_array(s->arena, uint32_t, p->transfer_n);
	sched_inners(p, s->role, &s->inners);
	if (p->contention_n)
		find_slowdowns(s);
}

static void close_scheduler(struct scheduler *s)
{
	vec_free(&s->comm);
	vec_free(&s->listed);
	plan_forget(s);
	vec_free(&s->gather);
	vec_free(&s->scatter);
	vec_free(&s->join);
	vec_free(&s->inners);
	arena_free(s->arena);
}

/* Schedules a problem whose original order is within the limit. An effort goes on from the result of the one
 * below, so it is never worse. */
static void run_scheduler(struct scheduler *s, int64_t bound)
{
	const struct sched_problem *p = s->p;
	int effort = s->o->effort;
	struct plan plan = {.inflate = 1, .share = 1, .pack = 1};
	s->bound = bound;
	plan.window = 4 * s->inner;
	plan.prefetch = s->work / 4 + FEW_LAUNCHES * p->launch;
	plan.urgent = s->work / 40 + FEW_LAUNCHES * p->launch;
	find_sizes(s, 1);
	if (s->former) {
		s->source = s->former->source;
		s->sink = s->former->sink;
	} else {
		find_sources(s, &plan);
	}
	s->inflate = inflated(s);
	plan_try(s, &plan);
	try_original(s, &plan);
	if (p->contention_n)
		try_apart(s, &plan);
	if (effort >= 1 && s->comm.n)
		sched_vary(s, false);
	if (effort >= 2 && s->comm.n)
		vary_and_search(s);
	if (effort >= 3 && s->comm.n)
		search_longer(s);
	s->best.schedule.plans = s->plans;
	for (uint32_t k = 0; k < s->start_n; k++)
		sched_schedule_free(&s->start[k].schedule);
	s->start_n = 0;
}

/* Returns the best schedule. former: of the same problem with buckets, or NULL. */
static struct trial run_once(const struct sched_problem *p, const struct sched_options *o, bool bucket,
                             const struct scheduler *former, int64_t bound)
{
	struct scheduler s;
	open_scheduler(&s, p, o, bucket, former);
	run_scheduler(&s, bound);
	close_scheduler(&s);
	return s.best;
}

/* Returns the lower bound, or 0 if finding it would take longer than the plans of the effort. */
static int64_t find_bound(const struct sched_problem *p, const struct sched_options *o, bool bucket)
{
	return o->effort > 1 ? sched_bound_within(p, bucket, o->limit).runtime : 0;
}

/* Schedules without buckets, and keeps the result if it is shorter. Returns true if it is. former: of the schedule
 * with buckets. */
static bool try_alone(const struct scheduler *former, const struct sched_options *o, int64_t bound,
                      struct trial *out)
{
	struct trial alone = run_once(former->p, o, false, former, bound);
	unsigned plans = out->schedule.plans + alone.schedule.plans;
	bool better = alone.schedule.result.runtime < out->schedule.result.runtime;
	sched_schedule_free(better ? &out->schedule : &alone.schedule);
	if (better)
		*out = alone;
	out->schedule.plans = plans;
	return better;
}

/* Schedules with buckets and, if that could be better, without. Effort 2 searches without buckets only if the
 * plans of effort 1 are better so. */
static void find_best(const struct sched_problem *p, const struct sched_options *o, struct trial *out)
{
	struct scheduler s;
	struct sched_options plans = *o;
	plans.effort = 1;
	open_scheduler(&s, p, o, o->bucket, NULL);
	run_scheduler(&s, find_bound(p, o, o->bucket));
	*out = s.best;
	if (o->bucket && o->effort && (o->effort > 2 || try_alone(&s, &plans, 0, out))) {
		int64_t bound = find_bound(p, o, false);
		if (o->effort > 1 && out->schedule.result.runtime > bound)
			try_alone(&s, o, bound, out);
	}
	close_scheduler(&s);
}

static void schedule_within(const struct sched_problem *p, const struct sched_options *o,
                            struct sched_schedule *out)
{
	struct trial best;
	find_best(p, o, &best);
	plan_open(p, &best);
	*out = best.schedule;
}

/* Translates a schedule of the reordered problem to the nodes of the original problem. */
static void tell_of_original(struct sched_schedule *s, const uint32_t *order, uint32_t n)
{
	uint32_t *became = arena_new_array(s->arena, uint32_t, n);
	for (uint32_t k = 0; k < n; k++)
		became[order[k]] = s->b.became[k];
	for (uint32_t k = 0; k < s->b.p.n; k++)
		s->b.origin[k].node = order[s->b.origin[k].node];
	s->b.became = became;
}

/* Returns the original order as the schedule. */
static void keep_order(const struct sched_problem *p, struct sched_schedule *out)
{
	*out = (struct sched_schedule){.arena = arena_new()};
	out->bucket = arena_new_array(out->arena, uint32_t, p->transfer_n);
	memset(out->bucket, 0xff, sizeof *out->bucket * p->transfer_n);
	sched_bucket(p, out->bucket, 0, out->arena, &out->b);
	out->order = arena_new_array(out->arena, uint32_t, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		out->order[x] = x;
	out->result = sched_simulate(&out->b.p, out->order, NULL);
}

/* Schedules a problem whose original order exceeds the limit. */
static bool schedule_lowered(const struct sched_problem *p, const struct sched_options *o, uint32_t *order,
                             struct sched_schedule *out)
{
	struct arena *reordered = arena_new();
	struct sched_problem lower;
	bool fits = sched_lower_peak(p, o->limit, order) <= o->limit;
	sched_reorder(p, order, reordered, &lower);
	if (fits)
		schedule_within(&lower, o, out);
	else
		keep_order(&lower, out);
	tell_of_original(out, order, p->n);
	out->reordered = reordered;
	return fits;
}

bool sched_schedule(const struct sched_problem *p, const struct sched_options *o, struct sched_schedule *out)
{
	uint32_t *order = mem_alloc(sizeof *order * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	bool within = sched_simulate(p, order, NULL).peak <= o->limit;
	bool fits = within || schedule_lowered(p, o, order, out);
	free(order);
	if (within)
		schedule_within(p, o, out);
	assert(sched_is_schedule(&out->b.p, out->order));
	return fits;
}
