/* queue_adversary_pick: chooses the next one of several possible steps.
 *
 *     oldest   in the order of issue
 *     hold     each stream and each communicating statement has a random priority, drawn from the
 *              seed and redrawn now and then: the least one waits as long as anything else is possible
 *     last     the work issued last
 *     random   any
 *
 * One rank may be slow: its communications start only when all other ranks wait. */
#include "base/arena.h"
#include "rt/queue_adversary.h"

enum { DRAW_AGAIN = 512 /* one in so many choices draws the priorities again */ };

/* Makes a step of splitmix64. */
static uint64_t step_splitmix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t draw_random(struct adverse_engine *e)
{
	return e->random = step_splitmix(e->random);
}

void adverse_pick_start(struct adverse_engine *e)
{
	e->random = step_splitmix(e->how.seed * 0x100000001b3u + (uint64_t)e->base.job->rank);
	e->salt = draw_random(e);
}

/* Returns the rank whose communications are withheld; it may also be none. */
static int slow_rank(const struct adverse_engine *e)
{
	return (int)(step_splitmix(e->how.seed) % ((uint64_t)e->base.job->size + 1));
}

bool adverse_is_slow(const struct adverse_engine *e)
{
	return e->how.order != RT_OLDEST_FIRST && e->base.job->rank == slow_rank(e) && adverse_others_go(e);
}

bool adverse_lands_last(const struct adverse_engine *e)
{
	return (e->how.order == RT_HOLD_ONE || e->how.order == RT_LAST_FIRST) && e->running.n &&
	       adverse_others_go(e);
}

bool adverse_others_go(const struct adverse_engine *e)
{
	const struct rt_job *job = e->base.job;
	for (int r = 0; e->shared && r < job->size; r++) {
		struct adverse_rank *other = &e->shared->rank[r];
		uint32_t state = atomic_load_explicit(&other->state, memory_order_relaxed);
		if (r == job->rank || state == ADVERSE_IDLE)
			continue;
		if (state == ADVERSE_GOES ||
		    atomic_load_explicit(&other->looks, memory_order_relaxed) == e->looks[r])
			return true;
	}
	return false;
}

void adverse_moved(struct adverse_engine *e)
{
	e->sweeping = false;
	if (e->shared)
		atomic_fetch_add_explicit(&e->shared->rank[e->base.job->rank].moves, 1, memory_order_release);
}

static void start_sweep(struct adverse_engine *e)
{
	for (int r = 0; r < e->base.job->size; r++) {
		struct adverse_rank *other = &e->shared->rank[r];
		e->sweep[r].moves = atomic_load_explicit(&other->moves, memory_order_acquire);
		e->sweep[r].looks = atomic_load_explicit(&other->looks, memory_order_acquire);
	}
	e->sweeping = true;
}

bool adverse_may_overtake(struct adverse_engine *e, uint64_t turn)
{
	const struct rt_job *job = e->base.job;
	bool all_looked = true;
	for (int r = 0; e->shared && r < job->size; r++) {
		struct adverse_rank *other = &e->shared->rank[r];
		uint32_t state = atomic_load_explicit(&other->state, memory_order_relaxed);
		uint32_t looks = atomic_load_explicit(&other->looks, memory_order_acquire);
		uint32_t moves = atomic_load_explicit(&other->moves, memory_order_acquire);
		if (!e->sweeping || moves != e->sweep[r].moves) {
			start_sweep(e);
			return false;
		}
		if (r != job->rank && state != ADVERSE_IDLE)
			all_looked &= state == ADVERSE_WAITS && looks - e->sweep[r].looks >= 2 &&
			              atomic_load_explicit(&other->turn, memory_order_relaxed) >= turn;
	}
	return all_looked;
}

void adverse_let_go(struct adverse_engine *e)
{
	for (int r = 0; e->shared && r < e->base.job->size; r++)
		e->looks[r] = atomic_load_explicit(&e->shared->rank[r].looks, memory_order_relaxed);
}

void adverse_tell(struct adverse_engine *e, enum adverse_state state)
{
	if (!e->shared)
		return;
	struct adverse_rank *own = &e->shared->rank[e->base.job->rank];
	atomic_store_explicit(&own->state, state, memory_order_relaxed);
	atomic_store_explicit(&own->turn, e->turn, memory_order_relaxed);
	if (state == ADVERSE_WAITS)
		atomic_fetch_add_explicit(&own->looks, 1, memory_order_release); /* after adverse_moved */
}

static uint64_t key_of(struct adverse_engine *e, const struct adverse_choice *c)
{
	switch (e->how.order) {
	case RT_HOLD_ONE:
		if (draw_random(e) % DRAW_AGAIN == 0)
			e->salt = draw_random(e);
		return step_splitmix(e->salt ^ (c->comm ? (uint64_t)1 << 32 | rt_comm_at(&c->comm->item).label
		                                        : c->stream->number));
	case RT_LAST_FIRST:
		return UINT64_MAX - c->order;
	case RT_ANY_FIRST:
		return draw_random(e);
	case RT_OLDEST_FIRST:
		break;
	}
	return c->order;
}

void adverse_weigh(struct adverse_engine *e, struct adverse_choice *best, struct adverse_choice c)
{
	bool none = !best->stream && !best->comm;
	c.key = key_of(e, &c);
	if (none || c.key < best->key || (c.key == best->key && c.order < best->order))
		*best = c;
}
