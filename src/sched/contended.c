/* contended: see contended.h. */
#include "sched/contended.h"
#include <stdlib.h>
#include <string.h>

/* A goal that the clock advances to. */
struct goal {
	int64_t until;               /* a time; INT64_MAX: none */
	struct sched_progress *work; /* the host's work, to its end; NULL: none */
	uint32_t lane, number;       /* a comm, to its end; lane SCHED_NONE: none */
};

void contended_open(struct contended *c, const struct sched_problem *p)
{
	uint32_t *comms = mem_zalloc(sizeof *comms * SCHED_MAX_LANES);
	*c = (struct contended){.p = p};
	for (uint32_t x = 0; x < p->numbers; x++)
		if (p->node[x].kind == SCHED_COMM)
			comms[p->node[x].lane]++;
	c->lane = mem_zalloc(sizeof *c->lane * ((size_t)p->lane_n + 1));
	c->queue = mem_zalloc(sizeof *c->queue * ((size_t)p->lane_n + 1));
	for (uint32_t l = 0; l < p->lane_n; l++)
		c->queue[l] = mem_alloc(sizeof **c->queue * ((size_t)comms[l] + 1));
	c->number = mem_zalloc(sizeof *c->number * ((size_t)p->numbers + 1));
	c->begin = mem_zalloc(sizeof *c->begin * ((size_t)p->numbers + 1));
	c->end = mem_zalloc(sizeof *c->end * ((size_t)p->numbers + 1));
	free(comms);
}

void contended_close(struct contended *c)
{
	for (uint32_t l = 0; l < c->p->lane_n; l++)
		free(c->queue[l]);
	free(c->queue);
	free(c->lane);
	free(c->number);
	free(c->begin);
	free(c->end);
}

void contended_reset(struct contended *c)
{
	c->now = 0;
	memset(c->lane, 0, sizeof *c->lane * c->p->lane_n);
}

static const struct sched_contention *rule_of(const struct contended *c, uint32_t comm)
{
	return &c->p->contention[c->p->node[comm].contention];
}

static uint32_t comm_of(const struct contended *c, uint32_t lane)
{
	return c->queue[lane][c->lane[lane].first].comm;
}

/* Ends the next comm of a lane. */
static void end_comm(struct contended *c, uint32_t lane, int64_t end)
{
	struct contended_lane *l = &c->lane[lane];
	c->end[comm_of(c, lane)] = end;
	l->free = end + c->p->launch;
	l->first++;
	l->begun = false;
}

/* Begins the comms whose time has come; those that take no time end as well. Returns the earliest begin to come. */
static int64_t begin_comms(struct contended *c)
{
	int64_t next = INT64_MAX;
	for (uint32_t k = 0; k < c->p->lane_n; k++) {
		struct contended_lane *l = &c->lane[k];
		while (l->first < l->n && !l->begun) {
			const struct contended_entry *e = &c->queue[k][l->first];
			int64_t begin = e->issued > l->free ? e->issued : l->free,
			        time = c->p->node[e->comm].time;
			if (begin > c->now) {
				next = begin < next ? begin : next;
				break;
			}
			c->begin[e->comm] = begin;
			l->begun = time > 0;
			l->left = time > 0 ? sched_progress_begin(time, begin).left : 0;
			if (time <= 0)
				end_comm(c, k, begin + time);
		}
	}
	return next;
}

/* Sets the rates of all that runs. */
static void find_rates(const struct contended *c, struct sched_progress *work, int64_t *rate)
{
	uint8_t sharing[SCHED_MAX_LINKS + 1] = {0};
	int64_t most = SCHED_ALONE;
	for (uint32_t k = 0; k < c->p->lane_n; k++)
		if (c->lane[k].begun) {
			const struct sched_contention *r = rule_of(c, comm_of(c, k));
			most = r->compute > most ? r->compute : most;
			sharing[r->link]++;
		}
	if (work)
		work->rate = sched_work_rate(most);
	for (uint32_t k = 0; k < c->p->lane_n; k++)
		if (c->lane[k].begun) {
			const struct sched_contention *r = rule_of(c, comm_of(c, k));
			rate[k] = sched_comm_rate(r, work, r->link ? sharing[r->link] : 1);
		}
}

static bool is_reached(const struct contended *c, const struct goal *g)
{
	if (g->lane != SCHED_NONE)
		return c->lane[g->lane].first > g->number;
	return g->work ? !g->work->left : c->now >= g->until;
}

/* Returns true if no comm runs or is to begin. */
static bool is_quiet(const struct contended *c)
{
	for (uint32_t k = 0; k < c->p->lane_n; k++)
		if (c->lane[k].first < c->lane[k].n)
			return false;
	return true;
}

/* Advances the clock to a goal, or to the end of all comms if there is none. */
static void advance(struct contended *c, struct goal g)
{
	int64_t rate[SCHED_MAX_LANES];
	for (;;) {
		int64_t next = begin_comms(c);
		if (is_reached(c, &g))
			return;
		find_rates(c, g.work, rate);
		if (g.work) {
			g.work->since = c->now;
			int64_t end = sched_progress_end(g.work);
			next = end < next ? end : next;
		}
		for (uint32_t k = 0; k < c->p->lane_n; k++)
			if (c->lane[k].begun) {
				struct sched_progress p = {c->lane[k].left, c->now, rate[k]};
				int64_t end = sched_progress_end(&p);
				next = end < next ? end : next;
			}
		next = g.until < next ? g.until : next;
		if (next == INT64_MAX)
			return;
		for (uint32_t k = 0; k < c->p->lane_n; k++)
			if (c->lane[k].begun) {
				struct sched_progress p = {c->lane[k].left, c->now, rate[k]};
				sched_progress_turn(&p, next, rate[k]);
				c->lane[k].left = p.left;
				if (!p.left)
					end_comm(c, k, next);
			}
		if (g.work)
			sched_progress_turn(g.work, next, g.work->rate);
		c->now = next;
	}
}

static void advance_to(struct contended *c, int64_t until)
{
	if (is_quiet(c))
		c->now = until > c->now ? until : c->now;
	else
		advance(c, (struct goal){.until = until, .lane = SCHED_NONE});
}

/* Runs the host's work. */
static void run_work(struct contended *c, int64_t time)
{
	struct sched_progress work = sched_progress_begin(time, c->now);
	if (is_quiet(c))
		c->now += time;
	else
		advance(c, (struct goal){.until = INT64_MAX, .work = &work, .lane = SCHED_NONE});
}

struct sched_moment contended_issue(struct contended *c, uint32_t node)
{
	const struct sched_node *n = &c->p->node[node];
	struct sched_moment m = {.start = c->now};
	if (n->kind == SCHED_COMM) {
		struct contended_lane *l = &c->lane[n->lane];
		c->number[node] = l->n;
		c->queue[n->lane][l->n++] = (struct contended_entry){c->now, node};
		advance_to(c, c->now + c->p->launch);
		return m;
	}
	if (n->comm != SCHED_NONE) {
		uint32_t lane = c->p->node[n->comm].lane, number = c->number[n->comm];
		if (c->lane[lane].first <= number)
			advance(c, (struct goal){.until = INT64_MAX, .lane = lane, .number = number});
		if (c->lane[lane].first == number + 1)
			advance_to(c, c->lane[lane].free);
		m.stall = c->now - m.start;
	}
	m.begin = c->now;
	if (n->time > 0)
		run_work(c, n->time);
	m.end = n->time > 0 ? c->now : c->now + n->time;
	advance_to(c, m.end + c->p->launch);
	return m;
}

int64_t contended_finish(struct contended *c)
{
	int64_t end = c->now;
	advance(c, (struct goal){.until = INT64_MAX, .lane = SCHED_NONE});
	for (uint32_t k = 0; k < c->p->lane_n; k++)
		end = c->lane[k].free > end ? c->lane[k].free : end;
	return end;
}
