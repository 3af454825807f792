/* optimum: see optimum.h.
 */
#include "optimum/optimum.h"
#include "base/vec.h"
#include "sched/bucket.h"
#include "sched/simulate.h"
#include <stdlib.h>
#include <string.h>

enum { /* clocks of a state */
       NOW,
       END,  /* end of the last node that takes time */
       LANE, /* LANE + l: lane l is free */
       OVER = LANE + OPTIMUM_LANES,
       CLOCKS = OVER + OPTIMUM_COMMS /* OVER + c: comm c is over; 0 if nothing waits for it any more */
};

struct state {
	uint64_t done;
	int64_t clock[CLOCKS];
};

struct states {
	struct state *at;
	uint32_t n, cap;
};

struct walk {
	const struct sched_problem *p;
	int64_t limit, best;
	uint64_t needs[OPTIMUM_NODES];   /* by node: the nodes that it needs */
	uint64_t awaited[OPTIMUM_NODES]; /* by comm: its waits */
	uint32_t number[OPTIMUM_NODES];  /* by comm: its place among comms */
	struct states now, next;
};

/* ---- memory */

/* Returns the bytes that are live after the nodes of a set, whatever their order was. */
static int64_t live_after(const struct sched_problem *p, uint64_t done)
{
	int64_t live = p->fixed;
	for (uint32_t s = 0; s < p->storage_n; s++) {
		const struct sched_storage *t = &p->storage[s];
		bool used = t->kept;
		if (t->def == SCHED_NONE || !(done >> t->def & 1))
			continue;
		for (uint32_t i = p->users.at[s]; i < p->users.end[s] && !used; i++)
			used = !(done >> p->users.item[i] & 1);
		live += used ? t->bytes : 0;
	}
	return live;
}

static int64_t made_by(const struct sched_problem *p, uint32_t x)
{
	int64_t made = 0;
	for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++)
		made += p->storage[p->makes.item[i]].bytes;
	return made;
}

/* ---- orders */

static void walk_open(struct walk *w, const struct sched_problem *p)
{
	*w = (struct walk){.p = p};
	for (uint32_t x = 0, comms = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		if (n->kind == SCHED_COMM)
			w->number[x] = comms++;
		if (sched_awaited(n) != SCHED_NONE)
			w->awaited[n->comm] |= (uint64_t)1 << x;
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			w->needs[x] |= (uint64_t)1 << p->pred.item[i];
	}
}

static bool takes_time(const struct sched_problem *p, uint32_t x)
{
	return p->node[x].time > 0;
}

/* Returns a time that no order ends before, once the nodes of the state are issued. */
static int64_t least_end(const struct walk *w, const struct state *s)
{
	const struct sched_problem *p = w->p;
	int64_t host = s->clock[NOW] - p->launch, lane[OPTIMUM_LANES], end = s->clock[END];
	bool any = false;
	for (uint32_t l = 0; l < p->lane_n; l++)
		lane[l] = s->clock[LANE + l] - p->launch;
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		if (s->done >> x & 1 || !takes_time(p, x))
			continue;
		if (n->kind == SCHED_COMM) {
			lane[n->lane] += n->time + p->launch;
			end = lane[n->lane] > end ? lane[n->lane] : end;
		} else {
			host += n->time + p->launch;
			any = true;
		}
	}
	return any && host > end ? host : end;
}

static struct state issue(const struct walk *w, const struct state *from, uint32_t x)
{
	const struct sched_problem *p = w->p;
	const struct sched_node *n = &p->node[x];
	struct state s = *from;
	int64_t *c = s.clock, begin = c[NOW];
	if (n->kind == SCHED_COMM) {
		begin = c[LANE + n->lane] > begin ? c[LANE + n->lane] : begin;
		c[LANE + n->lane] = begin + n->time + p->launch;
		c[OVER + w->number[x]] = w->awaited[x] ? c[LANE + n->lane] : 0;
		c[NOW] += p->launch;
	} else {
		if (n->comm != SCHED_NONE && c[OVER + w->number[n->comm]] > begin)
			begin = c[OVER + w->number[n->comm]];
		c[NOW] = begin + n->time + p->launch;
	}
	if (takes_time(p, x) && begin + n->time > c[END])
		c[END] = begin + n->time;
	s.done |= (uint64_t)1 << x;
	if (sched_awaited(n) != SCHED_NONE && !(w->awaited[n->comm] & ~s.done))
		c[OVER + w->number[n->comm]] = 0;
	for (unsigned l = 0; l < OPTIMUM_LANES; l++) /* a lane that is free is as good as one free for long */
		c[LANE + l] = c[LANE + l] > c[NOW] ? c[LANE + l] : c[NOW];
	for (unsigned k = OVER; k < CLOCKS; k++)
		c[k] = c[k] > c[NOW] ? c[k] : 0;
	return s;
}

static int by_set(const void *a, const void *b)
{
	const struct state *x = a, *y = b;
	if (x->done != y->done)
		return x->done < y->done ? -1 : 1;
	for (unsigned k = 0; k < CLOCKS; k++)
		if (x->clock[k] != y->clock[k])
			return x->clock[k] < y->clock[k] ? -1 : 1;
	return 0;
}

static bool is_as_good(const struct state *a, const struct state *b)
{
	for (unsigned k = 0; k < CLOCKS; k++)
		if (a->clock[k] > b->clock[k])
			return false;
	return true;
}

/* Keeps, for each set, the states that no other is as good as. */
static void drop_worse(struct states *l)
{
	uint32_t kept = 0, first = 0;
	if (l->n)
		qsort(l->at, l->n, sizeof *l->at, by_set);
	for (uint32_t i = 0; i < l->n; i++) {
		bool good = true;
		if (!kept || l->at[kept - 1].done != l->at[i].done)
			first = kept;
		for (uint32_t k = first; k < kept && good; k++)
			good = !is_as_good(&l->at[k], &l->at[i]);
		if (good)
			l->at[kept++] = l->at[i];
	}
	l->n = kept;
}

/* Issues every node that is ready and fits into memory. */
static void extend(struct walk *w, const struct state *s, int64_t live)
{
	const struct sched_problem *p = w->p;
	for (uint32_t x = 0; x < p->n; x++) {
		uint64_t bit = (uint64_t)1 << x;
		if (s->done & bit || w->needs[x] & ~s->done || live + made_by(p, x) > w->limit)
			continue;
		struct state next = issue(w, s, x);
		if (least_end(w, &next) < w->best)
			vec_push(&w->next, next);
	}
}

/* Lowers w->best to the least runtime of all orders. */
static void try_orders(struct walk *w)
{
	const struct sched_problem *p = w->p;
	uint64_t all = p->n < 64 ? ((uint64_t)1 << p->n) - 1 : UINT64_MAX;
	struct state begin = {0};
	int64_t live = 0;
	if (p->fixed > w->limit)
		return;
	vec_push(&w->now, begin);
	while (w->now.n && w->now.at[0].done != all) {
		for (uint32_t i = 0; i < w->now.n; i++) {
			if (!i || w->now.at[i].done != w->now.at[i - 1].done)
				live = live_after(p, w->now.at[i].done);
			extend(w, &w->now.at[i], live);
		}
		drop_worse(&w->next);
		struct states used = w->now;
		w->now = w->next;
		w->next = used;
		w->next.n = 0;
	}
	for (uint32_t i = 0; i < w->now.n; i++)
		if (w->now.at[i].clock[END] < w->best)
			w->best = w->now.at[i].clock[END];
	vec_free(&w->now);
	vec_free(&w->next);
}

/* ---- buckets */

struct choice {
	const struct sched_problem *p;
	int64_t limit, best;
	uint32_t comm_n;
	uint32_t bucket[OPTIMUM_COMMS]; /* by transfer */
};

static void try_buckets(struct choice *c, uint32_t bucket_n)
{
	struct arena *a = arena_new();
	struct sched_bucketed b;
	uint32_t members[OPTIMUM_COMMS] = {0}, bucket[OPTIMUM_COMMS];
	for (uint32_t k = 0; k < c->comm_n; k++)
		if (c->bucket[k] != SCHED_NONE)
			members[c->bucket[k]]++;
	for (uint32_t k = 0; k < c->comm_n; k++) { /* a comm alone is not packed */
		bool alone = c->bucket[k] == SCHED_NONE || members[c->bucket[k]] == 1;
		bucket[k] = alone ? SCHED_NONE : c->bucket[k];
	}
	if (sched_bucket(c->p, bucket, bucket_n, a, &b)) {
		struct walk w;
		walk_open(&w, &b.p);
		w.limit = c->limit;
		w.best = c->best;
		try_orders(&w);
		c->best = w.best;
	}
	arena_free(a);
}

/* Puts comm k and those after it into all buckets of their families, and into new ones. */
static void choose_buckets(struct choice *c, uint32_t k, uint32_t bucket_n)
{
	uint32_t family_of[OPTIMUM_COMMS];
	if (k == c->comm_n) {
		try_buckets(c, bucket_n);
		return;
	}
	uint32_t family = c->p->transfer[k].family;
	for (uint32_t i = 0; i < k; i++)
		if (c->bucket[i] != SCHED_NONE)
			family_of[c->bucket[i]] = c->p->transfer[i].family;
	c->bucket[k] = SCHED_NONE;
	if (family == SCHED_NONE) {
		choose_buckets(c, k + 1, bucket_n);
		return;
	}
	for (uint32_t b = 0; b <= bucket_n; b++) {
		c->bucket[k] = b;
		if (b == bucket_n || family_of[b] == family)
			choose_buckets(c, k + 1, b == bucket_n ? bucket_n + 1 : bucket_n);
	}
	c->bucket[k] = SCHED_NONE;
}

bool optimum_is_possible(const struct sched_problem *p)
{
	uint32_t comms = 0;
	for (uint32_t x = 0; x < p->n; x++)
		comms += p->node[x].kind == SCHED_COMM;
	return p->lane_n <= OPTIMUM_LANES && comms <= OPTIMUM_COMMS && p->n + comms <= OPTIMUM_NODES;
}

int64_t optimum_runtime(const struct sched_problem *p, bool bucket, int64_t limit, int64_t most)
{
	struct choice c = {.p = p, .limit = limit, .best = most, .comm_n = p->transfer_n};
	memset(c.bucket, 0xff, sizeof c.bucket);
	try_buckets(&c, 0); /* usually near the best, so that the others end early */
	if (bucket)
		choose_buckets(&c, 0, 0);
	return c.best;
}

/* ---- peak */

static int by_done(const void *a, const void *b)
{
	const struct state *x = a, *y = b;
	return x->done != y->done           ? (x->done > y->done) - (x->done < y->done)
	       : x->clock[0] != y->clock[0] ? (x->clock[0] > y->clock[0]) - (x->clock[0] < y->clock[0])
	                                    : 0;
}

/* Each state has the least peak on the way to its set in place of a clock. */
int64_t optimum_peak(const struct sched_problem *p)
{
	struct walk w;
	walk_open(&w, p);
	struct state begin = {.clock = {p->fixed}};
	vec_push(&w.now, begin);
	for (uint32_t step = 0; step < p->n; step++) {
		for (uint32_t i = 0; i < w.now.n; i++) {
			const struct state *s = &w.now.at[i];
			int64_t live = live_after(p, s->done);
			for (uint32_t x = 0; x < p->n; x++) {
				uint64_t bit = (uint64_t)1 << x;
				int64_t peak = live + made_by(p, x);
				if (s->done & bit || w.needs[x] & ~s->done)
					continue;
				struct state next = {.done = s->done | bit,
				                     .clock = {peak > s->clock[0] ? peak : s->clock[0]}};
				vec_push(&w.next, next);
			}
		}
		qsort(w.next.at, w.next.n, sizeof *w.next.at, by_done);
		uint32_t kept = 0;
		for (uint32_t i = 0; i < w.next.n; i++)
			if (!kept || w.next.at[kept - 1].done != w.next.at[i].done)
				w.next.at[kept++] = w.next.at[i];
		w.next.n = kept;
		struct states used = w.now;
		w.now = w.next;
		w.next = used;
		w.next.n = 0;
	}
	int64_t peak = w.now.at[0].clock[0];
	vec_free(&w.now);
	vec_free(&w.next);
	return peak;
}
