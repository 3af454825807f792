/* crest_bound: see crest_bound.h. */
#include "sched/crest_bound.h"
#include "base/vec.h"
#include "sched/crest.h"
#include "sched/crest_path.h"
#include <math.h>
#include <stdlib.h>

enum {
	FINE = 8,    /* sizes of buckets differ by this part, */
	EVEN = 128,  /* or by this part of the largest */
	STEPS = 16,  /* a size is divided into so many to find its cost */
	PARTS = 512, /* no part of the host's work is longer than this part of it */
	CELLS = 192, /* that memory has room for */
	MOST_CELLS = 1024,
	LARGE = 4, /* a comm is large if it has more than so many times the bytes of most others */
	MOST_RARE = 2,
};

struct comm {           /* a comm of the lane */
	uint32_t need;  /* the first crest that needs it to be over */
	uint32_t keeps; /* so many crests, the first ones, are before the last use of its result */
	int64_t bytes;  /* of its result, alone or in a bucket */
	int64_t flight; /* bytes that are live while it runs alone */
	bool waits;     /* a wait for it is in its bucket */
};

struct size { /* buckets with operands of `from` … `to` bytes */
	int64_t from, to;
	struct crest_kind kind;
};

struct family {
	VEC(struct size) size;
	double flight; /* least bytes that are live while a bucket runs, for a byte of its operands */
	double issue;  /* likewise when it is issued */
	double rate;   /* least ns for a byte */
	int64_t large; /* comms with more bytes are large */
};

struct crest_bound {
	const struct sched_batches *b;
	const struct sched_problem *p;
	uint32_t lane;
	int64_t limit;
	struct sched_crests crests;
	struct comm *comm; /* by node */
	int64_t *between;  /* by crest: least time of the host between it and the next */
	struct family *family;
	uint32_t gathers; /* the family whose results are counted in cells, or SCHED_NONE */
	VEC(struct crest_part) part;
	VEC(struct crest_kind) kind;
	uint32_t *begin; /* by crest: its first part */
	struct crest_path path;
};

static bool is_counted(const struct crest_bound *c, uint32_t x)
{
	const struct sched_node *n = &c->p->node[x];
	return n->kind == SCHED_COMM && n->lane == c->lane && c->b->tail[x] >= 0;
}

static bool is_shared(const struct crest_bound *c, uint32_t x)
{
	return is_counted(c, x) && sched_transfer(c->p, x)->family != SCHED_NONE && !c->b->alone[x] &&
	       sched_transfer(c->p, x)->in > 0;
}

static bool is_member(const struct crest_bound *c, uint32_t x, uint32_t f)
{
	return is_shared(c, x) && sched_transfer(c->p, x)->family == f;
}

/* Returns the time of a comm alone. */
static int64_t time_of(const struct crest_bound *c, uint32_t x)
{
	return c->p->node[x].time + c->p->launch;
}

/* Returns the most time that a bucket may take if others and work slow it. */
static int64_t slowed(const struct sched_problem *p, int64_t time)
{
	double most = 1, sharing = 1;
	for (uint32_t k = 0; k < p->contention_n; k++) {
		most = fmax(most, (double)p->contention[k].comm / SCHED_ALONE);
		sharing = p->contention[k].link ? p->lane_n : sharing;
	}
	return most * sharing > 1 ? (int64_t)((double)time * most * sharing) + 1 : time;
}

/* ---- results */

/* Returns true if x waits for the comm, or needs such a wait. */
static bool follows_wait(const struct sched_problem *p, uint32_t x, uint32_t comm)
{
	if (p->node[x].kind == SCHED_WAIT && p->node[x].comm == comm)
		return true;
	for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
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
	for (uint32_t i = p->users.at[s]; i < p->users.end[s]; i++) {
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
		c->comm[x] = (struct comm){.need = c->crests.n, .keeps = c->crests.n};
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t comm = p->node[x].comm;
		if (p->node[x].kind != SCHED_WAIT || comm == SCHED_NONE)
			continue;
		struct comm *m = &c->comm[comm];
		bool chained = false;
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
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
		int64_t out = p->node[x].kind == SCHED_COMM ? sched_transfer(p, x)->out : 0;
		m->bytes = m->flight < out ? m->flight : out;
		m->bytes = copied[x] < m->bytes ? copied[x] : m->bytes;
	}
	free(copied);
}

/* ---- parts of the host's work */

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

/* Adds parts for the crest k, or for the work behind it, that leaves `room` beside the results of comms. */
static void add_parts(struct crest_bound *c, uint32_t k, bool crest, int64_t room, int64_t longest)
{
	uint32_t kept = crest ? k : k + 1; /* the last crest that may use a result */
	struct crest_part part = {.room = room};
	int64_t time = crest ? c->p->node[c->crests.node[k]].time : c->between[k], n = time / longest + 1;
	for (uint32_t x = 0; x < c->p->n; x++) {
		const struct comm *m = &c->comm[x];
		if (!is_counted(c, x))
			continue;
		bool needed = m->need <= k, gathered = is_member(c, x, c->gathers);
		part.room -= needed && m->keeps > kept ? m->bytes : 0;
		part.needed += needed && gathered ? sched_transfer(c->p, x)->in : 0;
		part.used += (needed || m->keeps <= kept) && gathered ? sched_transfer(c->p, x)->in : 0;
	}
	for (int64_t i = 0; i < n; i++) {
		part.time = time * (i + 1) / n - time * i / n;
		vec_push(&c->part, part);
	}
}

static void list_parts(struct crest_bound *c)
{
	int64_t all = 0;
	find_between(c);
	for (uint32_t k = 0; k < c->crests.n; k++)
		all += c->p->node[c->crests.node[k]].time + c->between[k];
	for (uint32_t k = 0; k < c->crests.n; k++) {
		c->begin[k] = c->part.n;
		add_parts(c, k, true, c->limit - c->crests.live[k], all / PARTS + 1);
		if (c->between[k])
			add_parts(c, k, false, c->limit - c->p->fixed, all / PARTS + 1);
	}
}

/* Returns the first part beside which a comm may run. */
static uint32_t first_part(const struct crest_bound *c, uint32_t x)
{
	uint32_t after = c->crests.after[x];
	return !after ? 0 : after == c->crests.n ? c->part.n : c->begin[after - 1] + 1;
}

/* ---- kinds of buckets */

/* Returns the bytes that are live when a comm is issued in a bucket, except for the results of others. */
static int64_t measure_issue(const struct sched_problem *p, uint32_t x)
{
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++) {
		uint32_t def = p->storage[p->uses.item[i]].def;
		if (def != SCHED_NONE && p->node[def].kind != SCHED_COMPUTE)
			return 0;
	}
	return sched_batch_operands(p, x) + (p->grouped ? 0 : sched_transfer(p, x)->in);
}

/* Finds the bytes that buckets of a family take. */
static void find_bytes(struct crest_bound *c, uint32_t f)
{
	const struct sched_problem *p = c->p;
	bool unpacks = !p->grouped && (p->copies || p->family[f].collective == SCHED_ALLGATHER), waits = true;
	double results = INFINITY, issue = INFINITY;
	for (uint32_t x = 0; x < p->n; x++) {
		if (!is_member(c, x, f))
			continue;
		int64_t bytes = unpacks ? sched_transfer(p, x)->out : p->grouped ? c->comm[x].flight : 0;
		results = fmin(results, (double)bytes / (double)sched_transfer(p, x)->in);
		issue = fmin(issue, (double)measure_issue(p, x) / (double)sched_transfer(p, x)->in);
		waits &= c->comm[x].waits;
	}
	c->family[f].flight = results + (!p->grouped && waits ? 1 : 0);
	c->family[f].issue = f == c->gathers ? 0 : issue;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Finds the bytes above which a comm is large, by the comm up to which, in order of size, half of all bytes are. */
static void find_large(struct crest_bound *c, uint32_t f)
{
	int64_t *in = mem_alloc(sizeof *in * ((size_t)c->p->n + 1)), all = 0, sum = 0;
	uint32_t n = 0, k = 0;
	for (uint32_t x = 0; x < c->p->n; x++)
		if (is_member(c, x, f)) {
			in[n++] = sched_transfer(c->p, x)->in;
			all += sched_transfer(c->p, x)->in;
		}
	if (n)
		qsort(in, n, sizeof *in, by_size);
	while (k < n && (sum += in[k]) < all / 2)
		k++;
	c->family[f].large = n ? LARGE * in[k] : INT64_MAX;
	free(in);
}

/* Lists the sizes of buckets of a family. */
static void list_sizes(struct crest_bound *c, uint32_t f)
{
	struct family *m = &c->family[f];
	int64_t all = 0, least = INT64_MAX;
	for (uint32_t x = 0; x < c->p->n; x++) {
		int64_t in = sched_transfer(c->p, x)->in;
		if (!is_member(c, x, f))
			continue;
		all += in;
		least = in < least ? in : least;
	}
	all = all < c->b->most[f] ? all : c->b->most[f];
	for (int64_t from = least, to; from <= all; from = to + 1) {
		int64_t step = from / FINE < all / EVEN ? from / FINE : all / EVEN;
		to = step > 1 ? from + step - 1 : from;
		to = to < all ? to : all;
		int64_t longest = sched_family_ceiling(&c->p->family[f], from, to) + c->p->launch;
		struct crest_kind kind = {.cost = INT64_MAX, .time = slowed(c->p, longest)};
		kind.flight = (int64_t)(m->flight * (double)from);
		kind.issue = (int64_t)(m->issue * (double)from);
		vec_push(&m->size, (struct size){from, to, kind});
	}
}

/* Returns the least of time - rate * bytes of a bucket of the size, or of time / bytes if the rate is 0. */
static double least_of(const struct crest_bound *c, uint32_t f, const struct size *s, double rate)
{
	double least = INFINITY;
	for (int64_t from = s->from, to, step = (s->to - s->from) / STEPS; from <= s->to; from = to + 1) {
		to = from + step < s->to ? from + step : s->to;
		double time = (double)(sched_family_floor(&c->p->family[f], from, to) + c->p->launch);
		least = fmin(least, rate > 0 ? time - rate * (double)to : time / (double)to);
	}
	return least;
}

/* Returns true for a large comm that takes little memory alone. As a size of buckets it would be better than all. */
static bool is_rare(const struct crest_bound *c, uint32_t x)
{
	const struct family *m = &c->family[sched_transfer(c->p, x)->family];
	return sched_transfer(c->p, x)->family != c->gathers && sched_transfer(c->p, x)->in > m->large &&
	       2 * (double)c->comm[x].flight < m->flight * (double)sched_transfer(c->p, x)->in &&
	       c->path.rare_n < MOST_RARE;
}

/* Adds a comm to the rare ones. cost: what it adds alone to its share of the time. */
static void add_rare(struct crest_bound *c, uint32_t x, int64_t cost)
{
	struct crest_kind *r = &c->path.rare;
	bool first = !c->path.rare_n++;
	int64_t time = slowed(c->p, time_of(c, x));
	uint32_t from = first_part(c, x);
	r->cost = first || cost < r->cost ? cost : r->cost;
	r->time = first || time > r->time ? time : r->time;
	r->flight = first || c->comm[x].flight < r->flight ? c->comm[x].flight : r->flight;
	c->path.rare_from = first || from < c->path.rare_from ? from : c->path.rare_from;
}

/* Counts a comm alone as a bucket of its size. */
static void add_alone(struct crest_bound *c, uint32_t x, int64_t cost)
{
	int64_t time = slowed(c->p, time_of(c, x));
	struct size *s = c->family[sched_transfer(c->p, x)->family].size.at;
	while (s->to < sched_transfer(c->p, x)->in)
		s++;
	s->kind.cost = cost < s->kind.cost ? cost : s->kind.cost;
	s->kind.time = time > s->kind.time ? time : s->kind.time;
	s->kind.flight = c->comm[x].flight < s->kind.flight ? c->comm[x].flight : s->kind.flight;
	s->kind.issue = 0;
}

/* Finds the least time for a byte, and what each size costs above it. */
static void find_costs(struct crest_bound *c, uint32_t f)
{
	const struct sched_problem *p = c->p;
	struct family *m = &c->family[f];
	m->rate = INFINITY;
	for (uint32_t i = 0; i < m->size.n; i++)
		m->rate = fmin(m->rate, least_of(c, f, &m->size.at[i], 0));
	for (uint32_t x = 0; x < p->n; x++)
		if (is_member(c, x, f))
			m->rate = fmin(m->rate, (double)time_of(c, x) / (double)sched_transfer(p, x)->in);
	for (uint32_t i = 0; i < m->size.n; i++)
		m->size.at[i].kind.cost = (int64_t)fmax(0, least_of(c, f, &m->size.at[i], m->rate));
	for (uint32_t x = 0; x < p->n; x++) {
		if (!is_member(c, x, f))
			continue;
		int64_t cost =
		    (int64_t)fmax(0, (double)time_of(c, x) - m->rate * (double)sched_transfer(p, x)->in);
		if (is_rare(c, x))
			add_rare(c, x, cost);
		else
			add_alone(c, x, cost);
	}
}

/* Adds the kinds of a family: of gathers, one for each number of cells that a size may fill. */
static void add_kinds(struct crest_bound *c, uint32_t f)
{
	const struct family *m = &c->family[f];
	for (uint32_t i = 0; i < m->size.n; i++) {
		const struct size *s = &m->size.at[i];
		struct crest_kind kind = s->kind;
		int64_t cell = c->path.cell, most = f == c->gathers ? (s->to + cell - 1) / cell : 0;
		for (int64_t cells = f == c->gathers ? s->from / cell : 0; cells <= most; cells++) {
			kind.cells = (uint32_t)cells;
			vec_push(&c->kind, kind);
		}
	}
}

/* Finds the family of gathers whose comms take longest alone, the bytes of its operands and results, and cells. */
static void find_gathers(struct crest_bound *c)
{
	const struct sched_problem *p = c->p;
	int64_t most = 0;
	c->gathers = SCHED_NONE;
	for (uint32_t f = 0; f < p->family_n; f++) {
		int64_t time = 0, bytes = 0;
		double ratio = INFINITY;
		for (uint32_t x = 0; x < p->n; x++)
			if (is_member(c, x, f)) {
				time += time_of(c, x);
				bytes += sched_transfer(p, x)->in;
				ratio =
				    fmin(ratio, (double)c->comm[x].bytes / (double)sched_transfer(p, x)->in);
			}
		if (p->family[f].collective != SCHED_ALLGATHER || time <= most)
			continue;
		most = time;
		c->gathers = f;
		c->path.gathered = bytes;
		c->path.ratio = ratio;
	}
	double cell = c->path.ratio > 0 ? (double)c->path.room / c->path.ratio / CELLS : 0;
	int64_t least = c->path.gathered / MOST_CELLS + 1;
	c->path.cell = cell > (double)least
	                   ? cell < (double)c->path.gathered ? (int64_t)cell : c->path.gathered + 1
	                   : least;
}

/* Returns the time of all comms at the least rates of their families. Comms without a bucket are rare, or may run beside
 * any parts. */
static double find_shares(struct crest_bound *c)
{
	int64_t work = 0;
	double sum = 0;
	for (uint32_t k = 0; k < c->part.n; k++)
		work += c->part.at[k].time;
	for (uint32_t x = 0; x < c->p->n; x++) {
		if (!is_counted(c, x))
			continue;
		int64_t time = time_of(c, x);
		bool early = first_part(c, x) < c->part.n;
		if (is_shared(c, x)) {
			sum += c->family[sched_transfer(c->p, x)->family].rate *
			       (double)sched_transfer(c->p, x)->in;
			continue;
		}
		if (early && c->path.rare_n < MOST_RARE)
			add_rare(c, x, 0);
		else if (early)
			time -= time < work ? time : work;
		sum += (double)time;
	}
	return sum;
}

/* Returns the least time of the lane until its first comm may begin, and from the end of its last one. */
static int64_t find_ends(const struct crest_bound *c)
{
	int64_t head = INT64_MAX, tail = INT64_MAX;
	for (uint32_t x = 0; x < c->p->n; x++) {
		if (!is_counted(c, x))
			continue;
		head = c->b->head[x] < head ? c->b->head[x] : head;
		tail = c->b->tail[x] < tail ? c->b->tail[x] : tail;
	}
	return head < INT64_MAX ? head + tail : 0;
}

static int64_t find_runtime(struct crest_bound *c)
{
	find_results(c);
	find_gathers(c);
	list_parts(c);
	for (uint32_t f = 0; f < c->p->family_n; f++) {
		find_large(c, f);
		find_bytes(c, f);
		list_sizes(c, f);
		find_costs(c, f);
		add_kinds(c, f);
	}
	double shares = find_shares(c);
	c->path.part = c->part.at;
	c->path.part_n = c->part.n;
	c->path.kind = c->kind.at;
	c->path.kind_n = c->kind.n;
	int64_t beside = crest_path_least(&c->path);
	return beside < INT64_MAX ? find_ends(c) + (int64_t)shares + beside - c->p->launch : 0;
}

int64_t sched_bound_crests(const struct sched_batches *b, uint32_t lane, int64_t limit)
{
	const struct sched_problem *p = b->p;
	struct arena *a = arena_new();
	struct crest_bound c = {.b = b, .p = p, .lane = lane, .limit = limit, .path.room = limit - p->fixed};
	int64_t runtime = 0;
	c.crests = sched_crests(p, lane, a);
	if (c.crests.n) {
		c.comm = arena_new_array(a, struct comm, p->n);
		c.family = arena_new_array(a, struct family, p->family_n);
		c.between = arena_new_array(a, int64_t, c.crests.n);
		c.begin = arena_new_array(a, uint32_t, c.crests.n);
		runtime = find_runtime(&c);
	}
	for (uint32_t f = 0; c.family && f < p->family_n; f++)
		vec_free(&c.family[f].size);
	vec_free(&c.part);
	vec_free(&c.kind);
	arena_free(a);
	return runtime;
}
