/* exact: walks over the sets of issued nodes, from the empty set to all nodes.
 *
 * The set says which bytes are live, and which nodes come next. For the times it does not matter in which order
 * the set was issued, only when the host, the lanes and the running comms are free. Of two states with the same
 * set, one that is no earlier in any of these is dropped. So is a state that cannot end before the best known
 * schedule. */
#include "sched/exact.h"
#include "base/hash.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

struct state {
	uint64_t done;
	int64_t now, end, live, peak;
	uint32_t before; /* the state before node was issued */
	uint32_t node;
	uint32_t next; /* another state with the same set, or SCHED_NONE */
	bool dropped;
};

struct exact {
	const struct sched_problem *p;
	int64_t limit, below;
	bool timed;       /* the aim is a short runtime; else, a small peak */
	uint64_t all;     /* the set of all nodes */
	uint64_t *needs;  /* by node: the nodes that it needs */
	uint64_t *users;  /* by storage */
	uint32_t *number; /* by comm: its number among the comms */
	uint32_t width;   /* number of times of a state: of the lanes, then of the comms */
	VEC(struct state) state;
	VEC(int64_t) time;     /* by state: when lanes are free, and when the wait of each comm may end */
	uint32_t *slot, slots; /* hash table by set: its first state, plus one */
	int64_t *next;         /* scratch: the times of a new state */
};

static void open_exact(struct exact *e, const struct sched_problem *p, struct arena *a, uint32_t states)
{
	e->p = p;
	e->all = p->n == SCHED_EXACT_NODES ? UINT64_MAX : ((uint64_t)1 << p->n) - 1;
	e->needs = arena_new_array(a, uint64_t, p->n);
	e->users = arena_new_array(a, uint64_t, p->storage_n);
	e->number = arena_new_array(a, uint32_t, p->n);
	e->width = p->lane_n;
	for (uint32_t x = 0; x < p->n; x++) {
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			e->needs[x] |= (uint64_t)1 << p->pred.item[i];
		if (p->node[x].kind == SCHED_COMM)
			e->number[x] = e->width++;
	}
	for (uint32_t s = 0; s < p->storage_n; s++)
		for (uint32_t i = p->users.at[s]; i < p->users.end[s]; i++)
			e->users[s] |= (uint64_t)1 << p->users.item[i];
	e->next = arena_new_array(a, int64_t, e->width);
	for (e->slots = 64; e->slots < 2 * states; e->slots *= 2)
		;
	e->slot = arena_new_array(a, uint32_t, e->slots);
}

/* Finds the first state with this set, plus one; or the empty slot for it. */
static uint32_t *find_slot(const struct exact *e, uint64_t done)
{
	uint32_t at = (uint32_t)hash_number(0, done) & (e->slots - 1);
	while (e->slot[at] && e->state.at[e->slot[at] - 1].done != done)
		at = (at + 1) & (e->slots - 1);
	return &e->slot[at];
}

/* Issues x in a state: sets the clocks of `s` and e->next. */
static void issue(struct exact *e, struct state *s, const int64_t *time, uint32_t x)
{
	const struct sched_node *n = &e->p->node[x];
	for (uint32_t i = 0; i < e->width; i++)
		e->next[i] = time[i];
	if (n->kind == SCHED_COMM) {
		int64_t *lane = &e->next[n->lane], begin = s->now > *lane ? s->now : *lane;
		*lane = e->next[e->number[x]] = begin + n->time + e->p->launch;
		if (n->time > 0 && begin + n->time > s->end)
			s->end = begin + n->time;
		s->now += e->p->launch;
	} else {
		if (n->comm != SCHED_NONE && e->next[e->number[n->comm]] > s->now)
			s->now = e->next[e->number[n->comm]];
		if (n->time > 0 && s->now + n->time > s->end)
			s->end = s->now + n->time;
		s->now += n->time + e->p->launch;
		if (n->comm != SCHED_NONE)
			e->next[e->number[n->comm]] = 0;
	}
	for (uint32_t i = 0; i < e->width; i++) /* a time that is over does not count */
		e->next[i] = e->next[i] > s->now ? e->next[i] : s->now;
}

/* Adds and frees the storages of x. Returns false if memory does not admit it. */
static bool admit(const struct exact *e, struct state *s, uint32_t x)
{
	const struct sched_problem *p = e->p;
	s->live += sched_made(p, x);
	s->peak = s->live > s->peak ? s->live : s->peak;
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
		if (!(e->users[p->uses.item[i]] & ~s->done))
			s->live -= p->storage[p->uses.item[i]].bytes;
	return s->peak <= e->limit;
}

/* Returns a time that no schedule that begins with the state is shorter than. */
static int64_t least_from(const struct exact *e, const struct state *s)
{
	int64_t host = s->now, lane[SCHED_MAX_LANES], most = s->end;
	bool works = false, busy[SCHED_MAX_LANES] = {false};
	memcpy(lane, e->next, sizeof *lane * e->p->lane_n);
	for (uint32_t x = 0; x < e->p->n; x++) {
		const struct sched_node *n = &e->p->node[x];
		if (s->done >> x & 1 || n->time <= 0)
			continue;
		if (n->kind == SCHED_COMM) {
			lane[n->lane] += n->time + e->p->launch;
			busy[n->lane] = true;
		} else {
			host += n->time + e->p->launch;
			works = true;
		}
	}
	if (works && host - e->p->launch > most)
		most = host - e->p->launch;
	for (uint32_t l = 0; l < e->p->lane_n; l++)
		if (busy[l] && lane[l] - e->p->launch > most)
			most = lane[l] - e->p->launch;
	return most;
}

/* Returns true if state k is nowhere later than s with the times e->next; or the other way round. */
static bool is_no_worse(const struct exact *e, const struct state *x, const int64_t *time,
                        const struct state *y, const int64_t *other)
{
	if (!e->timed)
		return x->peak <= y->peak;
	bool ok = x->now <= y->now && x->end <= y->end;
	for (uint32_t i = 0; ok && i < e->width; i++)
		ok = time[i] <= other[i];
	return ok;
}

/* Adds the state with node x issued, unless another state is as good. */
static void extend(struct exact *e, uint32_t from, uint32_t x)
{
	struct state s = e->state.at[from];
	s.done |= (uint64_t)1 << x;
	s.before = from;
	s.node = x;
	if (!admit(e, &s, x))
		return;
	issue(e, &s, e->time.at + (size_t)from * e->width, x);
	if (e->timed && least_from(e, &s) >= e->below)
		return;
	uint32_t *slot = find_slot(e, s.done);
	s.next = *slot ? *slot - 1 : SCHED_NONE;
	for (uint32_t k = s.next; k != SCHED_NONE; k = e->state.at[k].next) {
		struct state *other = &e->state.at[k];
		const int64_t *time = e->time.at + (size_t)k * e->width;
		if (other->dropped)
			continue;
		if (is_no_worse(e, other, time, &s, e->next))
			return;
		other->dropped = is_no_worse(e, &s, e->next, other, time);
	}
	if (s.done == e->all && e->timed)
		e->below = s.end;
	vec_push(&e->state, s);
	*slot = e->state.n;
	for (uint32_t i = 0; i < e->width; i++)
		vec_push(&e->time, e->next[i]);
}

/* Visits states in the order in which they were made: all sets of k nodes come before those of k + 1. Sets the
 * order if a complete state is found. Returns false if it gave up. */
static bool walk(struct exact *e, uint32_t *states, uint32_t *order, bool *found)
{
	struct state first = {
	    .live = e->p->fixed, .peak = e->p->fixed, .before = SCHED_NONE, .next = SCHED_NONE};
	uint32_t last = SCHED_NONE;
	vec_push(&e->state, first);
	for (uint32_t i = 0; i < e->width; i++)
		vec_push(&e->time, 0);
	*find_slot(e, 0) = 1;
	for (uint32_t k = 0; k < e->state.n && e->state.n <= *states; k++) {
		uint64_t done = e->state.at[k].done;
		if (e->state.at[k].dropped)
			continue;
		if (done == e->all)
			last = k;
		for (uint32_t x = 0; x < e->p->n; x++)
			if (!(done >> x & 1) && !(e->needs[x] & ~done))
				extend(e, k, x);
	}
	bool complete = e->state.n <= *states;
	*states -= complete ? e->state.n : *states;
	*found = complete && last != SCHED_NONE;
	for (uint32_t k = e->p->n; *found && k-- > 0; last = e->state.at[last].before)
		order[k] = e->state.at[last].node;
	return complete;
}

static bool run(struct exact *e, const struct sched_problem *p, uint32_t *states, uint32_t *order,
                bool *found)
{
	*found = false;
	/* With contention a state that is earlier in all clocks may still end later, so none can be dropped. */
	if (p->n > SCHED_EXACT_NODES || !*states || (e->timed && p->contention_n))
		return false;
	struct arena *scratch = arena_new();
	open_exact(e, p, scratch, *states + SCHED_EXACT_NODES);
	bool complete = walk(e, states, order, found);
	vec_free(&e->state);
	vec_free(&e->time);
	arena_free(scratch);
	return complete;
}

bool sched_exact(const struct sched_problem *p, const struct sched_exact_options *o, uint32_t *states,
                 uint32_t *order, bool *found)
{
	struct exact e = {.limit = o->limit, .below = o->below, .timed = true};
	return run(&e, p, states, order, found);
}

bool sched_exact_peak(const struct sched_problem *p, uint32_t *states, uint32_t *order)
{
	struct exact e = {.limit = INT64_MAX, .below = INT64_MAX};
	bool found;
	return run(&e, p, states, order, &found) && found;
}
