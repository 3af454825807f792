/* search: see search.h. */
#include "sched/search.h"
#include "sched/random.h"
#include "sched/simulate.h"
#include "sched/window.h"
#include <stdlib.h>
#include <string.h>

enum {
	REACH = 11,       /* distances are below 2^REACH */
	LANE_REACH = 64,  /* most events visited to find comms of a lane */
	CANDIDATES = 6,   /* draws of work to fill a stall; the longest is taken */
	PATIENCE = 20000, /* steps without a better schedule, then the search restarts from the best */
	WORSE = 20000,    /* a step may make the runtime longer by 1 / WORSE */
	RAISES = 16,      /* one in RAISES moves that takes more memory and saves no time is accepted */
	ASTRAY = 2000,    /* a schedule may be 1 / ASTRAY longer than the best */
	PROBE = 4,        /* a search towards a goal gives up after 1 / PROBE of its steps … */
	PROMISE = 8,      /* … if it is less than 1 / PROMISE of the way there */
	TRAILING = 16,    /* most trailing nodes without time for which `enough` is noticed */
};

struct search {
	const struct sched_problem *p;
	struct window *w;
	struct sched_random random;
	/* The current step: */
	uint32_t wait, comm; /* nodes */
	uint32_t place;      /* place of the wait */
	uint32_t from, to;   /* the drafted stretch */
};

static uint32_t draw_number(struct search *s, uint32_t n)
{
	return sched_draw(&s->random, n);
}

/* Draws a distance of at least 1; small ones are more frequent. */
static uint32_t draw_distance(struct search *s)
{
	return 1 + draw_number(s, 1u << (1 + draw_number(s, REACH)));
}

static uint32_t place_before(struct search *s, uint32_t place)
{
	uint32_t distance = draw_distance(s);
	return distance <= place ? place - distance : draw_number(s, place + 1);
}

static uint32_t place_behind(struct search *s, uint32_t place)
{
	uint32_t at = place + draw_distance(s);
	return at < s->p->n ? at : s->p->n - 1;
}

/* Returns the comm `hops` before this one on its lane, or the earliest one that is near enough. */
static uint32_t comm_before(const struct search *s, uint32_t comm, uint32_t hops)
{
	const struct window *w = s->w;
	uint32_t e = w->event_before[w->place[comm]], found = comm;
	for (uint32_t looked = 0; hops && e-- > 0 && looked < LANE_REACH; looked++) {
		uint32_t x = w->order[w->event[e]];
		if (s->p->node[x].kind != SCHED_COMM || s->p->node[x].lane != s->p->node[comm].lane)
			continue;
		found = x;
		hops--;
	}
	return found;
}

static bool pull(struct search *s, uint32_t x, uint32_t to)
{
	s->from = to;
	s->to = s->w->place[x] + 1;
	return to < s->w->place[x] && window_pull(s->w, x, to);
}

static bool push_node(struct search *s, uint32_t x, uint32_t to)
{
	s->from = s->w->place[x];
	s->to = to + 1;
	return to > s->w->place[x] && window_push(s->w, x, to);
}

/* Moves the comm, or one before it on its lane, to an earlier place. */
static bool comm_earlier(struct search *s)
{
	uint32_t x = draw_number(s, 8) ? s->comm : comm_before(s, s->comm, 1 + draw_number(s, 6));
	if (draw_number(s, 2))
		return pull(s, x, s->w->place[comm_before(s, x, 1 + draw_number(s, 5))]);
	return pull(s, x, place_before(s, s->w->place[x]));
}

/* Moves an earlier comm of the lane behind the comm, or a random distance back. */
static bool lane_later(struct search *s)
{
	uint32_t x = comm_before(s, s->comm, 1 + draw_number(s, 4));
	return push_node(s, x, draw_number(s, 2) ? s->w->place[s->comm] : place_behind(s, s->w->place[x]));
}

static bool wait_later(struct search *s)
{
	return push_node(s, s->wait, place_behind(s, s->place));
}

/* Moves work from after the wait to before it. */
static bool work_earlier(struct search *s)
{
	uint32_t best = SCHED_NONE;
	for (unsigned i = 0; i < CANDIDATES; i++) {
		uint32_t x = s->w->order[place_behind(s, s->place)];
		if (best == SCHED_NONE ||
		    (s->p->node[x].kind != SCHED_COMM && s->p->node[x].time > s->p->node[best].time))
			best = x;
	}
	return pull(s, best, s->place);
}

/* Moves work from before the wait to after it, where it may fill a later stall. */
static bool work_later(struct search *s)
{
	uint32_t x = s->w->order[place_before(s, s->place)];
	return push_node(s, x, place_behind(s, s->place));
}

/* Moves work from before the comm to between the comm and the wait. */
static bool work_between(struct search *s)
{
	uint32_t at = s->w->place[s->comm], best = SCHED_NONE;
	for (unsigned i = 0; i < CANDIDATES && at; i++) {
		uint32_t x = s->w->order[draw_number(s, 2) ? draw_number(s, at) : place_before(s, at)];
		if (s->p->node[x].kind == SCHED_COMPUTE &&
		    (best == SCHED_NONE || s->p->node[x].time > s->p->node[best].time))
			best = x;
	}
	return best != SCHED_NONE && push_node(s, best, s->place - 1);
}

static const struct {
	unsigned weight;
	bool (*draft)(struct search *);
} moves[] = {{35, comm_earlier}, {15, wait_later}, {25, work_earlier},
             {10, lane_later},   {5, work_later},  {10, work_between}};
enum { MOVES = sizeof moves / sizeof *moves, WEIGHTS = 100 };

static bool draft_move(struct search *s)
{
	unsigned k = 0;
	for (unsigned at = draw_number(s, WEIGHTS); k + 1 < MOVES && at >= moves[k].weight; k++)
		at -= moves[k].weight;
	return moves[k].draft(s);
}

/* Draws a wait that holds the host. Returns false if there is none. */
static bool draw_wait(struct search *s)
{
	const struct window *w = s->w;
	if (!w->stalled)
		return false;
	uint64_t at = ((uint64_t)draw_number(s, 1u << 31) << 31) | draw_number(s, 1u << 31);
	int64_t left = (int64_t)(at % (uint64_t)w->stalled);
	uint32_t e = 0;
	for (; left >= w->stalls[e / WINDOW_BLOCK]; e += WINDOW_BLOCK)
		left -= w->stalls[e / WINDOW_BLOCK];
	while (left >= w->stall[e])
		left -= w->stall[e++];
	s->place = w->event[e];
	s->wait = w->order[s->place];
	s->comm = s->p->node[s->wait].comm;
	return true;
}

/* Returns true if an order is short enough. Trailing nodes that take no time count in `least` all the
 * same. */
static bool is_enough(const struct sched_problem *p, const struct sched_search_options *o, int64_t least,
                      const uint32_t *order)
{
	return least - TRAILING * p->launch <= o->enough &&
	       sched_simulate(p, order, NULL).runtime <= o->enough;
}

bool sched_search_window(struct window *w, const struct sched_search_options *o)
{
	const struct sched_problem *p = w->p;
	struct search s = {.p = p, .w = w, .random = sched_random_from(o->seed)};
	uint32_t *order = w->order, *best = mem_alloc(sizeof *best * ((size_t)p->n + 1));
	bool fits = window_fits(w);
	memcpy(best, order, sizeof *best * p->n);
	int64_t least = w->runtime, first = least;
	uint64_t since = 0;
	bool enough = !fits || is_enough(p, o, least, order);
	for (uint64_t step = 0; step < o->steps && !enough && draw_wait(&s); step++, since++) {
		if (o->goal && step == o->steps / PROBE && first - o->goal > PROMISE * (first - least))
			break;
		if (!draft_move(&s))
			continue;
		int64_t slack = draw_number(&s, 128) ? 0 : least / WORSE;
		int64_t runtime = window_runtime(w, s.from, s.to, w->runtime + slack);
		if (runtime > w->runtime + slack)
			continue;
		if (runtime == w->runtime && w->raised > 0 && draw_number(&s, RAISES))
			continue;
		window_accept(w, s.from, s.to);
		if (w->runtime < least) {
			least = w->runtime;
			memcpy(best, order, sizeof *best * p->n);
			since = 0;
			enough = is_enough(p, o, least, order);
		} else if (w->runtime > least + least / ASTRAY || since > PATIENCE) {
			memcpy(order, best, sizeof *best * p->n);
			window_reset(w);
			since = 0;
		}
	}
	memcpy(order, best, sizeof *best * p->n);
	free(best);
	return fits;
}

bool sched_search(const struct sched_problem *p, const struct sched_search_options *o, uint32_t *order)
{
	struct window w;
	window_open(&w, p, o->limit, order);
	bool fits = sched_search_window(&w, o);
	window_close(&w);
	return fits;
}
