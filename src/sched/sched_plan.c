/* sched_plan: see sched_plan.h. */
#include "sched/sched_plan.h"
#include "base/hash.h"
#include "sched/gather.h"
#include "sched/role.h"
#include "sched/scatter.h"
#include <stdlib.h>
#include <string.h>

bool plan_list(const struct scheduler *s, const struct sched_list_base *base, const struct plan *plan,
               int64_t below, uint32_t *order, struct sched_list_same *same)
{
	struct sched_list_options o = {.limit = s->o->limit,
	                               .window = plan->window,
	                               .prefetch = plan->prefetch,
	                               .urgent = plan->urgent,
	                               .deep = plan->deep,
	                               .below = below};
	return sched_list(base, &o, order, same);
}

enum { MOST_LISTED = 10000000 }; /* nodes in all list schedules; a large problem gets fewer plans */

bool plan_may_try(const struct scheduler *s)
{
	return s->plans <= MOST_LISTED / (s->p->n + 1);
}

bool plan_open(const struct sched_problem *p, struct trial *t)
{
	struct sched_schedule *made = &t->schedule;
	t->open = t->open || sched_bucket(p, made->bucket, t->bucket_n, made->arena, &made->b);
	return t->open;
}

struct trial plan_copy(const struct sched_problem *p, const struct trial *t)
{
	struct trial copy = *t;
	struct sched_schedule *made = &copy.schedule;
	made->arena = arena_new();
	made->bucket = arena_copy(made->arena, made->bucket, sizeof *made->bucket * p->transfer_n);
	if (made->order)
		made->order = arena_copy(made->arena, made->order, sizeof *made->order * made->b.p.n);
	made->b = (struct sched_bucketed){0};
	copy.open = false;
	copy.base = NULL;
	return copy;
}

/* Returns true if schedule.b takes so much memory that it is rather made again. */
static bool is_large(const struct sched_problem *p)
{
	enum { SMALL = 50000 }; /* nodes */
	return p->n > SMALL;
}

void plan_close(const struct sched_problem *p, struct trial *t)
{
	if (!t->open || !is_large(p))
		return;
	struct trial copy = plan_copy(p, t);
	sched_schedule_free(&t->schedule);
	*t = copy;
}

/* Keeps the trial among the starts if it is one of the shortest. There is one start for the same buckets. */
static void offer_start(struct scheduler *s, struct trial *t)
{
	uint32_t k = 0, place;
	while (k < s->start_n && s->start[k].hash != t->hash)
		k++;
	int64_t runtime = t->schedule.result.runtime;
	if (k < s->start_n
	        ? s->start[k].schedule.result.runtime <= runtime
	        : k == s->start_most && (!k || s->start[k - 1].schedule.result.runtime <= runtime)) {
		sched_schedule_free(&t->schedule);
		return;
	}
	if (k == s->start_n && k < s->start_most)
		s->start_n++;
	else
		sched_schedule_free(&s->start[k < s->start_n ? k : --k].schedule);
	for (place = k; place && s->start[place - 1].schedule.result.runtime > runtime; place--)
		s->start[place] = s->start[place - 1];
	s->start[place] = *t;
}

/* Keeps the schedule if it is the best so far, or one of the starts. Returns true if it is the best. */
bool plan_offer(struct scheduler *s, struct trial *t)
{
	struct sched_schedule *made = &t->schedule, *best = &s->best.schedule;
	made->result = sched_simulate(&made->b.p, made->order, NULL);
	bool fits = made->result.peak <= s->o->limit;
	bool better = fits && (!best->arena || made->result.runtime < best->result.runtime);
	if (!fits) {
		sched_schedule_free(made);
	} else if (!better) {
		if (t->hash == s->best.hash) {
			sched_schedule_free(made);
		} else {
			plan_close(s->p, t);
			offer_start(s, t);
		}
	} else {
		struct trial former = s->best;
		plan_close(s->p, t);
		s->best = *t;
		if (former.schedule.arena && former.hash != t->hash)
			offer_start(s, &former);
		else
			sched_schedule_free(&former.schedule);
	}
	return better;
}

/* Returns true if other options, which admit all buckets that o admits, have a result that is possible with o
 * and as good. Then it is the result for o, too. */
static bool reuse_sources(const struct scheduler *s, const struct sched_gather_options *o, struct gathered *g,
                          uint32_t *bucket)
{
	for (uint32_t k = s->gathered.n; k-- > 0;) {
		const struct gathered *other = &s->gathered.at[k];
		if (other->inflate != o->inflate || other->gather < o->threshold ||
		    (other->share > 0 && (!(o->share > 0) || other->share < o->share)))
			continue;
		int64_t late = 0;
		memcpy(bucket, other->bucket, sizeof *bucket * s->p->transfer_n);
		for (uint32_t l = 0; l < s->p->lane_n && late <= other->late; l++) {
			uint32_t first = s->source.first[l];
			int64_t here = sched_gather_delay(s->p, s->source.at + first,
			                                  s->source.first[l + 1] - first, o, bucket);
			late = here == INT64_MAX ? here : late + here;
		}
		if (late == other->late) {
			*g = *other;
			return true;
		}
	}
	return false;
}

/* Returns the buckets of the sources. Results are kept, since some pairs of sizes are asked for
 * repeatedly. */
static const struct gathered *gather_sources(struct scheduler *s, const struct plan *plan)
{
	for (uint32_t i = 0; i < s->gathered.n; i++)
		if (s->gathered.at[i].gather == plan->gather && s->gathered.at[i].inflate == plan->inflate &&
		    s->gathered.at[i].share == plan->share)
			return &s->gathered.at[i];
	struct sched_gather_options o = {plan->gather, plan->inflate, plan->share};
	struct gathered g = {0};
	uint32_t *bucket = mem_alloc(sizeof *bucket * ((size_t)s->p->transfer_n + 1));
	if (!reuse_sources(s, &o, &g, bucket)) {
		memset(bucket, 0xff, sizeof *bucket * s->p->transfer_n);
		for (uint32_t l = 0; l < s->p->lane_n; l++)
			g.late += sched_gather(s->p, s->source.at + s->source.first[l],
			                       s->source.first[l + 1] - s->source.first[l], &o, bucket,
			                       &g.bucket_n);
	}
	g.bucket = bucket;
	g.gather = plan->gather;
	g.inflate = plan->inflate;
	g.share = plan->share;
	vec_push(&s->gathered, g);
	return &s->gathered.at[s->gathered.n - 1];
}

void plan_forget(struct scheduler *s)
{
	for (uint32_t i = 0; i < s->gathered.n; i++)
		free(s->gathered.at[i].bucket);
	vec_free(&s->gathered);
}

uint32_t plan_buckets(struct scheduler *s, const struct plan *plan)
{
	const struct gathered *g = plan->gather ? gather_sources(s, plan) : NULL;
	uint32_t n = g ? g->bucket_n : 0;
	for (uint32_t i = 0; i < s->p->transfer_n; i++)
		s->planned[i] = g ? g->bucket[i] : SCHED_NONE;
	if (plan->inner)
		sched_inner_buckets(s->p, &s->inners, plan->inner, plan->parts, s->planned, &n);
	if (plan->scatter) {
		struct sched_scatter_options o = {plan->scatter, plan->span, plan->pack};
		sched_scatter(s->p, &s->sink, &o, s->planned, &n);
	}
	return n;
}

uint64_t plan_hash(const struct scheduler *s, const uint32_t *bucket)
{
	uint64_t h = 0;
	for (uint32_t i = 0; i < s->p->transfer_n; i++)
		h = hash_number(h, bucket[i]);
	return h;
}

static bool is_in_range(int64_t x, const struct sched_range *r)
{
	return x >= r->from && x <= r->to;
}

/* Returns the earlier plan with these buckets and the same list schedule; NULL if there is none. */
static const struct listed *find_listed(const struct scheduler *s, const struct plan *plan, uint64_t hash)
{
	for (uint32_t i = s->listed.n; i-- > 0;) {
		const struct listed *l = &s->listed.at[i];
		if (l->hash == hash && l->deep == plan->deep && is_in_range(plan->window, &l->same.window) &&
		    is_in_range(plan->prefetch, &l->same.prefetch) &&
		    is_in_range(plan->urgent, &l->same.urgent))
			return l;
	}
	return NULL;
}

/* Returns the list schedule that a former scheduler of the problem made without buckets; NULL if there is none. */
static const struct listed *find_former(const struct scheduler *s, const struct plan *plan,
                                        const struct trial *t, int64_t below)
{
	const struct listed *l = s->former && !t->bucket_n ? find_listed(s->former, plan, t->hash) : NULL;
	return l && (l->made ? l->order && below == l->below : below <= l->below) ? l : NULL;
}

/* Makes the list schedule of a plan with the buckets of t, and notes which plans need not be tried any more. */
static bool list_trial(struct scheduler *s, const struct plan *plan, struct trial *t, int64_t below,
                       uint32_t *order)
{
	enum { MOST_NOTED = 100000 }; /* nodes of an order that is kept */
	const struct sched_problem *p = &t->schedule.b.p;
	const struct listed *former = find_former(s, plan, t, below);
	struct listed l = {.hash = t->hash, .deep = plan->deep, .below = below};
	if (former) {
		l = *former;
		if (l.made)
			memcpy(order, l.order, sizeof *order * p->n);
	} else {
		bool once = is_large(s->p); /* then the trial will be closed */
		if (!t->base)
			t->base =
			    sched_list_read(p, sched_roles(p, t->schedule.arena), once, t->schedule.arena);
		l.made = plan_list(s, t->base, plan, below, order, &l.same);
		t->base = once ? NULL : t->base;
		if (l.made && s->bucket && !t->bucket_n && p->n <= MOST_NOTED)
			l.order =
			    memcpy(arena_new_array(s->arena, uint32_t, p->n), order, sizeof *order * p->n);
	}
	t->listed = true;
	vec_push(&s->listed, l);
	s->plans++;
	return l.made;
}

struct bucket_sum *plan_bucket_sums(const struct scheduler *s, const uint32_t *bucket, uint32_t bucket_n)
{
	struct bucket_sum *sum = mem_zalloc(sizeof *sum * ((size_t)bucket_n + 1));
	for (uint32_t i = 0; i < s->p->transfer_n; i++) {
		const struct sched_transfer *c = &s->p->transfer[i];
		uint32_t k = bucket[i];
		if (k == SCHED_NONE)
			continue;
		sum[k].in += c->in;
		sum[k].out += c->out;
		sum[k].family = c->family;
	}
	return sum;
}

struct bucket_time plan_bucket_time(const struct sched_problem *p, const struct bucket_sum *sum)
{
	const struct sched_family *f = &p->family[sum->family];
	struct bucket_time t = {.lane = f->lane, .time = sched_family_time(f, sum->in) + p->launch};
	int64_t pack = sched_copy_time(p, sum->in), unpack = sched_copy_time(p, sum->out);
	if (!p->grouped && pack)
		t.host += pack + p->launch;
	if (!p->grouped && unpack && f->collective == SCHED_ALLGATHER)
		t.host += unpack + p->launch;
	return t;
}

/* Returns the least time of any schedule with these buckets: the work of the host with packing, or of a
 * lane. */
static int64_t least_with(const struct scheduler *s, const uint32_t *bucket, uint32_t bucket_n)
{
	const struct sched_problem *p = s->p;
	struct bucket_sum *sum = plan_bucket_sums(s, bucket, bucket_n);
	int64_t host = s->timed, lane[SCHED_MAX_LANES] = {0}, most;
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *c = &p->node[s->comm.at[i]];
		if (bucket[c->transfer] == SCHED_NONE)
			lane[c->lane] += c->time > 0 ? c->time + p->launch : 0;
	}
	for (uint32_t k = 0; k < bucket_n; k++) {
		struct bucket_time t = plan_bucket_time(p, &sum[k]);
		lane[t.lane] += t.time;
		host += t.host;
	}
	most = host;
	for (uint32_t l = 0; l < p->lane_n; l++)
		most = lane[l] > most ? lane[l] : most;
	free(sum);
	return most - p->launch;
}

/* Returns the kept trial with the same buckets; NULL if there is none. */
static struct trial *find_alike(struct scheduler *s, uint64_t hash)
{
	if (s->best.listed && s->best.hash == hash)
		return &s->best;
	for (uint32_t k = 0; k < s->start_n; k++)
		if (s->start[k].listed && s->start[k].hash == hash)
			return &s->start[k];
	return NULL;
}

/* Moves a start that became shorter to its place. Returns true if it is the best now. */
static bool raise_start(struct scheduler *s, struct trial *t)
{
	int64_t runtime = t->schedule.result.runtime;
	struct trial moved = *t;
	bool better = runtime < s->best.schedule.result.runtime;
	if (better) {
		moved = s->best;
		s->best = *t;
		runtime = moved.schedule.result.runtime;
	}
	for (; t > s->start && t[-1].schedule.result.runtime > runtime; t--)
		*t = t[-1];
	*t = moved;
	return better;
}

/* Makes the list schedule of a plan with the buckets of a kept trial, which takes its order if that is shorter.
 * Returns true if it is the best now. */
static bool list_alike(struct scheduler *s, const struct plan *plan, struct trial *t)
{
	struct sched_schedule *made = &t->schedule;
	plan_open(s->p, t);
	uint32_t *order = arena_new_array(made->arena, uint32_t, made->b.p.n);
	bool better = false, shorter = false;
	if (list_trial(s, plan, t, made->result.runtime, order)) {
		struct sched_result result = sched_simulate(&made->b.p, order, NULL);
		shorter = result.peak <= s->o->limit && result.runtime < made->result.runtime;
		if (shorter) {
			made->order = order;
			made->result = result;
			t->plan = *plan;
		}
	}
	plan_close(s->p, t);
	if (shorter)
		better = t == &s->best || raise_start(s, t);
	return better;
}

/* Returns the runtime at which a new schedule is no longer kept. */
static int64_t kept_below(const struct scheduler *s)
{
	if (s->start_most)
		return s->start_n < s->start_most ? INT64_MAX
		                                  : s->start[s->start_n - 1].schedule.result.runtime;
	return s->best.schedule.arena ? s->best.schedule.result.runtime : INT64_MAX;
}

struct trial plan_trial(const struct scheduler *s, const struct plan *plan)
{
	struct trial t = {.plan = *plan, .schedule.arena = arena_new()};
	t.schedule.bucket = arena_new_array(t.schedule.arena, uint32_t, s->p->transfer_n);
	return t;
}

/* Makes the list schedule of a plan with buckets that no kept trial has. Memory may not admit the original order
 * with them; then the limit is the peak of the list schedule. */
static bool list_new(struct scheduler *s, const struct plan *plan, uint32_t bucket_n, uint64_t hash,
                     int64_t below)
{
	struct trial t = plan_trial(s, plan);
	struct sched_schedule *made = &t.schedule;
	t.bucket_n = bucket_n;
	t.hash = hash;
	memcpy(made->bucket, s->planned, sizeof *made->bucket * s->p->transfer_n);
	if (plan_open(s->p, &t)) {
		made->order = arena_new_array(made->arena, uint32_t, made->b.p.n);
		if (list_trial(s, plan, &t, below, made->order))
			return plan_offer(s, &t);
	}
	sched_schedule_free(made);
	return false;
}

bool plan_try(struct scheduler *s, const struct plan *plan)
{
	uint32_t bucket_n = plan_buckets(s, plan);
	uint64_t hash = plan_hash(s, s->planned);
	int64_t below = kept_below(s);
	if (!plan_may_try(s) || find_listed(s, plan, hash) || least_with(s, s->planned, bucket_n) >= below)
		return false;
	struct trial *alike = find_alike(s, hash);
	return alike ? list_alike(s, plan, alike) : list_new(s, plan, bucket_n, hash, below);
}
