/* last: see last.h. The things of the closure are the nodes, then the storages. A storage costs its
 * bytes if one of its users is in U; if its maker is in U as well, the cost is returned. */
#include "sched/last.h"
#include "base/arena.h"
#include "sched/batch.h"
#include "sched/closure.h"
#include "sched/fullest.h"
#include <math.h>
#include <stdlib.h>

/* The moments when the storages that U keeps alive must fit in memory. */
enum moment {
	BEGIN, /* the comm begins */
	PEAK,  /* the node runs that uses most memory, among those that the comm needs (fullest.h) */
	MOMENTS
};

enum {
	COMMS = 4,           /* comms that are tried */
	MOST_NODES = 200000, /* larger problems are not cut */
	MOST_PRICE = 24,     /* log2 of the largest price, in ns for a MiB */
	PRICES = 10,         /* prices between two powers of two */
};

struct last {
	const struct sched_problem *p;
	bool bucket;
	uint32_t comm;
	int64_t work; /* of all nodes */
	/* Bytes for the storages that U keeps alive; negative if the others exceed the limit. */
	int64_t room[MOMENTS];
	int64_t price[MOMENTS]; /* ns for a MiB, times 2^10 */
	int64_t *host;          /* by node: its least time on the host */
	int64_t *lane;          /* by comm: its least time on its lane */
	bool *needed;           /* by node: it is the comm, or the comm needs it */
	int64_t *most;          /* by family: most bytes of a bucket */
	bool *alone;            /* by node: a comm that is in no bucket */
	bool *there;            /* by storage: see is_there */
	int64_t *early;         /* by storage: see fullest.h */
	int64_t *worth;         /* by thing: its worth in the closure */
	struct closure c;
};

static bool is_in_family(const struct last *l, uint32_t x)
{
	const struct sched_node *n = &l->p->node[x];
	uint32_t comm = n->kind == SCHED_COMM ? x : n->comm;
	return l->bucket && comm != SCHED_NONE && !l->alone[comm];
}

static void find_times(struct last *l, int64_t limit)
{
	const struct sched_problem *p = l->p;
	int64_t *bytes = mem_zalloc(sizeof *bytes * ((size_t)p->family_n + 1));
	double *least = mem_zalloc(sizeof *least * ((size_t)p->family_n + 1));
	for (uint32_t k = 0; k < p->transfer_n; k++)
		if (p->transfer[k].family != SCHED_NONE)
			bytes[p->transfer[k].family] += p->transfer[k].in;
	struct sched_batch_host *host = mem_alloc(sizeof *host * ((size_t)p->n + 1));
	uint32_t *wait = mem_alloc(sizeof *wait * ((size_t)p->n + 1));
	sched_batch_most(p, limit, l->most, l->alone);
	sched_batch_hosts(p, l->alone, host, wait);
	for (uint32_t f = 0; f < p->family_n; f++) {
		int64_t largest = bytes[f] < l->most[f] ? bytes[f] : l->most[f];
		least[f] = largest > 0 ? sched_family_least(&p->family[f], largest) : INFINITY;
	}
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		bool first =
		    sched_awaited(n) != SCHED_NONE && wait[n->comm] == x; /* then its comm is issued, too */
		l->host[x] = 0;
		if (is_in_family(l, x))
			l->host[x] = first ? host[n->comm].both : 0;
		else if (n->kind != SCHED_COMM)
			l->host[x] = sched_host_time(p, x) + (first ? sched_host_time(p, n->comm) : 0);
		l->work += l->host[x];
		if (n->kind != SCHED_COMM)
			continue;
		l->lane[x] = n->time;
		const struct sched_transfer *moved = sched_transfer(p, x);
		if (is_in_family(l, x) && least[moved->family] * (double)moved->in < (double)n->time)
			l->lane[x] = (int64_t)floor(least[moved->family] * (double)moved->in);
	}
	free(wait);
	free(host);
	free(bytes);
	free(least);
}

static void find_needed(struct last *l)
{
	const struct sched_problem *p = l->p;
	for (uint32_t x = 0; x < p->n; x++)
		l->needed[x] = x == l->comm;
	for (uint32_t x = l->comm + 1; x-- > 0;)
		for (uint32_t i = p->pred.at[x]; l->needed[x] && i < p->pred.end[x]; i++)
			l->needed[p->pred.item[i]] = true;
}

/* Returns true if the storage exists as soon as its maker is done. It is not certain for comms, which
 * may not be issued yet, and for results of a bucket, which may not be unpacked. */
static bool is_there(const struct last *l, uint32_t storage)
{
	const struct sched_storage *s = &l->p->storage[storage];
	return s->bytes && s->def != SCHED_NONE && l->p->node[s->def].kind != SCHED_COMM &&
	       !is_in_family(l, s->def);
}

/* Returns true if keeping the storage alive for U has a price. */
static bool is_priced(const struct last *l, uint32_t storage)
{
	return is_there(l, storage) && !l->p->storage[storage].kept;
}

static void find_demands(struct last *l)
{
	const struct sched_problem *p = l->p;
	l->c.demand.n = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		for (uint32_t i = p->succ.at[x]; !l->needed[x] && i < p->succ.end[x]; i++)
			closure_demand(&l->c, x, p->succ.item[i]);
		for (uint32_t i = p->uses.at[x]; !l->needed[x] && i < p->uses.end[x]; i++)
			if (is_priced(l, p->uses.item[i]))
				closure_demand(&l->c, x, p->n + p->uses.item[i]);
	}
}

/* Returns the least time of a comm, alone or in a bucket. */
static int64_t measure_comm(const struct last *l, uint32_t comm)
{
	const struct sched_transfer *c = sched_transfer(l->p, comm);
	int64_t time = l->p->node[comm].time;
	if (!is_in_family(l, comm))
		return time;
	int64_t packed =
	    sched_family_floor(&l->p->family[c->family], c->in > 1 ? c->in : 1, l->most[c->family]);
	return packed < time ? packed : time;
}

/* Returns the price of so many bytes, rounded up. */
static int64_t price_of(int64_t price, int64_t bytes)
{
	return price ? (int64_t)ceil(ldexp((double)bytes * (double)price, -30)) + 1 : 0;
}

/* Returns the cost of so many bytes at a moment, rounded down. */
static int64_t cost_of(const struct last *l, enum moment m, int64_t bytes)
{
	int64_t cost = (int64_t)floor(ldexp((double)bytes * (double)l->price[m], -30)) - 1;
	return cost > 0 ? cost : 0;
}

/* Returns the bound at the present prices. */
static int64_t bound_now(struct last *l)
{
	const struct sched_problem *p = l->p;
	const struct sched_node *c = &p->node[l->comm];
	for (uint32_t x = 0; x < p->n; x++) {
		bool follows = p->node[x].kind == SCHED_COMM && p->node[x].lane == c->lane;
		l->worth[x] = l->needed[x] ? 0 : l->host[x] - (follows ? l->lane[x] : 0);
	}
	for (uint32_t s = 0; s < p->storage_n; s++) {
		const struct sched_storage *t = &p->storage[s];
		int64_t cost = cost_of(l, BEGIN, t->bytes);
		l->worth[p->n + s] = is_priced(l, s) ? -cost : 0;
		if (l->price[BEGIN] && is_there(l, s) && !l->needed[t->def])
			l->worth[t->def] += cost + 3; /* 3: at least the rounding error */
		l->worth[p->n + s] -= cost_of(l, PEAK, l->early[s]);
	}
	int64_t most = closure_most(&l->c, NULL);
	for (enum moment m = 0; m < MOMENTS; m++)
		most += price_of(l->price[m], l->room[m]);
	return l->work - most + measure_comm(l, l->comm);
}

/* Tries a price for a moment, and keeps it if the bound is above `best`, which it raises. Returns false if larger
 * prices are no better: the bound is a concave function of each price, apart from the rounding of costs. */
static bool try_price(struct last *l, enum moment m, int64_t price, int64_t *best)
{
	enum { ROUNDING = 16 }; /* ns for a storage: more than both costs of two bounds are rounded by */
	int64_t before = l->price[m], t;
	l->price[m] = price;
	t = bound_now(l);
	bool better = t > *best;
	if (better)
		*best = t;
	else
		l->price[m] = before;
	return better || price < before || t + ROUNDING * ((int64_t)l->p->storage_n + 1) > *best;
}

/* Tries prices near the present one. */
static void refine_price(struct last *l, enum moment m, int64_t *best)
{
	int64_t at = l->price[m];
	for (unsigned k = 0; at && k <= PRICES && try_price(l, m, at / 4 + at * 15 / 4 * k / PRICES, best);
	     k++)
		;
}

/* Returns the best bound that it finds. */
static int64_t find_prices(struct last *l)
{
	int64_t best = bound_now(l);
	for (enum moment m = 0; m < MOMENTS; m++) {
		for (unsigned k = 0; k <= MOST_PRICE && try_price(l, m, (int64_t)1 << k, &best); k += 2)
			;
		refine_price(l, m, &best);
	}
	if (l->price[PEAK])
		refine_price(l, BEGIN, &best);
	return best;
}

/* Finds the comms with the most time before and in them, in the original order. */
static uint32_t find_late(const struct sched_problem *p, uint32_t late[COMMS])
{
	int64_t end[COMMS] = {0}, when = 0;
	uint32_t n = 0;
	for (uint32_t x = 0; x < p->n; when += sched_host_time(p, x++)) {
		if (p->node[x].kind != SCHED_COMM)
			continue;
		int64_t here = when + p->node[x].time;
		uint32_t k = n < COMMS ? n++ : COMMS;
		for (; k && here > end[k - 1]; k--)
			if (k < COMMS) {
				end[k] = end[k - 1];
				late[k] = late[k - 1];
			}
		if (k < COMMS) {
			end[k] = here;
			late[k] = x;
		}
	}
	return n;
}

int64_t sched_bound_last(const struct sched_problem *p, bool bucket, int64_t limit, uint32_t *comm)
{
	struct arena *a = arena_new();
	struct last l = {.p = p, .bucket = bucket, .room[BEGIN] = limit - p->fixed};
	uint32_t late[COMMS], n = p->n <= MOST_NODES ? find_late(p, late) : 0;
	int64_t best = 0;
	l.host = arena_new_array(a, int64_t, p->n);
	l.lane = arena_new_array(a, int64_t, p->n);
	l.most = arena_new_array(a, int64_t, p->family_n);
	l.alone = arena_new_array(a, bool, p->n);
	l.needed = arena_new_array(a, bool, p->n);
	l.there = arena_new_array(a, bool, p->storage_n);
	l.early = arena_new_array(a, int64_t, p->storage_n);
	l.worth = arena_new_array(a, int64_t, p->n + p->storage_n);
	l.c = (struct closure){.n = p->n + p->storage_n, .worth = l.worth};
	for (uint32_t s = 0; s < p->storage_n; s++)
		if (is_there(&l, s) && p->storage[s].kept)
			l.room[BEGIN] -= p->storage[s].bytes;
	find_times(&l, limit);
	*comm = SCHED_NONE;
	for (uint32_t k = 0; k < n; k++) {
		l.comm = late[k];
		find_needed(&l);
		find_demands(&l);
		int64_t t = bound_now(&l);
		if (t > best) {
			best = t;
			*comm = late[k];
		}
	}
	if (*comm != SCHED_NONE) {
		l.comm = *comm;
		find_needed(&l);
		find_demands(&l);
		for (uint32_t s = 0; s < p->storage_n; s++)
			l.there[s] = is_there(&l, s);
		l.room[PEAK] = sched_fullest(p, l.comm, l.needed, l.there, limit, l.early);
		int64_t t = find_prices(&l);
		best = t > best ? t : best;
	}
	vec_free(&l.c.demand);
	arena_free(a);
	return best;
}
