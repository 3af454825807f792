/* sched_bound: bounds the runtime by heads, tails and one machine at a time.
 *
 * No schedule begins x before head(x), and at least tail(x) passes after its end. Both grow along paths.
 * A comm begins when the host has done everything that it needs. The host does these nodes one at a
 * time, none before its head; doing them in the order of heads takes the least time. The same holds
 * backwards. For each machine (the host and each lane), Jackson's preemptive schedule always runs the
 * available node with the longest tail. No schedule ends earlier (J. Carlier, The one-machine sequencing
 * problem, EJOR 11, 1982).
 *
 * A node that waits for several comms of a lane begins when the lane has done all of them (lane_work.h). Likewise
 * backwards.
 *
 * Heads and tails also hold with buckets: a comm takes no less time in a bucket than the least time of its
 * size and larger ones. But a lane can save time: a comm in a bucket takes at least its share
 * (lane_share.h), and the host has to pack it. The best amount to pack is a linear program with one variable a
 * comm and two constraints. Large buckets come late; batch.h bounds the sizes that are worth it. */
#include "sched/sched_bound.h"
#include "sched/batch.h"
#include "sched/contended_bound.h"
#include "sched/crest_bound.h"
#include "sched/host_work.h"
#include "sched/lane_share.h"
#include "sched/lane_work.h"
#include "sched/last.h"
#include "sched/machine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOKS = 20000000,  /* nodes visited for heads, and again for tails */
	LEAST_LOOKS = 256, /* nodes visited at least for each comm */
	JOINS = 48         /* nodes for which the lanes' work on either side is found */
};

static const int64_t NO_LIMIT = INT64_MAX;

struct bounds {
	const struct sched_problem *p;
	bool bucket;
	int64_t *head, *tail;           /* by node */
	int64_t *host;                  /* by node: its least host time */
	bool *shared;                   /* by node: it is a comm that may be in a bucket, or waits for one */
	int64_t *length;                /* by node: its least time, in a bucket or alone, with the launch */
	int64_t *most;                  /* by family: most bytes of a bucket */
	bool *alone;                    /* by node: a comm that is in no bucket */
	struct sched_batch_host *batch; /* by comm that may be in a bucket */
	double *share;                  /* by comm that may be in a bucket: see lane_share.h */
	int64_t *lane;   /* by comm: least time of its lane, in a bucket or alone, with the launch */
	uint32_t *wait;  /* by comm: its first wait, or SCHED_NONE */
	int64_t *behind; /* by comm: host time of the nodes after it, without waits for comms in buckets */
	uint32_t looks;  /* nodes visited for one comm */
};

/* Returns true for a comm that may be in a bucket, and for its waits. */
static bool has_family(const struct bounds *b, uint32_t x)
{
	const struct sched_node *n = &b->p->node[x];
	uint32_t comm = n->kind == SCHED_COMM ? x : n->comm;
	return b->bucket && comm != SCHED_NONE && !b->alone[comm];
}

/* Returns the least time of a node with its launch. A comm may take less time in a bucket if it was slower
 * than its family is. */
static int64_t measure_length(const struct bounds *b, uint32_t x)
{
	const struct sched_transfer *n = sched_transfer(b->p, x);
	int64_t time = b->p->node[x].time;
	if (b->p->node[x].kind == SCHED_COMM && has_family(b, x)) {
		int64_t packed =
		    sched_family_floor(&b->p->family[n->family], n->in > 1 ? n->in : 1, b->most[n->family]);
		time = packed < time ? packed : time;
	}
	return time + b->p->launch;
}

/* Returns true if y, which needs x, begins when x is over. A node that needs a comm without waiting for
 * it begins when the comm is issued. */
static bool follows_end(const struct sched_problem *p, uint32_t x, uint32_t y)
{
	return p->node[x].kind != SCHED_COMM || sched_awaited(&p->node[y]) == x;
}

/* ---- heads and tails */

static void find_heads(struct bounds *b)
{
	const struct sched_problem *p = b->p;
	struct host_side side = {p->n, &p->pred, b->head, b->host, b->shared, b->looks};
	struct host_work *work = host_work_new(&side);
	struct lane_side lanes = {p, true, b->head, b->lane, JOINS};
	struct lane_work *lane = lane_work_new(&lanes);
	for (uint32_t x = 0; x < p->n; x++) {
		bool comm = p->node[x].kind == SCHED_COMM;
		if (comm)
			host_work_begin(work, x);
		b->head[x] = lane_work_of(lane, x);
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t y = p->pred.item[i];
			int64_t t = b->head[y] + (follows_end(p, y, x) ? b->length[y] : p->launch);
			b->head[x] = t > b->head[x] ? t : b->head[x];
			if (comm)
				host_work_add(work, y);
		}
		if (comm) {
			int64_t sum, t = host_work_end(work, &sum);
			b->head[x] = t > b->head[x] ? t : b->head[x];
		}
	}
	lane_work_free(lane);
	host_work_free(work);
}

/* Finds the tails. A node is ignored (-1) if neither it nor any node that needs it takes time. */
static void find_tails(struct bounds *b)
{
	const struct sched_problem *p = b->p;
	struct host_side side = {p->n, &p->succ, b->tail, b->host, b->shared, b->looks};
	struct host_work *work = host_work_new(&side);
	struct lane_side lanes = {p, false, b->tail, b->lane, JOINS};
	struct lane_work *lane = lane_work_new(&lanes);
	for (uint32_t x = p->n; x-- > 0;) {
		bool comm = p->node[x].kind == SCHED_COMM;
		int64_t tail = -1;
		if (comm)
			host_work_begin(work, x);
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++) {
			uint32_t y = p->succ.item[i];
			if (!follows_end(p, x, y))
				continue;
			int64_t t = b->tail[y] < 0 ? -1 : b->tail[y] + b->length[y];
			tail = t > tail ? t : tail;
			if (comm)
				host_work_add(work, y);
		}
		if (tail < 0 && p->node[x].time > 0)
			tail = 0;
		int64_t behind = lane_work_of(lane, x);
		b->tail[x] = behind && behind > tail ? behind : tail;
		if (comm && tail >= 0) {
			int64_t t = host_work_end(work, &b->behind[x]);
			b->tail[x] = t > tail ? t : tail;
		}
	}
	lane_work_free(lane);
	host_work_free(work);
}

/* ---- machines */

/* Returns the lower bound of n jobs on one machine; job k takes time[job[k]]. */
static int64_t one_machine(const struct bounds *b, const uint32_t *job, uint32_t n, const int64_t *time)
{
	return sched_machine_end(b->head, b->tail, time, b->p->n, job, n);
}

struct item {                 /* a comm that may be packed */
	double saved, packed; /* ns: saved: most that the lane saves; packed: least that the host spends */
};

static int by_worth(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	double l = x->saved * y->packed, r = y->saved * x->packed;
	return (l < r) - (l > r);
}

/* The work that the host does in any case, and the packing that adds to it. */
struct base {
	double host;
	const bool *unpacks; /* by comm: its unpacking adds to the host's work; NULL: all packing does */
	bool behind;         /* packing counts at most the least time of the lane */
};

/* Returns the least time of the host for a comm, and for its wait unless that may be after the end. */
static int64_t least_launches(const struct bounds *b, uint32_t comm)
{
	uint32_t wait = b->wait[comm];
	bool awaited = wait != SCHED_NONE && b->tail[wait] >= 0;
	return awaited ? b->batch[comm].both : b->batch[comm].before;
}

/* Returns the least T with host + packed <= T and lane - saved <= T. A part of a comm may be packed. */
static double packing(const struct bounds *b, uint32_t lane, const struct base *base)
{
	const struct sched_problem *p = b->p;
	struct item *item = mem_alloc(sizeof *item * ((size_t)p->n + 1));
	int64_t head = INT64_MAX, tail = INT64_MAX; /* least head and least tail of the comms on the lane */
	double busy = 0, host = base->host, t;
	uint32_t n = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *c = &p->node[x];
		if (c->kind != SCHED_COMM || c->lane != lane || b->tail[x] < 0)
			continue;
		head = b->head[x] < head ? b->head[x] : head;
		tail = b->tail[x] < tail ? b->tail[x] : tail;
		busy += (double)(c->time + p->launch);
		const struct sched_transfer *moved = sched_transfer(p, x);
		if (moved->family == SCHED_NONE || !moved->in || b->alone[x])
			continue;
		const struct sched_family *f = &p->family[moved->family];
		double least = b->share[x];
		bool copied = p->copies || f->collective == SCHED_ALLGATHER;
		double out = copied ? 2 * (double)moved->out / p->bytes_per_ns : 0;
		double packed = out + 2 * (double)moved->in / p->bytes_per_ns - (double)least_launches(b, x);
		if (base->behind)
			packed = base->unpacks[x] ? fmin(least, out) : 0;
		else if (base->unpacks)
			packed = base->unpacks[x] ? out - (double)b->batch[x].both : 0;
		packed = p->grouped ? 0 : fmax(0, packed);
		double saved = (double)(c->time + p->launch) - least;
		if (saved > 0)
			item[n++] = (struct item){saved, packed};
	}
	if (n)
		qsort(item, n, sizeof *item, by_worth);
	busy += head < INT64_MAX ? (double)(head + tail) : 0;
	for (uint32_t i = 0; i < n && busy > host; i++) {
		double part = (busy - host) / (item[i].saved + item[i].packed);
		part = part < 1 ? part : 1;
		busy -= part * item[i].saved;
		host += part * item[i].packed;
	}
	t = busy > host ? busy : host;
	free(item);
	return t;
}

static void raise_bound(struct sched_bound *bound, int64_t runtime, enum sched_resource resource,
                        uint32_t lane)
{
	if (runtime > bound->runtime)
		*bound = (struct sched_bound){runtime, resource, lane, SCHED_NONE};
}

static void mark_needed(const struct sched_problem *p, uint32_t comm, bool *needed)
{
	needed[comm] = true;
	for (uint32_t x = comm + 1; x-- > 0;)
		for (uint32_t i = p->pred.at[x]; needed[x] && i < p->pred.end[x]; i++)
			needed[p->pred.item[i]] = true;
}

/* Finds the comm of the lane that takes longest together with all work after it; SCHED_NONE if there is
 * none. */
static uint32_t first_of(struct bounds *b, uint32_t lane, int64_t *most)
{
	uint32_t first = SCHED_NONE;
	*most = 0;
	for (uint32_t x = 0; x < b->p->n; x++)
		if (b->p->node[x].kind == SCHED_COMM && b->p->node[x].lane == lane && b->tail[x] >= 0 &&
		    b->behind[x] + b->length[x] > *most) {
			first = x;
			*most = b->behind[x] + b->length[x];
		}
	return first;
}

/* Raises the bound by the packing for lanes with buckets. Three choices of work and packing are tried:
 *
 * All packing, with all work of the host.
 *
 * Unpacking, with a comm of the lane and all work after it. Data that the lane gathers later is unpacked
 * later. Data that it gathers before the comm costs the lane more time than to unpack it.
 *
 * Unpacking for the nodes that the late comm needs, with the bound of last.h, which does not include it. */
static void raise_packing(struct bounds *b, struct sched_bound *bound, int64_t work, int64_t last,
                          uint32_t late)
{
	const struct sched_problem *p = b->p;
	bool *unpacks = mem_zalloc((size_t)p->n + 1);
	if (late != SCHED_NONE)
		mark_needed(p, late, unpacks);
	for (uint32_t l = 0; l < p->lane_n; l++) {
		struct base all = {.host = (double)work}, behind_late = {(double)last, unpacks, false};
		raise_bound(bound, (int64_t)packing(b, l, &all) - p->launch, SCHED_BOUND_PACKING, l);
		if (late != SCHED_NONE)
			raise_bound(bound, (int64_t)packing(b, l, &behind_late) - p->launch,
			            SCHED_BOUND_PACKING, l);
	}
	for (uint32_t l = 0; l < p->lane_n; l++) {
		int64_t most;
		uint32_t first = first_of(b, l, &most);
		for (uint32_t x = 0; x < p->n; x++)
			unpacks[x] = p->node[x].kind == SCHED_COMM && p->node[x].lane == l && x != first;
		struct base behind_first = {(double)most, unpacks, true};
		if (first != SCHED_NONE)
			raise_bound(bound, (int64_t)packing(b, l, &behind_first) - p->launch,
			            SCHED_BOUND_PACKING, l);
	}
	free(unpacks);
}

/* Returns true if the comms of a lane take so long that crests, which add little, may raise the bound. */
static bool is_near_bound(const struct bounds *b, uint32_t lane, int64_t bound)
{
	static const double near = 0.8;
	double busy = 0;
	for (uint32_t x = 0; x < b->p->n; x++) {
		const struct sched_node *c = &b->p->node[x];
		if (c->kind == SCHED_COMM && c->lane == lane)
			busy += has_family(b, x) ? b->share[x] : (double)c->time;
	}
	return busy >= near * (double)bound;
}

/* last: the bound by the nodes that must follow comm `late`, which may be SCHED_NONE. */
static struct sched_bound bound_with(const struct sched_problem *p, bool bucket, int64_t limit, int64_t last,
                                     uint32_t late)
{
	size_t room = (size_t)p->n + 1;
	struct bounds b = {.p = p, .bucket = bucket};
	struct sched_bound bound = {.comm = SCHED_NONE};
	b.head = mem_zalloc(sizeof *b.head * room);
	b.tail = mem_zalloc(sizeof *b.tail * room);
	b.host = mem_zalloc(sizeof *b.host * room);
	b.shared = mem_alloc(sizeof *b.shared * room);
	b.length = mem_zalloc(sizeof *b.length * room);
	b.most = mem_zalloc(sizeof *b.most * ((size_t)p->family_n + 1));
	b.alone = mem_zalloc(room);
	b.batch = mem_alloc(sizeof *b.batch * room);
	b.wait = mem_alloc(sizeof *b.wait * room);
	b.share = mem_zalloc(sizeof *b.share * room);
	b.lane = mem_zalloc(sizeof *b.lane * room);
	sched_batch_most(p, limit, b.most, b.alone);
	sched_batch_hosts(p, b.alone, b.batch, b.wait);
	b.behind = mem_zalloc(sizeof *b.behind * room);
	uint32_t *job = mem_alloc(sizeof *job * room), n = 0, comms = 1;
	int64_t work = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		b.shared[x] = has_family(&b, x);
		b.host[x] = b.shared[x] ? 0 : sched_host_time(p, x);
		uint32_t awaited = sched_awaited(&p->node[x]);
		if (awaited != SCHED_NONE && has_family(&b, x) && b.wait[awaited] == x)
			b.host[x] = b.batch[awaited].after;
		b.lane[x] = p->node[x].time + p->launch;
		b.length[x] = measure_length(&b, x);
		comms += p->node[x].kind == SCHED_COMM;
	}
	if (bucket)
		sched_lane_shares(p, b.most, b.alone, b.share);
	for (uint32_t x = 0; x < p->n; x++)
		if (has_family(&b, x) && (double)b.lane[x] > b.share[x])
			b.lane[x] = (int64_t)floor(b.share[x]);
	b.looks = LOOKS / comms > LEAST_LOOKS ? LOOKS / comms : LEAST_LOOKS;
	find_heads(&b);
	find_tails(&b);
	for (uint32_t x = 0; x < p->n; x++) {
		if (b.tail[x] < 0)
			continue;
		raise_bound(&bound, b.head[x] + b.length[x] + b.tail[x] - p->launch, SCHED_BOUND_PATH, 0);
		if (b.host[x])
			job[n++] = x;
		work += b.host[x];
	}
	raise_bound(&bound, one_machine(&b, job, n, b.host) - p->launch, SCHED_BOUND_HOST, 0);
	for (uint32_t x = 0; x < p->n; x++) { /* launches before a comm, which no head accounts for */
		bool awaited = has_family(&b, x) && b.wait[x] != SCHED_NONE && b.tail[b.wait[x]] >= 0;
		if (p->node[x].kind == SCHED_COMM && has_family(&b, x) && b.tail[x] >= 0)
			work += least_launches(&b, x) - (awaited ? b.batch[x].after : 0);
	}
	for (uint32_t l = 0; l < p->lane_n; l++) {
		n = 0;
		for (uint32_t x = 0; x < p->n; x++)
			if (p->node[x].kind == SCHED_COMM && p->node[x].lane == l && b.tail[x] >= 0)
				job[n++] = x;
		raise_bound(&bound, one_machine(&b, job, n, b.lane) - p->launch, SCHED_BOUND_LANE, l);
	}
	for (uint32_t l = 0; l < p->lane_n && p->contention_n; l++)
		raise_bound(&bound, sched_bound_contended(p, l, bucket, b.tail), SCHED_BOUND_CONTENTION, l);
	if (late != SCHED_NONE && last > bound.runtime)
		bound = (struct sched_bound){last, SCHED_BOUND_LAST, p->node[late].lane, late};
	if (bucket)
		raise_packing(&b, &bound, work, last, late);
	for (uint32_t l = 0; l < p->lane_n && bucket; l++) {
		struct sched_batches batches = {p, b.head, b.tail, b.most, b.alone};
		raise_bound(&bound, sched_bound_batches(&batches, l, bound.runtime), SCHED_BOUND_PACKING, l);
		if (limit < NO_LIMIT && is_near_bound(&b, l, bound.runtime))
			raise_bound(&bound, sched_bound_crests(&batches, l, limit), SCHED_BOUND_CRESTS, l);
	}
	free(b.head);
	free(b.tail);
	free(b.host);
	free(b.shared);
	free(b.length);
	free(b.most);
	free(b.alone);
	free(b.batch);
	free(b.wait);
	free(b.share);
	free(b.lane);
	free(b.behind);
	free(job);
	return bound;
}

struct sched_bound sched_bound(const struct sched_problem *p, bool bucket)
{
	return bound_with(p, bucket, NO_LIMIT, 0, SCHED_NONE);
}

struct sched_bound sched_bound_within(const struct sched_problem *p, bool bucket, int64_t limit)
{
	uint32_t late;
	int64_t last = sched_bound_last(p, bucket, limit, &late);
	return bound_with(p, bucket, limit, last, late);
}
