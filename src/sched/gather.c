/* gather: dynamic programming over the comms that may share, in the order in which they are needed.
 *
 * A state is (free, late): when the lane is free, and how much later than if nothing had to be waited for the
 * host is. A comm that ends at `free` and is needed at `needed` makes late at least free - needed. After the
 * same comms only states are kept that no other beats in both, and of these MOST_STATES. */
#include "sched/gather.h"
#include "base/vec.h"
#include <assert.h>
#include <stdlib.h>

enum { MOST_STATES = 12, MOST_MEMBERS = 64 };

struct state {
	int64_t free, late;
	uint32_t before;  /* the state that this continues; SCHED_NONE: none */
	uint32_t members; /* of the bucket that led here */
};

struct stage { /* the states in which the small ones before one are done, by `free` */
	VEC(struct state) open;
	uint32_t first, n; /* in `state` */
};

struct gather {
	const struct sched_problem *p;
	const struct sched_source *source;
	const struct sched_gather_options *o;
	uint32_t *small, small_n; /* indices of source; small[small_n] is the end */
	struct stage *stage;      /* by small, and the end */
	VEC(struct state) state;
};

static void run(const struct gather *g, struct state *s, int64_t time, int64_t needed)
{
	s->free += (int64_t)((double)(time + g->p->launch) * g->o->inflate);
	if (s->free - needed > s->late)
		s->late = s->free - needed;
}

/* What a row of comms does to any state: it takes `time` of the lane, and makes late at least free + most. */
struct row {
	int64_t time, most;
};

/* The large ones between small one k and the next join the row. */
static void add_between(const struct gather *g, uint32_t k, struct row *r)
{
	struct state s = {.free = r->time, .late = r->most};
	for (uint32_t i = g->small[k] + 1; i < g->small[k + 1]; i++)
		run(g, &s, g->p->node[g->source[i].comm].time, g->source[i].needed);
	*r = (struct row){s.free, s.late};
}

static int by_free(const void *a, const void *b)
{
	const struct state *x = a, *y = b;
	if (x->free != y->free)
		return x->free < y->free ? -1 : 1;
	return (x->late > y->late) - (x->late < y->late);
}

/* Takes over what is worth going on from. */
static void close_stage(struct gather *g, struct stage *t)
{
	uint32_t n = 0;
	if (t->open.n)
		qsort(t->open.at, t->open.n, sizeof *t->open.at, by_free);
	for (uint32_t i = 0; i < t->open.n; i++)
		if (!n || t->open.at[i].late < t->open.at[n - 1].late)
			t->open.at[n++] = t->open.at[i];
	t->first = g->state.n;
	t->n = n < MOST_STATES ? n : MOST_STATES;
	for (uint32_t i = 0; i < t->n; i++)
		vec_push(&g->state,
		         t->open.at[n <= MOST_STATES ? i : (uint64_t)i * (n - 1) / (MOST_STATES - 1)]);
	vec_free(&t->open);
}

/* All buckets that begin with small one k. */
static void extend(struct gather *g, uint32_t k)
{
	const struct sched_problem *p = g->p;
	const struct stage *t = &g->stage[k];
	uint32_t family = p->node[g->source[g->small[k]].comm].family;
	int64_t in = 0, out = 0;
	struct row between = {0, INT64_MIN / 2};
	for (uint32_t members = 1; members <= MOST_MEMBERS && k + members <= g->small_n; members++) {
		const struct sched_node *c = &p->node[g->source[g->small[k + members - 1]].comm];
		if (c->family != family)
			break;
		in += c->in;
		out += c->out;
		add_between(g, k + members - 1, &between);
		int64_t time = members == 1 ? c->time : sched_family_time(&p->family[family], in);
		/* a pack and an unpack more, members - 1 comms and waits less */
		int64_t host =
		    sched_copy_time(p, in) + sched_copy_time(p, out) + 2 * (2 - (int64_t)members) * p->launch;
		for (uint32_t i = 0; i < t->n; i++) {
			struct state s = g->state.at[t->first + i];
			s.before = t->first + i;
			s.members = members;
			run(g, &s, time, g->source[g->small[k]].needed);
			s.late += members > 1 ? host : 0;
			if (s.free + between.most > s.late)
				s.late = s.free + between.most;
			s.free += between.time;
			vec_push(&g->stage[k + members].open, s);
		}
	}
}

static void take_buckets(const struct gather *g, uint32_t *bucket, uint32_t *bucket_n)
{
	const struct stage *end = &g->stage[g->small_n];
	uint32_t k = g->small_n, best = end->first;
	for (uint32_t i = 1; i < end->n; i++)
		if (g->state.at[end->first + i].late < g->state.at[best].late)
			best = end->first + i;
	for (const struct state *s = &g->state.at[best]; s->before != SCHED_NONE;
	     s = &g->state.at[s->before]) {
		k -= s->members;
		for (uint32_t i = 0; s->members > 1 && i < s->members; i++)
			bucket[g->source[g->small[k + i]].comm] = *bucket_n;
		*bucket_n += s->members > 1;
	}
	assert(k == 0);
}

void sched_gather(const struct sched_problem *p, const struct sched_source *source, uint32_t n,
                  const struct sched_gather_options *o, uint32_t *bucket, uint32_t *bucket_n)
{
	struct gather g = {.p = p, .source = source, .o = o};
	struct state start = {.before = SCHED_NONE};
	g.small = mem_alloc(sizeof *g.small * ((size_t)n + 1));
	for (uint32_t i = 0; i < n; i++) {
		const struct sched_node *c = &p->node[source[i].comm];
		if (c->family != SCHED_NONE && c->in <= o->threshold)
			g.small[g.small_n++] = i;
		else if (!g.small_n)
			run(&g, &start, c->time, source[i].needed);
	}
	g.small[g.small_n] = n;
	g.stage = mem_zalloc(sizeof *g.stage * ((size_t)g.small_n + 1));
	vec_push(&g.stage[0].open, start);
	for (uint32_t k = 0; k <= g.small_n; k++) {
		close_stage(&g, &g.stage[k]);
		if (k < g.small_n)
			extend(&g, k);
	}
	take_buckets(&g, bucket, bucket_n);
	free(g.small);
	free(g.stage);
	vec_free(&g.state);
}
