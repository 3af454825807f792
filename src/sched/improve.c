/* improve: a change of buckets keeps the order of all other nodes, and the search then moves nodes for a few
 * steps. The result is kept if it takes no longer than before.
 *
 * A list schedule of the same buckets would forget all that the search found. */
#include "sched/improve.h"
#include "sched/carry.h"
#include "sched/regroup.h"
#include "sched/repartition.h"
#include "sched/role.h"
#include "sched/search.h"
#include <stdlib.h>
#include <string.h>

enum {
	CHANGES = 3,             /* most changes of buckets at once */
	MOST_CARRIED = 30000000, /* nodes in all changes; a large problem gets fewer changes */
	DRAWS = 6,               /* draws of a sink whose work may fill a stall */
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

/* Returns ns that lanes work. */
static int64_t sum_lanes(const struct sched_problem *p)
{
	int64_t sum = 0;
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM && p->node[x].time > 0)
			sum += p->node[x].time + p->launch;
	return sum;
}

struct improver {
	struct scheduler *s;
	const struct sched_improve_options *o;
	struct sched_random random;
	struct trial now;                 /* closed by read_now */
	double score;                     /* of now */
	struct sched_row row;             /* of now */
	struct sched_carry_places places; /* of now */
	const int64_t *work;              /* see find_work */
};

static double find_score(const struct improver *i, const struct trial *t)
{
	return (double)t->schedule.result.runtime + i->o->lanes * (double)sum_lanes(&t->schedule.b.p);
}

/* Makes the schedule of t from the buckets of t and the present order. Returns false if the buckets wait for each
 * other. */
static bool carry_order(const struct improver *i, struct trial *t, const struct sched_carry_options *o)
{
	struct sched_schedule *made = &t->schedule;
	if (!plan_open(i->s->p, t))
		return false;
	struct sched_carry_options carry = *o;
	carry.late = o->late == SCHED_NONE ? SCHED_NONE : made->b.became[o->late];
	made->order = arena_new_array(made->arena, uint32_t, made->b.p.n);
	sched_carry(&i->places, i->s->p, i->now.schedule.bucket, &made->b, &carry, made->order);
	return true;
}

/* Moves some sinks like x, with the work that only they need, to the end. */
static void fill_end(struct improver *i, struct trial *t, uint32_t x, struct sched_carry_options *carry)
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
		sched_regroup_together(s->p, &i->row, comm, n, join, t->schedule.bucket, &t->bucket_n);
	*carry = (struct sched_carry_options){.late = comm[0], .end = !join};
	free(comm);
}

/* Changes the buckets of t. Returns false if nothing changes. */
static bool change_buckets(struct improver *i, struct trial *t, struct sched_carry_options *carry)
{
	const struct scheduler *s = i->s;
	if (i->o->refill) {
		uint32_t member;
		bool changed =
		    sched_repartition(s->p, &i->row, &i->random, t->schedule.bucket, &t->bucket_n, &member);
		*carry = (struct sched_carry_options){.first = changed && s->role[member] == SCHED_SOURCE,
		                                      .late = SCHED_NONE};
		return changed;
	}
	uint32_t filler = sched_draw(&i->random, 6) ? SCHED_NONE : draw_filler(s, i->work, &i->random);
	if (filler != SCHED_NONE) {
		fill_end(i, t, filler, carry);
		return true;
	}
	bool changed = false;
	*carry = (struct sched_carry_options){.first = sched_draw(&i->random, 2), .late = SCHED_NONE};
	for (uint32_t changes = 1 + sched_draw(&i->random, CHANGES); changes; changes--)
		changed |= sched_regroup(s->p, &i->row, &i->random, t->schedule.bucket, &t->bucket_n);
	return changed;
}

/* Tries one change of the buckets. Returns true if the present schedule is replaced. */
static bool try_change(struct improver *i, uint64_t seed)
{
	struct scheduler *s = i->s;
	struct trial t = plan_trial(s, &i->now.plan);
	struct sched_carry_options carry;
	t.bucket_n = i->now.bucket_n;
	memcpy(t.schedule.bucket, i->now.schedule.bucket, sizeof *t.schedule.bucket * s->p->transfer_n);
	struct sched_search_options search = {
	    .limit = s->o->limit, .steps = i->o->steps, .seed = seed, .enough = s->bound};
	if (!change_buckets(i, &t, &carry) || !carry_order(i, &t, &carry) ||
	    !sched_search(&t.schedule.b.p, &search, t.schedule.order)) {
		sched_schedule_free(&t.schedule);
		return false;
	}
	t.schedule.result = sched_simulate(&t.schedule.b.p, t.schedule.order, NULL);
	double score = find_score(i, &t);
	bool kept = score <= i->score;
	if (t.schedule.result.runtime < s->best.schedule.result.runtime) {
		sched_schedule_free(&s->best.schedule);
		s->best = plan_copy(s->p, &t);
	}
	struct trial *left = kept ? &i->now : &t;
	sched_schedule_free(&left->schedule);
	if (kept) {
		i->now = t;
		i->score = score;
	}
	return kept;
}

/* Reads all that a change needs of the present schedule, and closes that. Its order is not needed again. */
static void read_now(struct improver *i, const int64_t *rank, struct arena *a)
{
	struct sched_schedule *now = &i->now.schedule;
	sched_row(i->s->p, &now->b, now->order, rank, a, &i->row);
	sched_carry_read(&now->b, now->order, i->s->p->n, a, &i->places);
	now->order = NULL;
	plan_close(i->s->p, &i->now);
}

bool sched_improve(struct scheduler *s, const struct sched_improve_options *o)
{
	struct arena *scratch = arena_new(), *rows = NULL;
	plan_open(s->p, &s->best);
	struct improver i = {.s = s,
	                     .o = o,
	                     .random = sched_random_from(o->seed),
	                     .now = s->best,
	                     .work = find_work(s, scratch)};
	s->best = plan_copy(s->p, &i.now);
	const int64_t *rank = rank_comms(s, scratch);
	int64_t before = s->best.schedule.result.runtime;
	bool changed = true;
	i.score = find_score(&i, &i.now);
	uint32_t most = MOST_CARRIED / (s->p->n + 1), changes = o->changes < most ? o->changes : most;
	for (uint32_t k = 0; k < changes && s->best.schedule.result.runtime > s->bound; k++) {
		if (changed) {
			arena_free(rows);
			rows = arena_new();
			read_now(&i, rank, rows);
		}
		if (!i.row.n)
			break;
		changed = try_change(&i, o->seed + k);
	}
	sched_schedule_free(&i.now.schedule);
	arena_free(rows);
	arena_free(scratch);
	return s->best.schedule.result.runtime < before;
}
