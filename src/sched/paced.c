/* paced: see paced.h. Each node gets a key, and goes in the order of the keys, after all nodes that it needs:
 *
 *     buckets issued before node x | wait for the gather that x uses first | its unpack | x
 *
 * Waits for scatters, and nodes that need them, are deferred until the scatter is over, or until memory has no room for
 * the next node. Casts whose results are larger than their operands, and that only a sink needs, run with the scatter. */
#include "sched/paced.h"
#include "sched/keyed.h"
#include "sched/pace.h"
#include "sched/role.h"
#include "sched/simulate.h"
#include <stdlib.h>
#include <string.h>

enum {
	MOST_NODES = 1 << 24, /* keys are numbers of 32 bits */
	SLOTS = 16,           /* keys for each node of the problem */
	TRIES = 16,           /* buckets for less and less memory */
	FAILURES = 4, /* tries without a better schedule that fit in memory, after which no other is made */
	PARTS = 1024, /* each try leaves this part of the memory more */
};

/* Keys of a node: comms that are issued before it, the wait and unpack of the bucket that it uses, itself. */
enum slot { ISSUES = 12, GATHER_WAIT = ISSUES, UNPACK, WORK };

struct pacer {
	struct scheduler *s;
	const struct sched_problem *p;
	struct arena *arena;
	uint32_t lane;
	struct sched_pace_comm *source, *sink; /* of the lane, ascending by `first` */
	uint32_t source_n, sink_n;
	uint32_t *sink_of; /* by node: a cast of this sink that runs with the scatter, or SCHED_NONE */
	int64_t *live;     /* see struct sched_pace_options */
	uint32_t *key;     /* by comm of the lane: its key */
	uint32_t *used;    /* by comm: the first node that uses it */
};

/* Finds the lane that takes longest without buckets. */
static uint32_t find_lane(const struct scheduler *s)
{
	int64_t time[SCHED_MAX_LANES] = {0};
	uint32_t lane = 0;
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *c = &s->p->node[s->comm.at[i]];
		time[c->lane] += c->time + s->p->launch;
	}
	for (uint32_t l = 1; l < s->p->lane_n; l++)
		lane = time[l] > time[lane] ? l : lane;
	return lane;
}

static int by_first(const void *a, const void *b)
{
	const struct sched_pace_comm *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

/* Widens the nodes that use a source by those that need node x, which is the comm or its wait, and use its results. */
static void widen_use(const struct sched_problem *p, uint32_t x, struct sched_pace_comm *c)
{
	for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++) {
		uint32_t y = p->succ.item[i];
		c->first = p->node[y].kind != SCHED_WAIT && y < c->first ? y : c->first;
	}
	for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++) {
		uint32_t u = p->makes.item[i];
		c->copied += p->storage[u].bytes;
		for (uint32_t k = p->users.at[u]; k < p->users.end[u]; k++)
			c->last = p->users.item[k] > c->last ? p->users.item[k] : c->last;
	}
}

static void list_sources(struct pacer *g)
{
	const struct sched_problem *p = g->p;
	uint32_t *place = arena_new_array(g->arena, uint32_t, p->n); /* by comm: its place in g->source */
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		if (n->kind == SCHED_COMM && n->lane == g->lane && g->s->role[x] == SCHED_SOURCE) {
			place[x] = g->source_n;
			int64_t out = sched_transfer(p, x)->out;
			g->source[g->source_n++] = (struct sched_pace_comm){x, p->n - 1, 0, out, -out};
			widen_use(p, x, &g->source[place[x]]);
		} else if (n->kind == SCHED_WAIT && n->comm != SCHED_NONE &&
		           p->node[n->comm].lane == g->lane && g->s->role[n->comm] == SCHED_SOURCE) {
			widen_use(p, x, &g->source[place[n->comm]]);
		}
	}
	for (uint32_t k = 0; k < g->source_n; k++) {
		struct sched_pace_comm *c = &g->source[k];
		c->last = c->last > c->first ? c->last : c->first;
		g->used[c->comm] = c->first;
	}
	if (g->source_n)
		qsort(g->source, g->source_n, sizeof *g->source, by_first);
}

/* Returns the bytes of storages that a cast is the last to use, if only the sink needs it; else -1. */
static int64_t measure_cast(const struct sched_problem *p, uint32_t x, uint32_t sink)
{
	int64_t bytes = 0;
	if (p->node[x].kind != SCHED_COMPUTE || p->succ.end[x] - p->succ.at[x] != 1 ||
	    p->succ.item[p->succ.at[x]] != sink)
		return -1;
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++) {
		uint32_t u = p->uses.item[i];
		bytes += p->users.item[p->users.end[u] - 1] == x ? p->storage[u].bytes : 0;
	}
	return bytes;
}

/* Lists a sink. Its operands, or those of its cast, are live until the scatter. own: by storage; receives true for
 * them. */
static void list_sink(struct pacer *g, uint32_t comm, bool *own)
{
	const struct sched_problem *p = g->p;
	struct sched_pace_comm c = {comm, comm, comm, 0, 0};
	for (uint32_t i = p->uses.at[comm]; i < p->uses.end[comm]; i++) {
		uint32_t u = p->uses.item[i], def = p->storage[u].def;
		if (def == SCHED_NONE || def == comm || p->users.item[p->users.at[u]] < comm)
			continue;
		int64_t cast = measure_cast(p, def, comm);
		own[u] = true;
		if (cast >= 0 && cast < p->storage[u].bytes)
			g->sink_of[def] = comm;
		c.bytes += cast >= 0 && cast < p->storage[u].bytes ? cast : p->storage[u].bytes;
	}
	g->sink[g->sink_n++] = c;
}

/* Finds the live bytes in the original order, without the results of sources and the operands of sinks. */
static void find_live(struct pacer *g, const bool *own)
{
	struct arena *scratch = arena_new();
	struct sched_problem rest = *g->p;
	uint32_t *order = arena_new_array(scratch, uint32_t, g->p->n);
	struct sched_moment *trace = arena_new_array(scratch, struct sched_moment, g->p->n);
	rest.storage = arena_new_array(scratch, struct sched_storage, g->p->storage_n);
	memcpy(rest.storage, g->p->storage, sizeof *rest.storage * g->p->storage_n);
	for (uint32_t u = 0; u < g->p->storage_n; u++) {
		uint32_t def = g->p->storage[u].def;
		if (def == SCHED_NONE)
			continue;
		uint32_t comm = g->p->node[def].kind == SCHED_COMM ? def : g->p->node[def].comm;
		bool gathered = comm != SCHED_NONE && g->used[comm] != SCHED_NONE;
		if (own[u] || gathered)
			rest.storage[u].bytes = 0;
	}
	for (uint32_t x = 0; x < g->p->n; x++)
		order[x] = x;
	sched_simulate(&rest, order, trace);
	for (uint32_t x = 0; x < g->p->n; x++)
		g->live[x] = trace[x].live;
	arena_free(scratch);
}

/* Takes comms out of the buckets that have no other. Returns the number of buckets left. */
static uint32_t drop_single(const struct pacer *g, uint32_t *bucket, uint32_t bucket_n)
{
	uint32_t *number = mem_zalloc(sizeof *number * ((size_t)bucket_n + 1)),
	         n = 0; /* at first: of its members */
	for (uint32_t i = 0; i < g->p->transfer_n; i++)
		if (bucket[i] != SCHED_NONE)
			number[bucket[i]]++;
	for (uint32_t k = 0; k < bucket_n; k++)
		number[k] = number[k] > 1 ? n++ : SCHED_NONE;
	for (uint32_t i = 0; i < g->p->transfer_n; i++)
		bucket[i] = bucket[i] == SCHED_NONE ? SCHED_NONE : number[bucket[i]];
	free(number);
	return n;
}

/* Makes a bucket of the comms of a family that are issued together, if they are two or more. Finds the keys of comms.
 * Returns the number of buckets. */
static uint32_t number_buckets(struct pacer *g, const struct sched_paced *paced, uint32_t paced_n,
                               uint32_t *bucket)
{
	uint32_t *members = mem_alloc(sizeof *members * ((size_t)g->p->family_n + 1)), n = 0,
	         issue = SCHED_NONE, slot = 0;
	for (uint32_t k = 0; k < paced_n; k++) {
		const struct sched_pace_comm *comm = paced[k].gather ? g->source : g->sink;
		uint32_t comm_n = paced[k].gather ? g->source_n : g->sink_n, i = 0;
		slot = paced[k].issue != issue ? 0 : slot + 1 < ISSUES ? slot + 1 : slot;
		issue = paced[k].issue;
		memset(members, 0xff, sizeof *members * ((size_t)g->p->family_n + 1));
		while (i < comm_n && comm[i].first < paced[k].from)
			i++;
		for (; i < comm_n && comm[i].first < paced[k].end; i++) {
			uint32_t x = comm[i].comm, f = sched_transfer(g->p, x)->family;
			g->key[x] = SLOTS * issue + slot;
			if (f == SCHED_NONE)
				continue;
			if (members[f] == SCHED_NONE)
				members[f] = n++;
			bucket[g->p->node[x].transfer] = members[f];
		}
	}
	free(members);
	return drop_single(g, bucket, n);
}

/* Finds the keys of the nodes with buckets. */
static void find_keys(const struct pacer *g, const struct sched_bucketed *b, const uint8_t *role,
                      uint32_t *key)
{
	/* by comm, with buckets: the first node that uses it */
	uint32_t *used = mem_alloc(sizeof *used * ((size_t)b->p.n + 1));
	memset(used, 0xff, sizeof *used * b->p.n);
	for (uint32_t k = 0; k < g->source_n; k++) {
		uint32_t *first = &used[b->became[g->source[k].comm]];
		*first = g->source[k].first < *first ? g->source[k].first : *first;
	}
	for (uint32_t y = 0; y < b->p.n; y++) {
		const struct sched_origin *o = &b->origin[y];
		uint32_t x = o->node, comm = g->p->node[x].kind == SCHED_COMM ? x : g->p->node[x].comm;
		bool moved = comm != SCHED_NONE && g->key[comm] != SCHED_NONE;
		key[y] = SLOTS * x + WORK;
		if (g->sink_of[x] != SCHED_NONE && o->step == SCHED_STEP_NODE)
			key[y] = g->key[g->sink_of[x]];
		else if (moved && (o->step == SCHED_STEP_COMM || o->step == SCHED_STEP_PACK))
			key[y] = g->key[comm];
		else if (moved && used[b->became[comm]] == SCHED_NONE)
			key[y] = g->key[comm];
		else if (moved)
			key[y] = SLOTS * used[b->became[comm]] +
			         (o->step == SCHED_STEP_WAIT ? GATHER_WAIT : UNPACK);
		for (uint32_t i = b->p.pred.at[y]; role[y] == SCHED_LATE && i < b->p.pred.end[y]; i++)
			key[y] = key[b->p.pred.item[i]] > key[y] ? key[b->p.pred.item[i]] : key[y];
	}
	free(used);
}

/* ---- waits for sinks */

struct deferral {
	const struct sched_problem *p;
	int64_t limit, live, now, lane[SCHED_MAX_LANES];
	int64_t *over;  /* by comm: time when its lane is free again */
	uint32_t *left; /* by storage: its users to come */
	uint32_t *out, n;
};

static void issue_node(struct deferral *d, uint32_t x)
{
	const struct sched_problem *p = d->p;
	const struct sched_node *n = &p->node[x];
	d->out[d->n++] = x;
	if (n->kind == SCHED_COMM) {
		int64_t begin = d->now > d->lane[n->lane] ? d->now : d->lane[n->lane];
		d->over[x] = d->lane[n->lane] = begin + n->time + p->launch;
	} else if (n->comm != SCHED_NONE && d->over[n->comm] > d->now) {
		d->now = d->over[n->comm];
	}
	d->now += sched_host_time(p, x);
	d->live += sched_made(p, x);
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
		if (!--d->left[p->uses.item[i]])
			d->live -= p->storage[p->uses.item[i]].bytes;
}

/* Returns true if a late node would hold the host now. */
static bool must_stall(const struct deferral *d, uint32_t x)
{
	uint32_t comm = sched_awaited(&d->p->node[x]);
	return comm != SCHED_NONE && d->over[comm] > d->now;
}

/* Moves late nodes behind others: they keep their order, and each goes when it would not hold the host, or when memory
 * has no room for the next node. */
static void defer_late(const struct sched_problem *p, const uint8_t *role, int64_t limit, uint32_t *order)
{
	struct deferral d = {.p = p, .limit = limit, .live = p->fixed};
	uint32_t *late = mem_alloc(sizeof *late * ((size_t)p->n + 1)), first = 0, n = 0;
	d.over = mem_zalloc(sizeof *d.over * ((size_t)p->n + 1));
	d.left = mem_alloc(sizeof *d.left * ((size_t)p->storage_n + 1));
	d.out = mem_alloc(sizeof *d.out * ((size_t)p->n + 1));
	for (uint32_t u = 0; u < p->storage_n; u++)
		d.left[u] = p->users.end[u] - p->users.at[u];
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = order[k];
		if (role[x] == SCHED_LATE) {
			late[n++] = x;
			continue;
		}
		while (first < n && (!must_stall(&d, late[first]) || d.live + sched_made(p, x) > limit))
			issue_node(&d, late[first++]);
		issue_node(&d, x);
	}
	while (first < n)
		issue_node(&d, late[first++]);
	memcpy(order, d.out, sizeof *order * p->n);
	free(late);
	free(d.over);
	free(d.left);
	free(d.out);
}

/* ---- trials */

/* Makes the schedule of the buckets. Returns its peak; INT64_MAX: buckets would wait for each other. */
static int64_t make_order(struct pacer *g, const struct sched_paced *paced, uint32_t paced_n, struct trial *t)
{
	const struct sched_problem *p = g->p;
	struct sched_schedule *made = &t->schedule;
	memset(made->bucket, 0xff, sizeof *made->bucket * p->transfer_n);
	memset(g->key, 0xff, sizeof *g->key * p->n);
	t->bucket_n = number_buckets(g, paced, paced_n, made->bucket);
	if (!sched_bucket(p, made->bucket, t->bucket_n, made->arena, &made->b))
		return INT64_MAX;
	t->hash = plan_hash(g->s, made->bucket);
	t->open = t->listed = true;
	const uint8_t *role = sched_roles(&made->b.p, made->arena);
	made->order = arena_new_array(made->arena, uint32_t, made->b.p.n);
	uint32_t *key = mem_alloc(sizeof *key * ((size_t)made->b.p.n + 1));
	bool *late = mem_zalloc((size_t)made->b.p.n + 1);
	find_keys(g, &made->b, role, key);
	sched_keyed(&made->b.p, key, SLOTS * (p->n + 1), late, made->order);
	defer_late(&made->b.p, role, g->s->o->limit, made->order);
	free(key);
	free(late);
	made->result = sched_simulate(&made->b.p, made->order, NULL);
	return made->result.peak;
}

/* Returns the next try after try k that leaves less memory than was needed. most: bytes that were. */
static unsigned next_try(unsigned k, int64_t limit, int64_t part, int64_t most)
{
	while (++k < TRIES && limit - k * part >= most)
		;
	return k;
}

/* Chooses buckets for the memory, and for less and less of it, since pace.h knows it roughly. */
static void try_buckets(struct pacer *g)
{
	int64_t limit = g->s->o->limit, part = (limit - g->p->fixed) / PARTS, most;
	struct sched_pace_options o = {.limit = limit,
	                               .live = g->live,
	                               .source = g->source,
	                               .sink = g->sink,
	                               .source_n = g->source_n,
	                               .sink_n = g->sink_n};
	struct sched_paced *paced;
	unsigned failures = 0;
	uint32_t n;
	for (unsigned k = 0; k < TRIES && plan_may_try(g->s); k = next_try(k, limit, part, most)) {
		o.limit = limit - k * part;
		n = sched_pace(g->p, &o, g->arena, &paced, &most);
		if (!n)
			return;
		struct trial t = plan_trial(g->s, &g->s->best.plan);
		g->s->plans++;
		int64_t peak = make_order(g, paced, n, &t);
		bool better = t.schedule.result.runtime < g->s->best.schedule.result.runtime;
		failures = peak > limit ? failures : better ? 0 : failures + 1;
		if (peak <= limit && better)
			plan_offer(g->s, &t);
		else
			sched_schedule_free(&t.schedule);
		if (peak == INT64_MAX || failures == FAILURES)
			return;
	}
}

void sched_paced_try(struct scheduler *s)
{
	const struct sched_problem *p = s->p;
	if (p->n > MOST_NODES)
		return;
	struct pacer g = {.s = s, .p = p, .arena = arena_new(), .lane = find_lane(s)};
	bool *own = arena_new_array(g.arena, bool, p->storage_n);
	g.source = arena_new_array(g.arena, struct sched_pace_comm, p->n);
	g.sink = arena_new_array(g.arena, struct sched_pace_comm, p->n);
	g.sink_of = arena_new_array(g.arena, uint32_t, p->n);
	g.live = arena_new_array(g.arena, int64_t, p->n);
	g.key = arena_new_array(g.arena, uint32_t, p->n);
	g.used = arena_new_array(g.arena, uint32_t, p->n);
	memset(g.used, 0xff, sizeof *g.used * p->n);
	memset(g.sink_of, 0xff, sizeof *g.sink_of * p->n);
	list_sources(&g);
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM && p->node[x].lane == g.lane && s->role[x] == SCHED_SINK)
			list_sink(&g, x, own);
	if (g.source_n) {
		find_live(&g, own);
		try_buckets(&g);
	}
	arena_free(g.arena);
}
