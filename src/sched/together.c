/* together: see together.h. A try is a schedule for each member; what its members have decided is in the graph of
 * events. */
#include "sched/together.h"
#include "sched/event_graph.h"
#include "sched/share.h"
#include <stdlib.h>
#include <string.h>

struct search {
	const struct sched_team *t;
	struct arena *a;
	struct event_graph g; /* what the problems need before anything is decided */
	struct sched_part *before;
	uint32_t *longest; /* members by their time alone, the longest first */
	uint64_t **reach;  /* by member: see event_graph_reach */
	uint32_t **number; /* by member, by event: its index in the rows; SCHED_NONE: the member lacks it */
	uint32_t *events;  /* by member: how many it has */
	bool fits;         /* the original orders are within the limits */
	int64_t least;     /* the least peak of the last member that was found no order within its limit */
};

struct attempt {
	struct sched_schedule *schedule; /* by member */
	struct sched_part *part;
	struct event_graph g;
	bool *decided;     /* by event */
	int64_t last, sum; /* ns: the end of the last member, and of all together */
};

/* ---- simulating together */

/* Makes the part of a member's schedule, with nodes of its own. */
static struct sched_part part_of(const struct sched_problem *p, const uint32_t *order, struct arena *a)
{
	struct sched_part part = {.p = *p, .order = order};
	part.p.node = arena_new_array(a, struct sched_node, p->n);
	memcpy(part.p.node, p->node, sizeof *p->node * p->n);
	part.moment = arena_new_array(a, struct sched_moment, p->n);
	return part;
}

/* Simulates schedules together. of: by event, the event that stands for its bucket. */
static void simulate(const struct sched_team *t, const struct sched_schedule *schedule, const uint32_t *of,
                     struct sched_part *part, struct arena *a)
{
	VEC(struct sched_meeting) meeting = {0};
	uint32_t *first = arena_new_array(a, uint32_t, t->event_n), /* by event: its first meeting + 1 */
	    *from = arena_new_array(a, uint32_t, t->event_n);       /* by event: its sender + 1 */
	for (uint32_t k = 0; k < t->message_n; k++)
		from[t->message[k].to] = t->message[k].from + 1;
	for (uint32_t c = 0; c < t->member_n; c++) {
		const struct sched_schedule *s = &schedule[c];
		part[c] = part_of(&s->b.p, s->order, a);
		for (uint32_t y = 0; y < s->b.p.n; y++) {
			struct sched_origin o = s->b.origin[y];
			uint32_t e = t->member[c].event[o.node];
			if (e == SCHED_NONE || (o.step != SCHED_STEP_NODE && o.step != SCHED_STEP_COMM))
				continue;
			e = of[e];
			first[e] = first[e] ? first[e] : meeting.n + 1;
			vec_push(&meeting, ((struct sched_meeting){.part = c,
			                                           .node = y,
			                                           .first = first[e] - 1,
			                                           .from = from[e],
			                                           .time = s->b.p.node[y].time}));
		}
	}
	for (uint32_t k = 0; k < meeting.n; k++) {
		struct sched_meeting *x = &meeting.at[k], *y = &meeting.at[x->first];
		x->from = x->from && first[x->from - 1] ? first[x->from - 1] - 1 : SCHED_NONE;
		y->time = x->time < y->time ? x->time : y->time;
	}
	for (uint32_t k = 0; k < meeting.n; k++)
		meeting.at[k].time = meeting.at[meeting.at[k].first].time;
	sched_meet(part, t->member_n, meeting.at, meeting.n);
	vec_free(&meeting);
}

/* ---- one member */

/* Returns the schedule that leaves a problem as it is. */
static struct sched_schedule unchanged(const struct sched_problem *p)
{
	struct sched_schedule s = {.arena = arena_new()};
	s.bucket = arena_new_array(s.arena, uint32_t, p->transfer_n);
	memset(s.bucket, 0xff, sizeof *s.bucket * p->transfer_n);
	sched_bucket(p, s.bucket, 0, s.arena, &s.b);
	s.order = arena_new_array(s.arena, uint32_t, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		s.order[x] = x;
	s.result = sched_simulate(&s.b.p, s.order, NULL);
	return s;
}

/* Copies a problem with further edges. Its nodes may not be in an order that is a schedule. */
static void copy_with(const struct sched_problem *p, const struct sched_pair *more, uint32_t more_n,
                      struct arena *a, struct sched_problem *out)
{
	VEC(struct sched_pair) edge = {0};
	VEC(struct sched_pair) use = {0};
	*out = *p;
	out->node = arena_new_array(a, struct sched_node, p->n);
	out->storage = arena_new_array(a, struct sched_storage, p->storage_n);
	out->transfer = arena_copy(a, p->transfer, sizeof *p->transfer * p->transfer_n);
	memcpy(out->node, p->node, sizeof *p->node * p->n);
	memcpy(out->storage, p->storage, sizeof *p->storage * p->storage_n);
	for (uint32_t x = 0; x < p->n; x++) {
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			vec_push(&edge, ((struct sched_pair){p->pred.item[i], x}));
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			vec_push(&use, ((struct sched_pair){x, p->uses.item[i]}));
	}
	for (uint32_t k = 0; k < more_n; k++)
		vec_push(&edge, more[k]);
	sched_problem_finish(out, a, edge.at, edge.n, use.at, use.n);
	vec_free(&edge);
	vec_free(&use);
}

/* Translates a schedule of the problem `first`, which has the buckets of members before, to the original one. */
static void tell_of_first(const struct sched_bucketed *first, const uint32_t *bucket, uint32_t bucket_n,
                          const struct sched_problem *p, struct sched_schedule *s)
{
	uint32_t *became = arena_new_array(s->arena, uint32_t, p->n),
	         *all = arena_new_array(s->arena, uint32_t, p->transfer_n);
	for (uint32_t y = 0; y < s->b.p.n; y++) {
		struct sched_origin *o = &s->b.origin[y], inner = first->origin[o->node];
		if (o->bucket == SCHED_NONE)
			*o = inner;
		else
			*o = (struct sched_origin){o->step, inner.node, bucket_n + o->bucket};
	}
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t y = first->became[x], k = p->node[x].transfer;
		became[x] = s->b.became[y];
		if (p->node[x].kind != SCHED_COMM)
			continue;
		uint32_t later = s->bucket[first->p.node[y].transfer];
		all[k] = bucket[k] != SCHED_NONE ? bucket[k]
		         : later != SCHED_NONE   ? bucket_n + later
		                                 : SCHED_NONE;
	}
	s->b.became = became;
	s->bucket = all;
}

/* Schedules a problem with further edges and with buckets that are decided. Returns false if it has no order within
 * the limit. */
static bool schedule_with(struct search *s, uint32_t c, struct sched_problem *p, const uint32_t *bucket,
                          uint32_t bucket_n, bool free_buckets, struct sched_schedule *out)
{
	const struct sched_options o = {s->t->member[c].limit, s->t->effort, free_buckets};
	struct sched_bucketed first;
	if (!sched_bucket(p, bucket, bucket_n, s->a, &first))
		return false;
	for (uint32_t y = 0; y < first.p.n; y++)
		if (first.origin[y].bucket != SCHED_NONE && first.p.node[y].kind == SCHED_COMM)
			first.p.transfer[first.p.node[y].transfer].family = SCHED_NONE;
	bool ok = sched_schedule(&first.p, &o, out);
	if (ok) {
		tell_of_first(&first, bucket, bucket_n, p, out);
		return true;
	}
	s->least = out->result.peak;
	sched_schedule_free(out);
	return false;
}

/* Schedules a member with all comms in their original order, without buckets. */
static bool schedule_in_step(struct search *s, uint32_t c, struct sched_schedule *out)
{
	const struct sched_member *m = &s->t->member[c];
	VEC(struct sched_pair) edge = {0};
	struct sched_problem p;
	uint32_t last = SCHED_NONE, *bucket = arena_new_array(s->a, uint32_t, m->p->transfer_n);
	memset(bucket, 0xff, sizeof *bucket * m->p->transfer_n);
	for (uint32_t x = 0; x < m->p->n; x++) {
		if (m->p->node[x].kind != SCHED_COMM || m->event[x] == SCHED_NONE)
			continue;
		if (last != SCHED_NONE)
			vec_push(&edge, ((struct sched_pair){last, x}));
		last = x;
	}
	copy_with(m->p, edge.at, edge.n, s->a, &p);
	vec_free(&edge);
	return schedule_with(s, c, &p, bucket, 0, false, out);
}

/* ---- deciding */

/* Adds the order and the buckets of a member's schedule to the graph. */
static void decide(const struct search *s, struct attempt *t, uint32_t c, const struct sched_schedule *of)
{
	const struct sched_member *m = &s->t->member[c];
	uint32_t last = SCHED_NONE, *first = mem_alloc(sizeof *first * ((size_t)m->p->n + 1));
	memset(first, 0xff, sizeof *first * m->p->n); /* by bucket */
	for (uint32_t x = 0; x < m->p->n; x++) {
		const struct sched_node *n = &m->p->node[x];
		uint32_t e = m->event[x], k = n->kind == SCHED_COMM ? of->bucket[n->transfer] : SCHED_NONE;
		if (e == SCHED_NONE)
			continue;
		if (k != SCHED_NONE && first[k] == SCHED_NONE)
			first[k] = e;
		else if (k != SCHED_NONE && !t->decided[e])
			event_graph_join(&t->g, e, first[k]);
		t->decided[e] = true;
	}
	for (uint32_t k = 0; k < of->b.p.n; k++) {
		struct sched_origin o = of->b.origin[of->order[k]];
		uint32_t e = m->event[o.node];
		if (e == SCHED_NONE || (o.step != SCHED_STEP_NODE && o.step != SCHED_STEP_COMM))
			continue;
		if (last != SCHED_NONE)
			event_graph_need(&t->g, last, e);
		last = e;
	}
	free(first);
}

/* Numbers the buckets that are decided for a member, by transfer. Returns how many there are. */
static uint32_t number_buckets(const struct sched_member *m, const struct attempt *t, uint32_t *bucket,
                               struct arena *a)
{
	uint32_t *count = arena_new_array(a, uint32_t, t->g.n),
	         *number = arena_new_array(a, uint32_t, t->g.n), n = 0;
	memset(bucket, 0xff, sizeof *bucket * m->p->transfer_n);
	for (uint32_t x = 0; x < m->p->n; x++)
		if (m->event[x] != SCHED_NONE)
			count[t->g.of[m->event[x]]]++;
	for (uint32_t x = 0; x < m->p->n; x++) {
		uint32_t e = m->event[x] == SCHED_NONE ? SCHED_NONE : t->g.of[m->event[x]];
		if (m->p->node[x].kind != SCHED_COMM || e == SCHED_NONE || count[e] < 2)
			continue;
		number[e] = number[e] ? number[e] : ++n;
		bucket[m->p->node[x].transfer] = number[e] - 1;
	}
	return n;
}

/* Schedules a member after others have decided about some of its events. */
static bool follow(struct search *s, struct attempt *t, uint32_t c, bool buckets, struct sched_schedule *out)
{
	const struct sched_member *m = &s->t->member[c];
	uint32_t *node = arena_new_array(s->a, uint32_t, s->t->event_n); /* by event: its node here */
	bool *wanted = arena_new_array(s->a, bool, s->t->event_n);
	struct event_pairs pairs = {0};
	struct sched_problem p;
	for (uint32_t x = m->p->n; x-- > 0;)
		if (m->event[x] != SCHED_NONE) {
			wanted[m->event[x]] = true;
			node[t->g.of[m->event[x]]] = x;
			node[m->event[x]] = x;
		}
	if (!event_graph_project(&t->g, wanted, &pairs)) {
		vec_free(&pairs.at);
		return false;
	}
	size_t words = ((size_t)s->events[c] + 63) / 64;
	VEC(uint32_t) alone = {0};
	uint32_t kept = 0;
	for (uint32_t k = 0; k < pairs.at.n; k++) {
		struct sched_pair x = pairs.at.at[k];
		uint32_t i = s->number[c][x.from], j = s->number[c][x.to];
		bool own =
		    i != SCHED_NONE && j != SCHED_NONE && s->reach[c][words * j + i / 64] >> i % 64 & 1;
		uint32_t from = node[x.from], to = node[x.to];
		if (own)
			continue;
		if (!t->decided[x.from] && !t->decided[x.to] &&
		    sched_transfer(m->p, from)->family != SCHED_NONE &&
		    sched_transfer(m->p, from)->family == sched_transfer(m->p, to)->family)
			vec_push(&alone, to); /* another member waits for one before it starts the other */
		pairs.at.at[kept++] = (struct sched_pair){from, to};
	}
	copy_with(m->p, pairs.at.at, kept, s->a, &p);
	uint32_t *bucket = arena_new_array(s->a, uint32_t, p.transfer_n),
	         n = number_buckets(m, t, bucket, s->a);
	for (uint32_t k = 0; k < alone.n; k++)
		p.transfer[p.node[alone.at[k]].transfer].family = SCHED_NONE;
	for (uint32_t x = 0; x < p.n; x++)
		if (p.node[x].kind == SCHED_COMM && m->event[x] != SCHED_NONE && t->decided[m->event[x]] &&
		    bucket[p.node[x].transfer] == SCHED_NONE)
			p.transfer[p.node[x].transfer].family = SCHED_NONE;
	vec_free(&alone);
	vec_free(&pairs.at);
	return schedule_with(s, c, &p, bucket, n, buckets, out);
}

/* ---- trying */

static void open_attempt(const struct search *s, struct attempt *t)
{
	*t = (struct attempt){.schedule = arena_new_array(s->a, struct sched_schedule, s->t->member_n),
	                      .part = arena_new_array(s->a, struct sched_part, s->t->member_n),
	                      .decided = arena_new_array(s->a, bool, s->t->event_n)};
	event_graph_copy(&s->g, &t->g);
}

static void drop_attempt(const struct search *s, struct attempt *t)
{
	for (uint32_t c = 0; c < s->t->member_n; c++)
		if (t->schedule[c].arena)
			sched_schedule_free(&t->schedule[c]);
	event_graph_close(&t->g);
}

static void measure(const struct search *s, struct attempt *t)
{
	simulate(s->t, t->schedule, t->g.of, t->part, s->a);
	for (uint32_t c = 0; c < s->t->member_n; c++) {
		int64_t end = t->part[c].result.runtime;
		t->last = end > t->last ? end : t->last;
		t->sum += end;
	}
}

/* Returns true if no member ends later than before. If the original orders take too much memory, any time is good. */
static bool is_admissible(const struct search *s, const struct attempt *t)
{
	for (uint32_t c = 0; c < s->t->member_n && s->fits; c++)
		if (t->part[c].result.runtime > s->before[c].result.runtime)
			return false;
	return true;
}

/* leader: its place in `longest`. */
static bool try_leader(struct search *s, uint32_t leader, bool buckets, struct attempt *t)
{
	open_attempt(s, t);
	for (uint32_t k = 0; k < s->t->member_n; k++) {
		uint32_t at = !k ? leader : k <= leader ? k - 1 : k, c = s->longest[at];
		struct sched_schedule made = {0};
		if (!follow(s, t, c, buckets, &made))
			return false;
		t->schedule[c] = made;
		decide(s, t, c, &made);
	}
	measure(s, t);
	return true;
}

static bool try_in_step(struct search *s, struct attempt *t)
{
	open_attempt(s, t);
	for (uint32_t c = 0; c < s->t->member_n; c++) {
		struct sched_schedule made = {0};
		if (!schedule_in_step(s, c, &made))
			return false;
		t->schedule[c] = made;
	}
	measure(s, t);
	return true;
}

/* Keeps the better of two attempts in *best, and drops the other. */
static bool keep_better(const struct search *s, struct attempt *best, bool *any, struct attempt *t, bool made)
{
	bool better = made && is_admissible(s, t) &&
	              (!*any || t->last < best->last || (t->last == best->last && t->sum < best->sum));
	if (better && *any)
		drop_attempt(s, best);
	if (better)
		*best = *t;
	else
		drop_attempt(s, t);
	*any |= better;
	return better;
}

/* ---- the search */

static void open_search(struct search *s, const struct sched_team *t, struct arena *a)
{
	uint32_t n = t->member_n;
	*s = (struct search){.t = t, .a = a, .fits = true};
	s->before = arena_new_array(a, struct sched_part, n);
	s->longest = arena_new_array(a, uint32_t, n);
	s->reach = arena_new_array(a, uint64_t *, n);
	s->number = arena_new_array(a, uint32_t *, n);
	s->events = arena_new_array(a, uint32_t, n);
	int64_t *alone = arena_new_array(a, int64_t, n);
	event_graph_open(&s->g, t->event_n);
	for (uint32_t k = 0; k < t->message_n; k++)
		event_graph_need(&s->g, t->message[k].from, t->message[k].to);
	for (uint32_t c = 0; c < n; c++) {
		const struct sched_member *m = &t->member[c];
		uint32_t *order = arena_new_array(a, uint32_t, m->p->n), at = c;
		s->number[c] = arena_new_array(a, uint32_t, t->event_n);
		memset(s->number[c], 0xff, sizeof *s->number[c] * t->event_n);
		for (uint32_t x = 0; x < m->p->n; x++) {
			order[x] = x;
			if (m->event[x] != SCHED_NONE)
				s->number[c][m->event[x]] = s->events[c]++;
		}
		event_graph_add(&s->g, m->p, m->event);
		s->reach[c] = event_graph_reach(m->p, m->event, s->number[c], s->events[c]);
		struct sched_result r = sched_simulate(m->p, order, NULL);
		s->fits &= r.peak <= m->limit;
		alone[c] = r.runtime;
		for (; at && alone[s->longest[at - 1]] < alone[c]; at--)
			s->longest[at] = s->longest[at - 1];
		s->longest[at] = c;
	}
}

static void close_search(struct search *s)
{
	for (uint32_t c = 0; c < s->t->member_n; c++)
		free(s->reach[c]);
	event_graph_close(&s->g);
}

/* Returns the least limit with which all members keep the order of their comms: that of the member that needs most. */
static int64_t find_least(struct search *s)
{
	int64_t least = 0, unchanged = 0;
	for (uint32_t c = 0; c < s->t->member_n; c++) {
		struct sched_schedule made = {0};
		int64_t peak = s->before[c].result.peak;
		unchanged = peak > unchanged ? peak : unchanged;
		if (schedule_in_step(s, c, &made))
			sched_schedule_free(&made);
		else if (s->least > least)
			least = s->least;
	}
	return least < unchanged ? least : unchanged;
}

bool sched_together(struct sched_team *team, struct arena *a, struct sched_joint *out, int64_t *least)
{
	enum { MOST_LEADERS = 2 };
	struct search s;
	struct attempt best, t;
	bool any = false, led = false;
	sched_share_times(team);
	sched_share_families(team, a);
	open_search(&s, team, a);
	*out = (struct sched_joint){.choice = SCHED_UNCHANGED, .leader = SCHED_NONE, .before = s.before};
	open_attempt(&s, &t);
	for (uint32_t c = 0; c < team->member_n; c++)
		t.schedule[c] = unchanged(team->member[c].p);
	measure(&s, &t);
	memcpy(s.before, t.part, sizeof *s.before * team->member_n);
	keep_better(&s, &best, &any, &t, s.fits);
	if (keep_better(&s, &best, &any, &t, try_in_step(&s, &t)))
		out->choice = SCHED_IN_STEP;
	struct event_pairs none = {0};
	bool *wanted = arena_new_array(a, bool, team->event_n);
	out->crossed = !event_graph_project(&s.g, wanted, &none);
	vec_free(&none.at);
	for (uint32_t k = 0; k < MOST_LEADERS && k < team->member_n && !out->crossed; k++)
		for (int buckets = team->bucket; buckets >= 0; buckets--) {
			if (!buckets && team->bucket && led)
				continue; /* buckets are good here */
			if (!keep_better(&s, &best, &any, &t, try_leader(&s, k, buckets, &t)))
				continue;
			out->choice = SCHED_LED;
			out->leader = s.longest[k];
			led = true;
		}
	if (any) {
		out->schedule = best.schedule;
		out->after = best.part;
		event_graph_close(&best.g);
	} else {
		*least = find_least(&s);
	}
	close_search(&s);
	return any;
}
