/* crest_bound: see crest_bound.h. */
#include "sched/crest_bound.h"
#include "base/vec.h"
#include "sched/concave.h"
#include "sched/crest.h"
#include <stdlib.h>

enum {
	FINE = 256,  /* sizes of buckets differ by this part, */
	EVEN = 2048, /* or by this part of the largest */
};

struct cover { /* a bucket of at most `room` bytes may run beside some crests */
	int64_t room;
	int64_t time;    /* of the crests */
	int64_t between; /* the host works so long between them */
};

struct comm {           /* a comm of the lane */
	uint32_t need;  /* the first crest that needs it to be over */
	uint32_t keeps; /* so many crests, the first ones, are before the last use of its result */
	int64_t bytes;  /* of its result, alone or in a bucket */
	int64_t flight; /* bytes that are live while it runs alone */
	bool waits;     /* a wait for it is in its bucket */
};

struct size { /* of a bucket, up to the next one */
	int64_t bytes, time, cover;
};

struct family {
	VEC(struct size) size;
	int64_t end;   /* the last size ends before it */
	double flight; /* least bytes that are live while a bucket runs, for a byte of its operands */
	double least;  /* ns for a byte at the present price */
};

struct crest_bound {
	const struct sched_batches *b;
	const struct sched_problem *p;
	uint32_t lane;
	int64_t limit;
	struct sched_crests crests;
	struct comm *comm;       /* by node */
	VEC(struct cover) cover; /* less and less room; none is in all worse than another */
	int64_t *between;        /* by crest: least time of the host between it and the next */
	struct family *family;
	double crest_time, ends; /* ends: of the lane, before its first comm and after its last */
};

static bool is_counted(const struct crest_bound *c, uint32_t x)
{
	const struct sched_node *n = &c->p->node[x];
	return n->kind == SCHED_COMM && n->lane == c->lane && c->b->tail[x] >= 0;
}

static bool is_shared(const struct crest_bound *c, uint32_t x)
{
	return is_counted(c, x) && c->p->node[x].family != SCHED_NONE && !c->b->alone[x] &&
	       c->p->node[x].in > 0;
}

/* ---- results */

/* Returns true if x waits for the comm, or needs such a wait. */
static bool follows_wait(const struct sched_problem *p, uint32_t x, uint32_t comm)
{
	if (p->node[x].kind == SCHED_WAIT && p->node[x].comm == comm)
		return true;
	for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++) {
		const struct sched_node *y = &p->node[p->pred.item[i]];
		if (y->kind == SCHED_WAIT && y->comm == comm)
			return true;
	}
	return false;
}

/* Adds a storage that the comm or a wait for it makes. */
static void add_result(struct crest_bound *c, uint32_t comm, uint32_t s, int64_t *copied)
{
	const struct sched_problem *p = c->p;
	const struct sched_storage *t = &p->storage[s];
	struct comm *m = &c->comm[comm];
	uint32_t keeps = t->kept ? c->crests.n : 0;
	bool flies = t->kept, used = t->kept;
	for (uint32_t i = p->users.at[s]; i < p->users.at[s + 1]; i++) {
		uint32_t x = p->users.item[i];
		flies |= follows_wait(p, x, comm);
		if (p->node[x].kind == SCHED_WAIT)
			continue;
		used = true;
		keeps = c->crests.after[x] > keeps ? c->crests.after[x] : keeps;
	}
	if (t->def == comm && flies)
		m->flight += t->bytes;
	if (!used)
		return;
	*copied += t->bytes;
	m->keeps = keeps < m->keeps ? keeps : m->keeps;
}

/* Finds what the results of comms keep live. */
static void find_results(struct crest_bound *c)
{
	const struct sched_problem *p = c->p;
	int64_t *copied = mem_zalloc(sizeof *copied * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		c->comm[x] = (struct comm){c->crests.n, c->crests.n, 0, 0, false};
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t comm = p->node[x].comm;
		if (p->node[x].kind != SCHED_WAIT || comm == SCHED_NONE)
			continue;
		struct comm *m = &c->comm[comm];
		bool chained = false;
		for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++)
			chained |= p->node[p->pred.item[i]].kind == SCHED_WAIT;
		m->waits |= !chained;
		m->need = c->crests.before[x] < m->need ? c->crests.before[x] : m->need;
	}
	for (uint32_t s = 0; s < p->storage_n; s++) {
		uint32_t def = p->storage[s].def;
		if (def == SCHED_NONE)
			continue;
		uint32_t comm = p->node[def].kind == SCHED_COMM ? def : p->node[def].comm;
		if (comm != SCHED_NONE && is_counted(c, comm))
			add_result(c, comm, s, &copied[comm]);
	}
	for (uint32_t x = 0; x < p->n; x++) {
		struct comm *m = &c->comm[x];
		int64_t out = p->node[x].kind == SCHED_COMM ? p->node[x].out : 0;
		m->bytes = m->flight < out ? m->flight : out;
		m->bytes = copied[x] < m->bytes ? copied[x] : m->bytes;
	}
	free(copied);
}

/* ---- covers */

/* Finds the work that is after one crest and before the next. */
static void find_between(struct crest_bound *c)
{
	const struct sched_problem *p = c->p;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t after = c->crests.after[x];
		if (after && after < c->crests.n && c->crests.before[x] == after &&
		    p->node[x].kind == SCHED_COMPUTE)
			c->between[after - 1] += sched_host_time(p, x);
	}
}

static int by_room(const void *a, const void *b)
{
	const struct cover *x = a, *y = b;
	if (x->room != y->room)
		return x->room < y->room ? 1 : -1;
	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	return (x->between > y->between) - (x->between < y->between);
}

static int by_need(const void *a, const void *b)
{
	const struct comm *x = a, *y = b;
	return (x->need > y->need) - (x->need < y->need);
}

/* Lists the covers that end with crest k. kept: by number of crests, bytes of results that are live at the first ones;
 * of those that crest k needs. */
static void add_covers(struct crest_bound *c, uint32_t k, const int64_t *kept)
{
	struct cover here = {.room = INT64_MAX};
	int64_t held = 0;
	for (uint32_t i = k + 1; i <= c->crests.n; i++)
		held += kept[i];
	for (uint32_t i = k + 1; i-- > 0;) {
		int64_t room = c->limit - c->crests.live[i] - held;
		here.room = room < here.room ? room : here.room;
		here.time += c->p->node[c->crests.node[i]].time;
		here.between += i < k ? c->between[i] : 0;
		held += kept[i];
		if (here.room < 0)
			return;
		vec_push(&c->cover, here);
	}
}

/* Drops covers that others are better than: with as much room and time, and no more work between. */
static void drop_worse(struct crest_bound *c)
{
	uint32_t left = 0;
	if (c->cover.n)
		qsort(c->cover.at, c->cover.n, sizeof *c->cover.at, by_room);
	for (uint32_t i = 0; i < c->cover.n; i++) {
		const struct cover *x = &c->cover.at[i];
		bool worse = false;
		for (uint32_t k = 0; k < left && !worse; k++)
			worse = c->cover.at[k].time >= x->time && c->cover.at[k].between <= x->between;
		if (!worse)
			c->cover.at[left++] = *x;
	}
	c->cover.n = left;
}

static void find_covers(struct crest_bound *c)
{
	struct comm *order = mem_alloc(sizeof *order * ((size_t)c->p->n + 1));
	int64_t *kept = mem_zalloc(sizeof *kept * ((size_t)c->crests.n + 1));
	uint32_t n = 0, next = 0;
	for (uint32_t x = 0; x < c->p->n; x++)
		if (c->comm[x].bytes && c->comm[x].need < c->crests.n)
			order[n++] = c->comm[x];
	if (n)
		qsort(order, n, sizeof *order, by_need);
	find_between(c);
	for (uint32_t k = 0; k < c->crests.n; k++) {
		for (; next < n && order[next].need <= k; next++)
			kept[order[next].keeps] += order[next].bytes;
		add_covers(c, k, kept);
	}
	drop_worse(c);
	free(kept);
	free(order);
}

/* Returns the most time of crests beside which a bucket of so many bytes and so much time may run. */
static int64_t cover_of(const struct crest_bound *c, int64_t bytes, int64_t time)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < c->cover.n && c->cover.at[i].room >= bytes; i++) {
		const struct cover *x = &c->cover.at[i];
		int64_t here = time - x->between < x->time ? time - x->between : x->time;
		most = here > most ? here : most;
	}
	return most;
}

/* ---- sizes of buckets */

static void find_flight(struct crest_bound *c, uint32_t f)
{
	const struct sched_problem *p = c->p;
	bool unpacks = !p->grouped && (p->copies || p->family[f].collective == SCHED_ALLGATHER), waits = true;
	double results = INFINITY;
	for (uint32_t x = 0; x < p->n; x++) {
		if (!is_shared(c, x) || p->node[x].family != f)
			continue;
		int64_t bytes = unpacks ? p->node[x].out : p->grouped ? c->comm[x].flight : 0;
		results = fmin(results, (double)bytes / (double)p->node[x].in);
		waits &= c->comm[x].waits;
	}
	c->family[f].flight = results + (!p->grouped && waits ? 1 : 0);
}

static void find_sizes(struct crest_bound *c, uint32_t f)
{
	const struct sched_problem *p = c->p;
	struct family *m = &c->family[f];
	int64_t all = 0, least = INT64_MAX;
	for (uint32_t x = 0; x < p->n; x++) {
		int64_t in = p->node[x].in;
		if (!is_shared(c, x) || p->node[x].family != f)
			continue;
		all += in;
		least = in < least ? in : least;
	}
	all = all < c->b->most[f] ? all : c->b->most[f];
	m->end = all + 1;
	if (!all)
		return;
	find_flight(c, f);
	for (int64_t size = least, step; size <= all; size += step) {
		step = size / FINE < all / EVEN ? size / FINE : all / EVEN;
		step = step > 1 ? step : 1;
		int64_t last = size + step - 1 < all ? size + step - 1 : all;
		int64_t time = sched_family_floor(&p->family[f], size, last) + p->launch;
		int64_t flight = (int64_t)floor(m->flight * (double)size);
		vec_push(&m->size, (struct size){size, time, cover_of(c, flight, time)});
	}
}

/* ---- prices */

/* Returns the least that a comm or bucket adds to the runtime at a price. */
static double cost_of(int64_t time, int64_t cover, double price)
{
	return (double)time - price * (double)cover;
}

static void find_least(struct family *m, double price)
{
	m->least = INFINITY;
	for (uint32_t i = 0; i < m->size.n; i++) {
		const struct size *s = &m->size.at[i];
		int64_t last = (i + 1 < m->size.n ? s[1].bytes : m->end) - 1;
		m->least = fmin(m->least, cost_of(s->time, s->cover, price) / (double)last);
	}
}

/* A bound by price is concave. */
static double bound_of(void *of, double price)
{
	struct crest_bound *c = of;
	const struct sched_problem *p = c->p;
	double sum = c->ends + price * c->crest_time;
	for (uint32_t f = 0; f < p->family_n; f++)
		find_least(&c->family[f], price);
	for (uint32_t x = 0; x < p->n; x++) {
		if (!is_counted(c, x))
			continue;
		int64_t time = p->node[x].time + p->launch;
		double alone = cost_of(time, cover_of(c, c->comm[x].flight, time), price);
		double packed = INFINITY;
		if (is_shared(c, x))
			packed = c->family[p->node[x].family].least * (double)p->node[x].in;
		sum += fmin(alone, packed);
	}
	return sum;
}

int64_t sched_bound_crests(const struct sched_batches *b, uint32_t lane, int64_t limit)
{
	const struct sched_problem *p = b->p;
	struct arena *a = arena_new();
	struct crest_bound c = {.b = b, .p = p, .lane = lane, .limit = limit};
	int64_t head = INT64_MAX, tail = INT64_MAX;
	c.crests = sched_crests(p, lane, a);
	if (!c.crests.n) {
		arena_free(a);
		return 0;
	}
	c.comm = arena_new_array(a, struct comm, p->n);
	c.family = arena_new_array(a, struct family, p->family_n);
	for (uint32_t k = 0; k < c.crests.n; k++)
		c.crest_time += (double)p->node[c.crests.node[k]].time;
	for (uint32_t x = 0; x < p->n; x++) {
		if (!is_counted(&c, x))
			continue;
		head = b->head[x] < head ? b->head[x] : head;
		tail = b->tail[x] < tail ? b->tail[x] : tail;
	}
	c.ends = head < INT64_MAX ? (double)(head + tail) : 0;
	c.between = arena_new_array(a, int64_t, c.crests.n);
	find_results(&c);
	find_covers(&c);
	for (uint32_t f = 0; f < p->family_n; f++)
		find_sizes(&c, f);
	double runtime = concave_most(bound_of, &c) - (double)p->launch;
	for (uint32_t f = 0; f < p->family_n; f++)
		vec_free(&c.family[f].size);
	vec_free(&c.cover);
	arena_free(a);
	return (int64_t)runtime;
}
