/* improve: a change of buckets keeps the order of all other nodes, as far as memory has room for that. The search then
 * moves nodes for a few steps. The result is kept if it takes no longer than before.
 *
 * A list schedule of the same buckets would forget all that the search found. */
#include "sched/improve.h"
#include "sched/carry.h"
#include "sched/fit.h"
#include "sched/regroup.h"
#include "sched/repartition.h"
#include "sched/role.h"
#include "sched/search.h"
#include <stdlib.h>
#include <string.h>

enum {
	CHANGES = 3,             /* most changes of buckets at once */
	MOST_CARRIED = 30000000, /* nodes in all changes; a large problem gets fewer changes … */
	MOST_NODES =
	    300000, /* … and a very large one gets none: they would take much memory, and gain little */
	MOST_FITTED = 3000, /* nodes; in a larger problem, making orders fit takes too long */
	DRAWS = 6,          /* draws of a sink whose work may fill a stall */
};

/* Ranks sources by the time when they are needed, other comms by the time when they are made. Returns the ranks by
 * index of s->comm. */
static int64_t *rank_comms(const struct scheduler *s, struct arena *a)
{
	int64_t *rank = arena_new_array(a, int64_t, s->comm.n), when = 0;
	uint32_t *index = mem_alloc(sizeof *index * ((size_t)s->p->n + 1)), k = 0;
	for (uint32_t x = 0; x < s->p->n; when += sched_host_time(s->p, x++))
		if (s->p->node[x].kind == SCHED_COMM) {
			index[x] = k;
			rank[k++] = when;
		}
	for (uint32_t i = 0; i < s->source.first[s->p->lane_n]; i++)
		rank[index[s->source.at[i].comm]] = s->source.at[i].needed;
	free(index);
	return rank;
}

/* Returns, by index of s->comm, the time of the work that only the comm needs. */
static int64_t *find_work(const struct scheduler *s, struct arena *a)
{
	const struct sched_problem *p = s->p;
	int64_t *work = arena_new_array(a, int64_t, s->comm.n);
	uint32_t *owner = mem_alloc(sizeof *owner * ((size_t)p->n + 1)); /* by node: index of the comm */
	for (uint32_t x = p->n, k = s->comm.n; x-- > 0;) {
		k -= k && s->comm.at[k - 1] == x;
		bool sink = s->role[x] == SCHED_SINK;
		owner[x] = sink ? k : SCHED_NONE;
		for (uint32_t i = p->succ.at[x]; !sink && i < p->succ.end[x]; i++) {
			uint32_t here = owner[p->succ.item[i]];
			owner[x] = i == p->succ.at[x] || here == owner[x] ? here : SCHED_NONE;
			if (owner[x] == SCHED_NONE)
				break;
		}
		if (owner[x] != SCHED_NONE && !sink)
			work[owner[x]] += sched_host_time(p, x);
	}
	free(owner);
	return work;
}

/* Draws a sink with much work in relation to its own time. */
static uint32_t draw_filler(const struct scheduler *s, const int64_t *work, struct sched_random *r)
{
	uint32_t best = SCHED_NONE;
	double most = 0;
	for (unsigned k = 0; k < DRAWS; k++) {
		uint32_t at = sched_draw(r, s->comm.n), x = s->comm.at[at];
		double part = (double)work[at] / (double)(s->p->node[x].time + 1);
		if (s->role[x] == SCHED_SINK && part > most) {
			best = x;
			most = part;
		}
	}
	return best;
}

/* A schedule of the problem with buckets. */
struct state {
	uint32_t *bucket, bucket_n; /* by transfer */
	uint32_t *slot;             /* by transfer, see rebucket.h */
	uint32_t *order, n;
	struct sched_result result;
	double score;
};

struct improver {
	struct scheduler *s;
	const struct sched_improve_options *o;
	struct sched_random random;
	struct sched_rebucket r; /* with the buckets of now */
	struct window w;
	uint32_t *order; /* of the window */
	struct state now, next, best;
	struct sched_row row; /* of now */
	const int64_t *work;  /* see find_work */
};

/* Returns ns that lanes work. */
static int64_t sum_lanes(const struct sched_problem *p, const uint32_t *order)
{
	int64_t sum = 0;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct sched_node *n = &p->node[order[k]];
		if (n->kind == SCHED_COMM && n->time > 0)
			sum += n->time + p->launch;
	}
	return sum;
}

/* Takes the order of the window, with its times. */
static void read_state(struct improver *i, struct state *t)
{
	const struct sched_problem *p = &i->r.p;
	t->n = p->n;
	memcpy(t->order, i->order, sizeof *t->order * p->n);
	t->result = sched_simulate(p, t->order, NULL);
	t->score = (double)t->result.runtime + i->o->lanes * (double)sum_lanes(p, t->order);
}

static void copy_state(const struct improver *i, const struct state *from, struct state *to)
{
	uint32_t transfers = i->s->p->transfer_n, *bucket = to->bucket, *slot = to->slot, *order = to->order;
	*to = *from;
	to->bucket = memcpy(bucket, from->bucket, sizeof *bucket * transfers);
	to->slot = memcpy(slot, from->slot, sizeof *slot * transfers);
	to->order = memcpy(order, from->order, sizeof *order * from->n);
}

static struct state new_state(const struct improver *i, struct arena *a)
{
	return (struct state){.bucket = arena_new_array(a, uint32_t, i->s->p->transfer_n),
	                      .slot = arena_new_array(a, uint32_t, i->s->p->transfer_n),
	                      .order = arena_new_array(a, uint32_t, i->r.p.numbers)};
}

/* Moves some sinks like x, with the work that only they need, to the end. */
static void fill_end(struct improver *i, uint32_t x, struct sched_carry_options *carry)
{
	const struct scheduler *s = i->s;
	const struct sched_transfer *like = sched_transfer(s->p, x);
	uint32_t *comm = mem_alloc(sizeof *comm * ((size_t)s->comm.n + 1)), n = 0;
	uint32_t most = like->family == SCHED_NONE ? 1 : 1u << sched_draw(&i->random, 8);
	bool join = like->family != SCHED_NONE && !sched_draw(&i->random, 2);
	if (most == 1)
		comm[n++] = x;
	for (uint32_t k = s->comm.n; k-- > 0 && n < most;) {
		const struct sched_transfer *c = sched_transfer(s->p, s->comm.at[k]);
		if (s->role[s->comm.at[k]] == SCHED_SINK && c->family == like->family && c->in == like->in)
			comm[n++] = s->comm.at[k];
	}
	if (like->family != SCHED_NONE)
		sched_regroup_together(s->p, &i->row, comm, n, join, i->next.bucket, &i->next.bucket_n);
	*carry = (struct sched_carry_options){.late = comm[0], .end = !join};
	free(comm);
}

/* Changes the buckets of `next`. Returns false if nothing changes. */
static bool change_buckets(struct improver *i, struct sched_carry_options *carry)
{
	const struct scheduler *s = i->s;
	if (i->o->refill) {
		uint32_t member;
		bool changed =
		    sched_repartition(s->p, &i->row, &i->random, i->next.bucket, &i->next.bucket_n, &member);
		*carry = (struct sched_carry_options){.first = changed && s->role[member] == SCHED_SOURCE,
		                                      .late = SCHED_NONE};
		return changed;
	}
	uint32_t filler = sched_draw(&i->random, 6) ? SCHED_NONE : draw_filler(s, i->work, &i->random);
	if (filler != SCHED_NONE) {
		fill_end(i, filler, carry);
		return true;
	}
	bool changed = false;
	*carry = (struct sched_carry_options){.first = sched_draw(&i->random, 2), .late = SCHED_NONE};
	for (uint32_t changes = 1 + sched_draw(&i->random, CHANGES); changes; changes--)
		changed |= sched_regroup(s->p, &i->row, &i->random, i->next.bucket, &i->next.bucket_n);
	return changed;
}

/* Makes the schedule of `next` from its buckets and the present order. Returns false if there is none. */
static bool make_next(struct improver *i, const struct sched_carry_options *carry, uint64_t seed)
{
	struct sched_search_options search = {
	    .limit = i->s->o->limit, .steps = i->o->steps, .seed = seed, .enough = i->s->bound};
	if (!sched_rebucket(&i->r, i->next.slot) ||
	    !sched_carry(&i->r, i->now.order, i->now.n, carry, i->order))
		return false;
	window_read(&i->w);
	if (i->s->p->n <= MOST_FITTED && !window_fits(&i->w) && sched_fit(&i->r.p, i->s->o->limit, i->order))
		window_reset(&i->w);
	if (!sched_search_window(&i->w, &search))
		return false;
	read_state(i, &i->next);
	return true;
}

/* Tries one change of the buckets. Returns true if the present schedule is replaced. */
static bool try_change(struct improver *i, uint64_t seed)
{
	struct sched_carry_options carry;
	i->next.bucket_n = i->now.bucket_n;
	memcpy(i->next.bucket, i->now.bucket, sizeof *i->now.bucket * i->s->p->transfer_n);
	if (!change_buckets(i, &carry))
		return false;
	sched_rebucket_slots(&i->r, i->next.bucket, i->next.bucket_n, i->next.slot);
	if (!make_next(i, &carry, seed)) {
		sched_rebucket(&i->r, i->now.slot);
		return false;
	}
	if (i->next.result.runtime < i->best.result.runtime)
		copy_state(i, &i->next, &i->best);
	if (i->next.score > i->now.score) {
		sched_rebucket(&i->r, i->now.slot);
		return false;
	}
	struct state before = i->now;
	i->now = i->next;
	i->next = before;
	return true;
}

/* Returns, by node of b.p, its number in the problem that changes in place. slot: by transfer. */
static uint32_t *number_nodes(const struct sched_rebucket *r, const struct sched_bucketed *b,
                              const uint32_t *slot)
{
	static const enum sched_part part[] = {[SCHED_STEP_PACK] = SCHED_PACK,
	                                       [SCHED_STEP_COMM] = SCHED_BUCKET_COMM,
	                                       [SCHED_STEP_WAIT] = SCHED_BUCKET_WAIT,
	                                       [SCHED_STEP_UNPACK] = SCHED_UNPACK};
	const struct sched_problem *p = r->parts.p;
	uint32_t *number = mem_alloc(sizeof *number * ((size_t)b->p.n + 1));
	for (uint32_t k = 0; k < b->p.n; k++) {
		const struct sched_origin *o = &b->origin[k];
		number[k] = o->bucket == SCHED_NONE
		                ? o->node
		                : sched_part(&r->parts, slot[p->node[o->node].transfer], part[o->step]);
	}
	return number;
}

/* Sets `now` to the best schedule so far. */
static void open_improver(struct improver *i, struct arena *a)
{
	const struct scheduler *s = i->s;
	const struct trial *t = &s->best;
	sched_rebucket_open(&i->r, s->p);
	i->now = new_state(i, a);
	i->next = new_state(i, a);
	i->best = new_state(i, a);
	i->order = arena_new_array(a, uint32_t, i->r.p.numbers);
	i->now.bucket_n = t->bucket_n;
	memcpy(i->now.bucket, t->schedule.bucket, sizeof *i->now.bucket * s->p->transfer_n);
	sched_rebucket_slots(&i->r, i->now.bucket, i->now.bucket_n, i->now.slot);
	sched_rebucket(&i->r, i->now.slot);
	uint32_t *number = number_nodes(&i->r, &t->schedule.b, i->now.slot);
	for (uint32_t k = 0; k < i->r.p.n; k++)
		i->order[k] = number[t->schedule.order[k]];
	free(number);
	window_open(&i->w, &i->r.p, s->o->limit, i->order);
	read_state(i, &i->now);
	copy_state(i, &i->now, &i->best);
}

/* Sets the best schedule of the scheduler to that of the improver. */
static void take_best(struct improver *i)
{
	struct scheduler *s = i->s;
	const struct state *best = &i->best;
	struct trial t = plan_trial(s, &s->best.plan);
	struct sched_schedule *made = &t.schedule;
	t.bucket_n = best->bucket_n;
	memcpy(made->bucket, best->bucket, sizeof *made->bucket * s->p->transfer_n);
	plan_open(s->p, &t);
	uint32_t *number = number_nodes(&i->r, &made->b, best->slot);
	uint32_t *node = mem_alloc(sizeof *node * ((size_t)i->r.p.numbers + 1));
	for (uint32_t k = 0; k < made->b.p.n; k++)
		node[number[k]] = k;
	made->order = arena_new_array(made->arena, uint32_t, made->b.p.n);
	for (uint32_t k = 0; k < made->b.p.n; k++)
		made->order[k] = node[best->order[k]];
	made->result = best->result;
	free(number);
	free(node);
	sched_schedule_free(&s->best.schedule);
	s->best = plan_copy(s->p, &t);
	sched_schedule_free(made);
}

bool sched_improve(struct scheduler *s, const struct sched_improve_options *o)
{
	if (s->p->n > MOST_NODES)
		return false;
	struct arena *scratch = arena_new(), *rows = NULL;
	struct improver i = {
	    .s = s, .o = o, .random = sched_random_from(o->seed), .work = find_work(s, scratch)};
	const int64_t *rank = rank_comms(s, scratch);
	int64_t before = s->best.schedule.result.runtime;
	bool changed = true;
	plan_open(s->p, &s->best);
	open_improver(&i, scratch);
	plan_close(s->p, &s->best);
	uint32_t most = MOST_CARRIED / (s->p->n + 1), changes = o->changes < most ? o->changes : most;
	for (uint32_t k = 0; k < changes && i.best.result.runtime > s->bound; k++) {
		if (changed) {
			arena_free(rows);
			rows = arena_new();
			sched_row(&i.r, i.now.order, rank, rows, &i.row);
		}
		if (!i.row.n)
			break;
		changed = try_change(&i, o->seed + k);
	}
	bool better = i.best.result.runtime < before;
	if (better)
		take_best(&i);
	window_close(&i.w);
	sched_rebucket_close(&i.r);
	arena_free(rows);
	arena_free(scratch);
	return better;
}
