/* simulate: walks over the order once, with a clock for the host and one for each lane. If comms and work
 * slow each other, contended.h has the clocks. */
#include "sched/simulate.h"
#include "sched/contended.h"
#include <stdlib.h>

struct clocks {
	const struct sched_problem *p;
	int64_t now, lane[SCHED_MAX_LANES];
	int64_t *over; /* by comm: time when its lane is free again */
	struct contended contended;
};

/* Issues node x on the host. */
static struct sched_moment simulate_issue(struct clocks *c, uint32_t x)
{
	const struct sched_node *n = &c->p->node[x];
	if (c->p->contention_n)
		return contended_issue(&c->contended, x);
	struct sched_moment m = {.start = c->now};
	if (n->kind == SCHED_COMM) {
		m.begin = c->now > c->lane[n->lane] ? c->now : c->lane[n->lane];
		m.end = m.begin + n->time;
		c->over[x] = c->lane[n->lane] = m.end + c->p->launch;
		c->now += c->p->launch;
		return m;
	}
	if (n->comm != SCHED_NONE && c->over[n->comm] > c->now)
		m.stall = c->over[n->comm] - c->now;
	m.begin = c->now + m.stall;
	m.end = m.begin + n->time;
	c->now = m.end + c->p->launch;
	return m;
}

/* Ends all comms, and sets their begins and ends. */
static void finish_contended(struct clocks *c, const uint32_t *order, struct sched_result *r,
                             struct sched_moment *trace)
{
	contended_finish(&c->contended);
	for (uint32_t k = 0; k < c->p->n; k++) {
		uint32_t x = order[k];
		if (c->p->node[x].kind != SCHED_COMM)
			continue;
		int64_t end = c->contended.end[x];
		if (c->p->node[x].time > 0 && end > r->runtime)
			r->runtime = end;
		if (trace) {
			trace[k].begin = c->contended.begin[x];
			trace[k].end = end;
		}
	}
	contended_close(&c->contended);
}

struct sched_result sched_simulate(const struct sched_problem *p, const uint32_t *order,
                                   struct sched_moment *trace)
{
	struct sched_result r = {.peak = p->fixed};
	struct clocks c = {.p = p, .over = mem_zalloc(sizeof *c.over * ((size_t)p->numbers + 1))};
	uint32_t *left =
	    mem_alloc(sizeof *left * ((size_t)p->storage_n + 1)); /* by storage: its users to come */
	int64_t live = p->fixed;
	if (p->contention_n)
		contended_open(&c.contended, p);
	for (uint32_t s = 0; s < p->storage_n; s++)
		left[s] = p->users.end[s] - p->users.at[s];
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = order[k];
		struct sched_moment m = simulate_issue(&c, x);
		live += sched_made(p, x);
		m.live = live;
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			if (!--left[p->uses.item[i]])
				live -= p->storage[p->uses.item[i]].bytes;
		r.exposed += m.stall;
		r.host += p->launch + (p->node[x].kind == SCHED_COMM ? 0 : m.end - m.begin);
		r.peak = m.live > r.peak ? m.live : r.peak;
		if (p->node[x].time > 0 && m.end > r.runtime)
			r.runtime = m.end;
		if (trace)
			trace[k] = m;
	}
	if (p->contention_n)
		finish_contended(&c, order, &r, trace);
	free(c.over);
	free(left);
	return r;
}

bool sched_is_schedule(const struct sched_problem *p, const uint32_t *order)
{
	bool *done = mem_zalloc((size_t)p->numbers + 1), ok = true;
	for (uint32_t k = 0; k < p->n && ok; k++) {
		uint32_t x = order[k];
		ok = x < p->numbers && !done[x];
		for (uint32_t i = ok ? p->pred.at[x] : 0; ok && i < p->pred.end[x]; i++)
			ok = done[p->pred.item[i]];
		if (ok)
			done[x] = true;
	}
	free(done);
	return ok;
}
