/* schedule: see schedule.h. */
#include "sched/schedule.h"
#include "sched/peak.h"
#include "sched/regroup.h"
#include "sched/role.h"
#include "sched/sched_bound.h"
#include "sched/sched_plan.h"
#include "sched/search.h"
#include "sched/vary.h"
#include <stdlib.h>
#include <string.h>

/* ---- small changes of the best */

/* Draws a comm that is in a row: the comm of a wait that holds the host, an earlier one on its lane, or
 * any. */
static uint32_t draw_comm(const struct scheduler *s, const struct sched_rows *rows, struct sched_random *r,
                          const uint32_t *held, uint32_t held_n)
{
	if (!held_n || !sched_draw(r, 3))
		return rows->comm[sched_draw(r, rows->n)];
	uint32_t x = held[sched_draw(r, held_n)], at = rows->at[x];
	uint32_t back = sched_draw(r, 16), first = at == SCHED_NONE ? 0 : rows->family[s->p->node[x].family];
	if (at == SCHED_NONE)
		return rows->comm[sched_draw(r, rows->n)];
	return rows->comm[at - first > back ? at - back : first];
}

/* Finds the comms of the first problem whose waits hold the host. */
static uint32_t find_held(const struct scheduler *s, uint32_t *held)
{
	const struct sched_schedule *best = &s->best.schedule;
	struct sched_moment *trace = mem_alloc(sizeof *trace * ((size_t)best->b.p.n + 1));
	uint32_t n = 0;
	sched_simulate(&best->b.p, best->order, trace);
	for (uint32_t k = 0; k < best->b.p.n; k++)
		if (trace[k].stall > best->result.exposed / 100)
			held[n++] = best->b.origin[best->b.p.node[best->order[k]].comm].node;
	free(trace);
	return n;
}

static void change_plan(const struct scheduler *s, struct sched_random *r, struct plan *plan)
{
	int64_t *part[] = {&plan->window, &plan->prefetch, &plan->urgent};
	int64_t *changed = part[sched_draw(r, 3)], most = s->work;
	*changed =
	    *changed ? *changed * (3 + sched_draw(r, 6)) / 4 : s->work * (1 + sched_draw(r, 50)) / 1000;
	*changed = *changed < most ? *changed : most;
}

/* Tries random changes of the buckets and of how far work moves. Each starts from the best schedule. */
static void regroup_buckets(struct scheduler *s, uint32_t trials)
{
	struct sched_random r = sched_random_from(1);
	struct sched_rows rows;
	uint32_t *held = arena_new_array(s->arena, uint32_t, s->p->n), held_n = find_held(s, held);
	sched_rows(s->p, s->role, &s->source, &s->inners, s->arena, &rows);
	trials = trials < 4 * rows.n ? trials : 4 * rows.n;
	for (uint32_t k = 0; k < trials; k++) {
		struct plan plan = s->best.plan;
		struct trial t = plan_trial(s, &plan);
		uint32_t bucket_n = s->best.bucket_n;
		memcpy(t.schedule.bucket, s->best.schedule.bucket, sizeof *t.schedule.bucket * s->p->n);
		if (!sched_draw(&r, 6))
			change_plan(s, &r, &plan);
		for (uint32_t changes = 1 + sched_draw(&r, 3); s->o->bucket && changes > 0; changes--)
			sched_regroup(s->p, &rows, &r, draw_comm(s, &rows, &r, held, held_n),
			              t.schedule.bucket, &bucket_n);
		t.plan = plan;
		if (plan_try_buckets(s, &plan, &t, bucket_n))
			held_n = find_held(s, held);
	}
}

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

static void find_sizes(struct scheduler *s)
{
	for (uint32_t x = 0; x < s->p->n; x++) {
		if (s->p->node[x].kind == SCHED_COMM)
			vec_push(&s->comm, x);
		if (s->role[x] == SCHED_SOURCE)
			vec_push(&s->gather, s->p->node[x].in);
		else if (s->role[x] == SCHED_SINK)
			vec_push(&s->scatter, s->p->node[x].in);
	}
	sched_inners(s->p, s->role, &s->inners);
	for (uint32_t i = 0; i < s->inners.n; i++)
		vec_push(&s->join, s->p->node[s->inners.at[i].comm].in);
	sort_distinct(&s->join, most_joins[s->o->effort]);
	sort_distinct(&s->gather, most_sizes[s->o->effort]);
	sort_distinct(&s->scatter, most_sizes[s->o->effort]);
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

/* Finds the times when sources are needed, in a schedule in which sources and sinks take no time. */
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
	int64_t *start = arena_new_array(scratch, int64_t, s->p->n);
	plan_list(s, &idle, s->role, plan, INT64_MAX, order);
	sched_simulate(&idle, order, trace);
	for (uint32_t k = 0; k < s->p->n; k++)
		start[order[k]] = trace[k].start;
	sched_sources(s->p, s->role, start, s->arena, &s->source);
	find_room(s, trace);
	s->room = arena_new_array(s->arena, int64_t, s->p->n);
	for (uint32_t k = 0; k < s->p->n; k++)
		s->room[order[k]] = s->o->limit - trace[k].live;
	arena_free(scratch);
}

/* Runs the search. A step in a large problem looks at more work, so there are fewer steps; a small
 * problem needs fewer. */
static void search_order(struct scheduler *s, uint64_t steps)
{
	uint64_t most = steps * 4000 / (1 + s->comm.n), enough = (uint64_t)64 * s->p->n;
	most = most < enough ? most : enough;
	struct sched_search_options o = {
	    .limit = s->o->limit, .steps = most < steps ? most : steps, .seed = 1, .enough = s->bound};
	struct sched_schedule *best = &s->best.schedule;
	sched_search(&best->b.p, &o, best->order);
	best->result = sched_simulate(&best->b.p, best->order, NULL);
}

/* Returns the searched best, and makes its list schedule the best again. */
static struct trial listed_again(struct scheduler *s)
{
	struct trial searched = s->best, t = plan_trial(s, &searched.plan);
	memcpy(t.schedule.bucket, searched.schedule.bucket, sizeof *t.schedule.bucket * s->p->n);
	s->best.schedule.arena = NULL;
	s->tried.n = 0;
	plan_try_buckets(s, &searched.plan, &t, searched.bucket_n);
	return searched;
}

/* Runs the search on the best of the plans, and again after small changes of its buckets. Keeps the
 * better result. */
static void improve(struct scheduler *s, uint32_t trials, uint64_t steps)
{
	s->bound = sched_bound_within(s->p, s->o->bucket, s->o->limit).runtime;
	if (s->best.schedule.result.runtime <= s->bound)
		return;
	search_order(s, steps);
	if (s->best.schedule.result.runtime <= s->bound)
		return;
	struct trial first = listed_again(s);
	regroup_buckets(s, trials);
	search_order(s, steps);
	bool better = s->best.schedule.result.runtime < first.schedule.result.runtime;
	sched_schedule_free(better ? &first.schedule : &s->best.schedule);
	if (!better)
		s->best = first;
}

void sched_schedule_free(struct sched_schedule *s)
{
	arena_free(s->arena);
}

/* Schedules a problem whose original order is within the limit. */
static void schedule_within(const struct sched_problem *p, const struct sched_options *o,
                            struct sched_schedule *out)
{
	struct scheduler s = {.p = p, .o = o, .arena = arena_new()};
	static const unsigned rounds[SCHED_MAX_EFFORT + 1] = {0, 1, 4, 4};
	static const uint32_t trials[SCHED_MAX_EFFORT + 1] = {0, 0, 50, 500};
	static const uint64_t steps[SCHED_MAX_EFFORT + 1] = {0, 0, 60000, 100000};
	struct plan plan = {.inflate = 1, .share = 1, .pack = 1, .prefetch = 50000000, .urgent = 5000000};
	s.role = sched_roles(p, s.arena);
	for (uint32_t x = 0; x < p->n; x++) {
		s.work += sched_host_time(p, x);
		if (p->node[x].kind == SCHED_COMPUTE && p->node[x].time > 0)
			s.timed += sched_host_time(p, x);
		if (s.role[x] == SCHED_INNER && p->node[x].time > s.inner)
			s.inner = p->node[x].time;
	}
	plan.window = 4 * s.inner;
	find_sizes(&s);
	find_sources(&s, &plan);
	s.inflate = inflated(&s);
	plan_try(&s, &plan);
	for (unsigned round = 0; s.comm.n && round < rounds[o->effort] && sched_vary(&s, o->effort > 1);
	     round++)
		;
	if (s.comm.n && steps[o->effort])
		improve(&s, trials[o->effort], steps[o->effort]);
	vec_free(&s.comm);
	vec_free(&s.tried);
	vec_free(&s.gathered);
	vec_free(&s.gather);
	vec_free(&s.scatter);
	vec_free(&s.join);
	vec_free(&s.inners);
	arena_free(s.arena);
	*out = s.best.schedule;
	out->plans = s.plans;
}

/* Translates a schedule of the reordered problem to the nodes of the original problem. */
static void tell_of_original(struct sched_schedule *s, const uint32_t *order, uint32_t n)
{
	uint32_t *bucket = arena_new_array(s->arena, uint32_t, n),
	         *became = arena_new_array(s->arena, uint32_t, n);
	for (uint32_t k = 0; k < n; k++) {
		bucket[order[k]] = s->bucket[k];
		became[order[k]] = s->b.became[k];
	}
	for (uint32_t k = 0; k < s->b.p.n; k++)
		s->b.origin[k].node = order[s->b.origin[k].node];
	s->bucket = bucket;
	s->b.became = became;
}

/* Returns the original order as the schedule. */
static void keep_order(const struct sched_problem *p, struct sched_schedule *out)
{
	*out = (struct sched_schedule){.arena = arena_new()};
	out->bucket = arena_new_array(out->arena, uint32_t, p->n);
	memset(out->bucket, 0xff, sizeof *out->bucket * p->n);
	sched_bucket(p, out->bucket, 0, out->arena, &out->b);
	out->order = arena_new_array(out->arena, uint32_t, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		out->order[x] = x;
	out->result = sched_simulate(&out->b.p, out->order, NULL);
}

bool sched_schedule(const struct sched_problem *p, const struct sched_options *o, struct sched_schedule *out)
{
	struct arena *scratch = arena_new();
	struct sched_problem lower;
	uint32_t *order = arena_new_array(scratch, uint32_t, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	bool fits = true;
	if (sched_simulate(p, order, NULL).peak <= o->limit) {
		schedule_within(p, o, out);
	} else {
		fits = sched_lower_peak(p, o->limit, order) <= o->limit;
		sched_reorder(p, order, scratch, &lower);
		if (fits)
			schedule_within(&lower, o, out);
		else
			keep_order(&lower, out);
		tell_of_original(out, order, p->n);
	}
	arena_free(scratch);
	return fits;
}
