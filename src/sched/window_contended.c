/* window_contended: see window_contended.h. */
#include "sched/window_contended.h"
#include "sched/contended.h"
#include <stdlib.h>
#include <string.h>

struct window_contended {
	struct contended present, draft; /* present: its queues and numbers are those of the present order */
	struct contended_lane *lane;     /* by event: the lanes when the host reaches it */
};

struct window_contended *window_contended_new(const struct sched_problem *p, uint32_t events)
{
	struct window_contended *x = mem_zalloc(sizeof *x);
	contended_open(&x->present, p);
	contended_open(&x->draft, p);
	x->lane = mem_alloc(sizeof *x->lane * ((size_t)events + 1) * ((size_t)p->lane_n + 1));
	return x;
}

void window_contended_free(struct window_contended *x)
{
	if (!x)
		return;
	contended_close(&x->present);
	contended_close(&x->draft);
	free(x->lane);
	free(x);
}

static struct contended_lane *lanes_at(const struct window *w, uint32_t e)
{
	return w->contended->lane + (size_t)e * w->p->lane_n;
}

/* Sets the clocks to those at the last event before a place, and returns its place. */
static uint32_t go_back(const struct window *w, uint32_t events_before, struct contended *c)
{
	const struct contended *present = &w->contended->present;
	contended_reset(c);
	if (!events_before)
		return 0;
	uint32_t e = events_before - 1;
	c->now = w->now[e];
	memcpy(c->lane, lanes_at(w, e), sizeof *c->lane * w->p->lane_n);
	for (uint32_t l = 0; l < w->p->lane_n && c != present; l++) {
		uint32_t first = c->lane[l].first;
		first -= first > 0; /* the lane may not be free yet after the comm that is over */
		memcpy(c->queue[l] + first, present->queue[l] + first,
		       sizeof **c->queue * (c->lane[l].n - first));
	}
	return w->event[e];
}

void window_contended_set(struct window *w, uint32_t e)
{
	const struct sched_problem *p = w->p;
	struct contended *c = &w->contended->present;
	uint32_t k = go_back(w, e ? e + 1 : 0, c);
	for (; k < p->n; k++) {
		uint32_t x = w->order[k], comm = sched_awaited(&p->node[x]);
		bool event = e < w->event_n && w->event[e] == k;
		if (event) {
			w->now[e] = c->now;
			memcpy(lanes_at(w, e), c->lane, sizeof *c->lane * p->lane_n);
		}
		struct sched_moment m = contended_issue(c, x);
		if (!event)
			continue;
		/* Time that a slowed comm loses is a reason to move work, as a stall is. */
		int64_t lost = comm == SCHED_NONE ? 0 : c->end[comm] - c->begin[comm] - p->node[comm].time;
		window_set_stall(w, e++, m.stall + lost);
	}
	w->runtime = contended_finish(c);
	memcpy(w->contended->draft.number, c->number, sizeof *c->number * p->numbers);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns true if the clocks at an event after the draft are those of the present order, only later or earlier. */
static bool is_shifted(const struct window *w, const struct contended *c, uint32_t e)
{
	const struct contended_lane *old = lanes_at(w, e);
	const struct contended *present = &w->contended->present;
	int64_t now = w->now[e], shift = c->now - now;
	for (uint32_t l = 0; l < w->p->lane_n; l++) {
		const struct contended_lane *new = &c->lane[l];
		if (new->first != old[l].first || new->begun != old[l].begun || new->left != old[l].left ||
		    later(new->free, c->now) != later(old[l].free, now) + shift)
			return false;
		if (new->free > c->now &&
		    c->queue[l][new->first - 1].comm != present->queue[l][new->first - 1].comm)
			return false;
		for (uint32_t i = new->first; i < new->n; i++)
			if (c->queue[l][i].comm != present->queue[l][i].comm)
				return false;
	}
	return true;
}

int64_t window_contended_runtime(struct window *w, uint32_t a, uint32_t b, int64_t most)
{
	struct contended *c = &w->contended->draft;
	uint32_t e = w->event_before[b], k = go_back(w, w->event_before[a], c);
	bool over = false, same = false;
	for (; k < w->p->n && !over && !same; k++) {
		over = k >= b && c->now + w->host[w->p->n] - w->host[k] > most;
		same = k >= b && e < w->event_n && w->event[e] == k && is_shifted(w, c, e++);
		if (!same)
			contended_issue(c, k >= a && k < b ? w->draft[k - a] : w->order[k]);
	}
	int64_t runtime = same ? w->runtime + c->now - w->now[e - 1] : over ? INT64_MAX : contended_finish(c);
	for (uint32_t i = 0; i < b - a; i++) /* the numbers of the present order again */
		c->number[w->draft[i]] = w->contended->present.number[w->draft[i]];
	return runtime;
}
