/* gather: dynamic programming over the comms that may share a bucket, in the order in which they are
 * needed.
 *
 * A state is (free, late): the time when the lane is free, and the delay of the host against a run
 * without any waiting. A comm that ends at `free` and is needed at `needed` makes late at least free -
 * needed. Of the states after the same comms, one that is no better than another in both numbers is
 * dropped. At most effort.states are kept, or MOST_OPEN until all are known. A state also knows which results
 * are in memory; states are not compared by that. */
#include "sched/gather.h"
#include "base/vec.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_OPEN = 48,
	PLACES = 56, /* whole runs of more than MOST_OPEN states */
	RUN = 8,
	STRETCH = 64,
	MANY = 4000, /* small comms; of more, fewer states and sizes of buckets are tried */
};

struct effort {
	uint32_t states; /* most states that are kept after a comm */
	uint32_t each;   /* above so many members, not all sizes of buckets are tried */
};

static const struct effort efforts[] = {{12, 64}, {4, 8}};

struct state {
	int64_t free, late;
	uint32_t before;  /* the state before this one; SCHED_NONE: none */
	uint32_t members; /* members of its last bucket */
	uint32_t held;    /* the first source whose results are in memory when its last comm starts */
};

struct room {
	int64_t free[PLACES]; /* of the states; behind them INT64_MAX */
	struct state at[MOST_OPEN];
};

struct open {              /* the states after a prefix while others are still added */
	struct room *room; /* NULL: there are none */
	uint32_t n;
};

struct stage {             /* the states after a prefix of the small comms, by `free` */
	uint32_t first, n; /* index and number in `state` */
};

/* The effect of a sequence of comms on any state: it adds `time` to `free`, and makes late at least free
 * + most. */
struct row {
	int64_t time, most;
};

/* Small comms that follow each other, with the large comms behind each of them. */
struct stretch {
	uint32_t n, family; /* SCHED_NONE: several families */
	int64_t in, out;    /* bytes, summed */
	int64_t room;       /* bytes that gathered tensors may take when the comms are used: the least */
	struct row between;
};

struct gather {
	const struct sched_problem *p;
	const struct sched_source *source;
	const struct sched_gather_options *o;
	struct effort effort;
	uint32_t *small, small_n; /* indices of source; small[small_n] is the end of source */
	struct stage *stage;      /* by small comm, and the end */
	struct open *open;        /* likewise, while states are still added */
	int64_t *ahead;           /* by small comm, and the end: the final `late` is at least free + ahead */
	int64_t most;             /* states with a larger delay are dropped */
	int64_t *bytes;           /* by source, and the end: bytes of the results of those before */
	struct stretch *comm;     /* by small comm: it alone */
	struct stretch *stretch;  /* STRETCH small comms each */
	VEC(struct state) state;
};

/* Returns the time of the lane for a comm. */
static int64_t inflated(const struct gather *g, int64_t time)
{
	return (int64_t)((double)(time + g->p->launch) * g->o->inflate);
}

/* Appends a comm to the row. */
static void append_comm(struct row *r, int64_t time, int64_t needed)
{
	r->time += time;
	r->most = r->time - needed > r->most ? r->time - needed : r->most;
}

static void append_row(struct row *r, const struct row *more)
{
	r->most = r->time + more->most > r->most ? r->time + more->most : r->most;
	r->time += more->time;
}

static void add_row(struct state *s, const struct row *r)
{
	s->late = s->free + r->most > s->late ? s->free + r->most : s->late;
	s->free += r->time;
}

/* Appends comms to others, without their family. */
static void append_comms(struct stretch *to, const struct stretch *more)
{
	to->n += more->n;
	to->in += more->in;
	to->out += more->out;
	to->room = more->room < to->room ? more->room : to->room;
	append_row(&to->between, &more->between);
}

static struct stretch no_comms(void)
{
	return (struct stretch){.family = SCHED_NONE, .room = INT64_MAX, .between = {0, INT64_MIN / 2}};
}

/* Returns the small comm k alone. */
static struct stretch read_comm(const struct gather *g, uint32_t k)
{
	uint32_t i = g->small[k];
	const struct sched_transfer *c = sched_transfer(g->p, g->source[i].comm);
	struct stretch t = no_comms();
	t.n = 1;
	t.family = c->family;
	t.in = c->in;
	t.out = c->out;
	if (g->o->share > 0)
		t.room = (int64_t)(g->o->share * (double)g->source[i].room);
	while (++i < g->small[k + 1])
		append_comm(&t.between, inflated(g, g->p->node[g->source[i].comm].time), g->source[i].needed);
	return t;
}

static uint32_t transfer_of(const struct gather *g, uint32_t source)
{
	return g->p->node[g->source[source].comm].transfer;
}

static void find_stretches(struct gather *g)
{
	for (uint32_t k = 0; k < g->small_n; k++) {
		struct stretch *t = &g->stretch[k / STRETCH];
		g->comm[k] = read_comm(g, k);
		if (k % STRETCH == 0)
			*t = no_comms();
		append_comms(t, &g->comm[k]);
		t->family = t->n == 1 || t->family == g->comm[k].family ? g->comm[k].family : SCHED_NONE;
	}
}

/* Returns the first source whose results may still be in memory when source i starts a comm, from `held` on. */
static uint32_t find_held(const struct gather *g, uint32_t held, uint32_t i, int64_t room)
{
	while (held < i && g->bytes[i] - g->bytes[held] > room)
		held++;
	return held;
}

/* Delays the start of a comm until the results before `held` are dropped. That is when the next source is used. */
static void await_memory(const struct gather *g, struct state *s, uint32_t held)
{
	if (s->held >= held)
		return;
	s->held = held;
	int64_t dropped = g->source[held].needed + s->late;
	s->free = dropped > s->free ? dropped : s->free;
}

/* Sets the number of states after the last ones were dropped. */
static void cut_open(struct open *open, uint32_t n)
{
	while (open->n > n)
		open->room->free[--open->n] = INT64_MAX;
}

/* Drops every other state, but neither the first nor the last. */
static void thin(struct open *open)
{
	struct room *r = open->room;
	uint32_t n = 0;
	for (uint32_t i = 0; i < open->n; i += 2)
		r->at[n++] = r->at[i];
	if (open->n % 2 == 0)
		r->at[n++] = r->at[open->n - 1];
	for (uint32_t i = 0; i < n; i++)
		r->free[i] = r->at[i].free;
	cut_open(open, n);
}

/* Returns the number of open states whose `free` is at most this: counts the runs of states that are, and then those
 * of the next run. Branches of a search could not be predicted. */
static inline uint32_t find_place(const struct open *open, int64_t free)
{
	if (!open->n)
		return 0;
	const int64_t *at = open->room->free;
	uint32_t n = 0;
	for (uint32_t i = RUN; i < PLACES; i += RUN)
		n += at[i - 1] <= free;
	at += RUN * n;
	n *= RUN;
	for (uint32_t i = 0; i + 1 < RUN; i++)
		n += at[i] <= free;
	return n;
}

/* Returns true if the open state before the place is at least as good in both numbers. */
static inline bool is_beaten(const struct open *open, const struct state *s, uint32_t place)
{
	return place && open->room->at[place - 1].late <= s->late;
}

static struct room *room_new(void)
{
	struct room *r = mem_alloc(sizeof *r);
	for (uint32_t i = 0; i < PLACES; i++)
		r->free[i] = INT64_MAX;
	return r;
}

/* Adds s, which no open state beats, at its place. Drops the states that s beats. The states remain sorted: `free`
 * grows and `late` falls. Returns true if there were too many, so that others are dropped as well. */
static bool open_state(struct open *open, const struct state *s, uint32_t low)
{
	struct room *r = open->room = open->room ? open->room : room_new();
	uint32_t from = low - (low && r->free[low - 1] == s->free), to = low;
	while (to < open->n && r->at[to].late >= s->late)
		to++;
	memmove(r->at + from + 1, r->at + to, sizeof *r->at * (open->n - to));
	memmove(r->free + from + 1, r->free + to, sizeof *r->free * (open->n - to));
	r->at[from] = *s;
	r->free[from] = s->free;
	if (from == to)
		open->n++;
	else
		cut_open(open, open->n - (to - from - 1));
	if (open->n < MOST_OPEN)
		return false;
	thin(open);
	return true;
}

/* Closes a stage: keeps some of its open states, evenly. */
static void close_stage(struct gather *g, uint32_t k)
{
	const struct open *open = &g->open[k];
	uint32_t n = open->n, most = g->effort.states;
	g->stage[k].first = g->state.n;
	g->stage[k].n = n < most ? n : most;
	for (uint32_t i = 0; i < g->stage[k].n; i++)
		vec_push(&g->state, open->room->at[n <= most ? i : (uint64_t)i * (n - 1) / (most - 1)]);
	free(open->room);
	g->open[k] = (struct open){0};
}

/* A bucket of the small comms from `first` on (no bucket if it is a single comm), and the large comms
 * after them. */
struct bucket {
	uint32_t first;
	uint32_t held; /* the first source whose results may be in memory beside it */
	struct stretch all;
	unsigned point; /* of its family, near its size */
};

/* Adds comms to the bucket. Returns false if one of them must not join. */
static bool join_comms(struct bucket *b, const struct stretch *more)
{
	int64_t room = more->room < b->all.room ? more->room : b->all.room;
	if (b->all.n &&
	    (more->family != b->all.family ||
	     b->all.out + more->out > room / 2)) /* results are copied out of the gathered buffer */
		return false;
	b->all.family = more->family;
	append_comms(&b->all, more);
	return true;
}

/* Lets the bucket grow to so many members. Returns false if it must have fewer. */
static bool grow_bucket(const struct gather *g, struct bucket *b, uint32_t members)
{
	uint32_t end = b->first + members, before = b->all.n;
	bool may = end <= g->small_n;
	end = may ? end : g->small_n;
	for (uint32_t k = b->first + before; k < end; k = b->first + b->all.n) {
		bool whole = k % STRETCH == 0 && end - k >= STRETCH && b->all.n;
		if (!(whole && join_comms(b, &g->stretch[k / STRETCH])) && !join_comms(b, &g->comm[k])) {
			may = false;
			break;
		}
	}
	if (b->all.n > before)
		b->held = find_held(g, b->held, g->small[b->first],
		                    b->all.room - (b->all.n > 1 ? 2 * b->all.out : b->all.out));
	return may;
}

/* The effect of a bucket and the large comms behind it: it adds `host` to `late`, and then as `row` does. */
struct effect {
	struct row row;
	int64_t host;
};

static struct effect effect_of(const struct gather *g, struct bucket *b)
{
	const struct sched_problem *p = g->p;
	const struct sched_source *first = &g->source[g->small[b->first]];
	const struct stretch *all = &b->all;
	struct effect e = {.row.most = INT64_MIN / 2};
	int64_t time = p->node[first->comm].time;
	if (all->n > 1) {
		/* one more pack and unpack, unless members are grouped; members - 1 fewer comms and waits */
		e.host = sched_copy_time(p, all->in) + sched_copy_time(p, all->out) +
		         2 * ((p->grouped ? 1 : 2) - (int64_t)all->n) * p->launch;
		time = sched_family_time_near(&p->family[all->family], all->in, &b->point);
	}
	append_comm(&e.row, inflated(g, time), first->needed - e.host);
	append_row(&e.row, &all->between);
	return e;
}

static void add_bucket(const struct gather *g, const struct bucket *b, const struct effect *e,
                       struct state *s)
{
	await_memory(g, s, b->held);
	s->late += e->host;
	add_row(s, &e->row);
}

/* Finds a lower bound of the delay from each small comm on: bytes take the least time on the lane, and
 * all comms must be done when the last is needed. */
static void find_ahead(struct gather *g, uint32_t n)
{
	const struct sched_problem *p = g->p;
	int64_t *bytes = mem_zalloc(sizeof *bytes * ((size_t)p->family_n + 1)), ahead = INT64_MIN / 2;
	double *least = mem_alloc(sizeof *least * ((size_t)p->family_n + 1));
	for (uint32_t k = 0; k < g->small_n; k++) {
		const struct sched_transfer *c = sched_transfer(p, g->source[g->small[k]].comm);
		bytes[c->family] += c->in;
	}
	for (uint32_t f = 0; f < p->family_n; f++)
		least[f] = bytes[f] ? sched_family_least(&p->family[f], bytes[f]) : 0;
	g->ahead[g->small_n] = ahead;
	for (uint32_t i = n, k = g->small_n; k > 0;) {
		const struct sched_source *s = &g->source[--i];
		const struct sched_transfer *c = sched_transfer(p, s->comm);
		bool small = i == g->small[k - 1];
		double time = small ? least[c->family] * (double)c->in - 1
		                    : (double)(p->node[s->comm].time + p->launch) - 1;
		ahead = (int64_t)(time * g->o->inflate) + (ahead > -s->needed ? ahead : -s->needed);
		if (small)
			g->ahead[--k] = ahead;
	}
	free(bytes);
	free(least);
}

static struct bucket no_members(uint32_t first, uint32_t held)
{
	return (struct bucket){first, held, no_comms(), 1};
}

/* Returns the delay of the host if every bucket has so many members, where they may have as many. */
static int64_t late_with(const struct gather *g, struct state s, uint32_t members)
{
	for (uint32_t k = 0; k < g->small_n;) {
		struct bucket b = no_members(k, s.held);
		grow_bucket(g, &b, members);
		struct effect e = effect_of(g, &b);
		add_bucket(g, &b, &e, &s);
		k += b.all.n;
	}
	return s.late;
}

/* Returns the next number of members that is tried: a multiple of a 16th, or for many comms a 4th more. */
static uint32_t next_size(const struct gather *g, uint32_t members)
{
	uint32_t part = members / 16, next = part ? members - members % part + part : 0;
	if (members < g->effort.each)
		return members + 1;
	if (g->small_n > MANY)
		return members + members / 4;
	return next < 16 * (part + 1) ? next : 16 * (part + 1);
}

/* Adds the states after bucket b, with the effect e, to those before small comm k + b->all.n. Drops states that
 * are later than g->most. Returns the least delay of them all.
 *
 * From a state on whose delay follows from `free` alone, the next ones, with a larger `free`, are no better. */
static int64_t extend_states(struct gather *g, uint32_t k, const struct bucket *b, const struct effect *e)
{
	const struct stage *t = &g->stage[k];
	struct open *open = &g->open[k + b->all.n];
	int64_t ahead = g->ahead[k + b->all.n], least = INT64_MAX;
	for (uint32_t i = t->first; i < t->first + t->n; i++) {
		const struct state *before = &g->state.at[i];
		struct state s = {before->free, before->late, i, b->all.n, before->held};
		bool thinned = false;
		add_bucket(g, b, e, &s);
		bool follows = s.free == before->free + e->row.time && s.late == before->free + e->row.most;
		least = s.late < least ? s.late : least;
		if (s.late <= g->most && s.free + ahead <= g->most) {
			uint32_t place = find_place(open, s.free);
			thinned = !is_beaten(open, &s, place) && open_state(open, &s, place);
		}
		if (follows && !thinned)
			break;
	}
	return least;
}

/* Adds the states of all buckets that begin with small comm k. The bucket stops growing when all its states are
 * later than g->most, even minus the launches that may still be saved. */
static void extend_stage(struct gather *g, uint32_t k)
{
	const struct stage *t = &g->stage[k];
	bool worth = t->n > 0;
	uint32_t held = worth ? g->state.at[t->first].held : 0;
	for (uint32_t i = 1; i < t->n; i++)
		held = g->state.at[t->first + i].held < held ? g->state.at[t->first + i].held : held;
	struct bucket b = no_members(k, held);
	uint32_t most = g->small_n - k, next = 1; /* members with which the bucket is tried */
	while (worth && b.all.n < most && grow_bucket(g, &b, next)) {
		next = next_size(g, b.all.n);
		next = next < most ? next : most;
		struct effect e = effect_of(g, &b);
		int64_t least = extend_states(g, k, &b, &e);
		worth = least - 2 * (int64_t)most * g->p->launch <= g->most;
	}
}

/* Returns the delay of the best state. */
static int64_t take_buckets(const struct gather *g, uint32_t *bucket, uint32_t *bucket_n)
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
			bucket[transfer_of(g, g->small[k + i])] = *bucket_n;
		*bucket_n += s->members > 1;
	}
	assert(k == 0);
	return g->state.at[best].late;
}

/* start: receives the state before the first small comm. */
static void open_gather(struct gather *g, const struct sched_source *source, uint32_t n, struct state *start)
{
	const struct sched_problem *p = g->p;
	*start = (struct state){.before = SCHED_NONE};
	g->small = mem_alloc(sizeof *g->small * ((size_t)n + 1));
	for (uint32_t i = 0; i < n; i++) {
		const struct sched_transfer *c = sched_transfer(p, source[i].comm);
		int64_t time = inflated(g, p->node[source[i].comm].time);
		if (c->family != SCHED_NONE && c->in <= g->o->threshold)
			g->small[g->small_n++] = i;
		else if (!g->small_n)
			add_row(start, &(struct row){time, time - source[i].needed});
	}
	g->small[g->small_n] = n;
	g->effort = efforts[g->small_n > MANY];
	g->bytes = mem_alloc(sizeof *g->bytes * ((size_t)n + 1));
	g->comm = mem_alloc(sizeof *g->comm * ((size_t)g->small_n + 1));
	g->stretch = mem_alloc(sizeof *g->stretch * (g->small_n / STRETCH + 1));
	g->bytes[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		g->bytes[i + 1] = g->bytes[i] + sched_transfer(p, source[i].comm)->out;
	find_stretches(g);
}

static void close_gather(struct gather *g)
{
	free(g->small);
	free(g->bytes);
	free(g->comm);
	free(g->stretch);
}

int64_t sched_gather(const struct sched_problem *p, const struct sched_source *source, uint32_t n,
                     const struct sched_gather_options *o, uint32_t *bucket, uint32_t *bucket_n)
{
	struct gather g = {.p = p, .source = source, .o = o};
	struct state start;
	open_gather(&g, source, n, &start);
	g.stage = mem_zalloc(sizeof *g.stage * ((size_t)g.small_n + 1));
	g.open = mem_zalloc(sizeof *g.open * ((size_t)g.small_n + 1));
	g.ahead = mem_alloc(sizeof *g.ahead * ((size_t)g.small_n + 1));
	find_ahead(&g, n);
	g.most = late_with(&g, start, 1); /* start from buckets of one size */
	for (uint32_t members = 2; members < 2 * g.small_n; members *= 2) {
		int64_t late = late_with(&g, start, members);
		g.most = late < g.most ? late : g.most;
	}
	/* a state within the limit may still be dropped by thinning, even the one that set the limit */
	for (; !g.stage[g.small_n].n; g.most = INT64_MAX / 2) {
		g.state.n = 0;
		open_state(&g.open[0], &start, 0);
		for (uint32_t k = 0; k <= g.small_n; k++) {
			close_stage(&g, k);
			if (k < g.small_n)
				extend_stage(&g, k);
		}
	}
	int64_t late = take_buckets(&g, bucket, bucket_n);
	free(g.stage);
	free(g.ahead);
	free(g.open);
	vec_free(&g.state);
	close_gather(&g);
	return late;
}

int64_t sched_gather_delay(const struct sched_problem *p, const struct sched_source *source, uint32_t n,
                           const struct sched_gather_options *o, const uint32_t *bucket)
{
	struct gather g = {.p = p, .source = source, .o = o};
	struct state s;
	open_gather(&g, source, n, &s);
	bool possible = true;
	for (uint32_t i = 0, k = 0; i < n; i++) { /* members are small */
		k += k < g.small_n && g.small[k] < i;
		possible &= bucket[transfer_of(&g, i)] == SCHED_NONE || g.small[k] == i;
	}
	for (uint32_t k = 0; k < g.small_n && possible;) {
		struct bucket b = no_members(k, s.held);
		uint32_t end = k + 1, at = bucket[transfer_of(&g, g.small[k])];
		while (end < g.small_n && at != SCHED_NONE && bucket[transfer_of(&g, g.small[end])] == at)
			end++;
		possible = grow_bucket(&g, &b, end - k);
		struct effect e = effect_of(&g, &b);
		add_bucket(&g, &b, &e, &s);
		k = end;
	}
	close_gather(&g);
	return possible ? s.late : INT64_MAX;
}
