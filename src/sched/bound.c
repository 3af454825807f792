/* bound: heads, tails and one machine at a time.
 *
 * head(x) is a time before which x cannot begin, tail(x) one that passes after its end. Both grow along
 * paths. A comm begins when all that it needs of the host is done: the host does these nodes one at a time,
 * none before its head, which takes at least as long as to do them by head. The same holds backwards. Then
 * each machine, the host and each lane, has a preemptive schedule in which of the nodes that can run the one
 * with the longest tail does; no schedule ends earlier (Jackson's bound; J. Carlier, The one-machine
 * sequencing problem, EJOR 11, 1982).
 *
 * With buckets a comm takes no less than alone, since what comms take grows with their size, so heads and
 * tails hold. Lanes gain: what is in buckets takes at least its part of the least time for a byte, and the
 * host packs it. How much is worth packing is a linear program of one variable for each comm and two
 * constraints. */
#include "sched/bound.h"
#include "sched/heap.h"
#include <stdlib.h>
#include <string.h>

struct bounds {
	const struct sched_problem *p;
	bool bucket;
	int64_t *head, *tail; /* by node */
	int64_t *host;        /* by node: what it takes of the host at least */
	uint32_t *by;         /* nodes seen, by head or tail */
	uint32_t by_n;
	uint8_t *marked;
	uint32_t *stack;
};

static bool shares(const struct bounds *b, uint32_t x)
{
	const struct sched_node *n = &b->p->node[x];
	uint32_t comm = n->kind == SCHED_COMM ? x : n->comm;
	return b->bucket && comm != SCHED_NONE && b->p->node[comm].family != SCHED_NONE;
}

static int64_t length(const struct sched_problem *p, uint32_t x)
{
	return p->node[x].time + p->launch;
}

/* Whether y, which needs x, begins when x is over; what else needs a comm follows when it is issued. */
static bool follows_end(const struct sched_problem *p, uint32_t x, uint32_t y)
{
	return p->node[x].kind != SCHED_COMM || p->node[y].comm == x;
}

/* Marks all that a comm needs; with succ all that its waits lead to, and these. */
static void mark(struct bounds *b, const struct sched_lists *next, uint32_t comm)
{
	uint32_t n = 0;
	memset(b->marked, 0, b->p->n);
	b->stack[n++] = comm;
	while (n) {
		uint32_t x = b->stack[--n];
		for (uint32_t i = next->at[x]; i < next->at[x + 1]; i++) {
			uint32_t y = next->item[i];
			if (b->marked[y] || (next == &b->p->succ && x == comm && !follows_end(b->p, x, y)))
				continue;
			b->marked[y] = 1;
			b->stack[n++] = y;
		}
	}
}

/* Keeps `by` sorted by key. */
static void insert(struct bounds *b, uint32_t x, const int64_t *key)
{
	uint32_t low = 0, high = b->by_n;
	if (!b->host[x])
		return;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (key[b->by[mid]] <= key[x])
			low = mid + 1;
		else
			high = mid;
	}
	memmove(b->by + low + 1, b->by + low, sizeof *b->by * (b->by_n - low));
	b->by[low] = x;
	b->by_n++;
}

/* When the host has done all that is marked, none before its key. */
static int64_t done_by(const struct bounds *b, const int64_t *key)
{
	int64_t t = 0;
	for (uint32_t i = 0; i < b->by_n; i++) {
		uint32_t x = b->by[i];
		if (b->marked[x])
			t = (t > key[x] ? t : key[x]) + b->host[x];
	}
	return t;
}

static void find_heads(struct bounds *b)
{
	const struct sched_problem *p = b->p;
	b->by_n = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++) {
			uint32_t y = p->pred.item[i];
			int64_t t = b->head[y] + (follows_end(p, y, x) ? length(p, y) : p->launch);
			b->head[x] = t > b->head[x] ? t : b->head[x];
		}
		if (p->node[x].kind == SCHED_COMM && p->pred.at[x] < p->pred.at[x + 1]) {
			mark(b, &p->pred, x);
			int64_t t = done_by(b, b->head);
			b->head[x] = t > b->head[x] ? t : b->head[x];
		}
		insert(b, x, b->head);
	}
}

/* The tail of what takes no time and is needed for nothing that does is as if it were not there: -1. */
static void find_tails(struct bounds *b)
{
	const struct sched_problem *p = b->p;
	b->by_n = 0;
	for (uint32_t x = p->n; x-- > 0;) {
		int64_t tail = -1;
		for (uint32_t i = p->succ.at[x]; i < p->succ.at[x + 1]; i++) {
			uint32_t y = p->succ.item[i];
			int64_t t = b->tail[y] < 0 || !follows_end(p, x, y) ? -1 : b->tail[y] + length(p, y);
			tail = t > tail ? t : tail;
		}
		if (tail < 0 && p->node[x].time > 0)
			tail = 0;
		b->tail[x] = tail;
		if (tail < 0)
			continue;
		if (p->node[x].kind == SCHED_COMM && p->succ.at[x] < p->succ.at[x + 1]) {
			mark(b, &p->succ, x);
			int64_t t = done_by(b, b->tail);
			b->tail[x] = t > tail ? t : tail;
		}
		insert(b, x, b->tail);
	}
}

static int by_head(const void *a, const void *b)
{
	const int64_t *x = *(const int64_t *const *)a, *y = *(const int64_t *const *)b;
	return *x != *y ? (*x > *y) - (*x < *y) : (x > y) - (x < y);
}

/* Jackson's preemptive schedule of n jobs. */
static int64_t one_machine(const struct bounds *b, const uint32_t *job, uint32_t n, const int64_t *time)
{
	const int64_t **head = mem_alloc(sizeof *head * ((size_t)n + 1));
	int64_t *left = mem_alloc(sizeof *left * ((size_t)b->p->n + 1)), now = 0, end = 0;
	struct heap ready;
	heap_open(&ready, b->tail, b->p->n);
	for (uint32_t i = 0; i < n; i++) {
		head[i] = &b->head[job[i]];
		left[job[i]] = time[job[i]];
	}
	qsort(head, n, sizeof *head, by_head);
	for (uint32_t i = 0; i < n || ready.n;) {
		if (!ready.n && now < *head[i])
			now = *head[i];
		while (i < n && *head[i] <= now)
			heap_push(&ready, (uint32_t)(head[i++] - b->head));
		uint32_t x = heap_pop(&ready);
		if (i < n && now + left[x] > *head[i]) {
			left[x] -= *head[i] - now;
			now = *head[i];
			heap_push(&ready, x);
			continue;
		}
		now += left[x];
		if (now + b->tail[x] > end)
			end = now + b->tail[x];
	}
	heap_close(&ready);
	free(left);
	free(head);
	return end;
}

/* ns for a byte that a comm of the family takes at least, however large. */
static double least_slope(const struct sched_family *f, int64_t most)
{
	double least = (double)sched_family_time(f, most) / (double)most;
	for (unsigned i = 0; i < f->n; i++)
		if (f->point[i].bytes < (double)most && f->point[i].time / f->point[i].bytes < least)
			least = f->point[i].time / f->point[i].bytes;
	return least;
}

struct item {                 /* a comm that may be in a bucket */
	double saved, packed; /* ns: of the lane at most, of the host at least */
};

static int by_worth(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	double l = x->saved * y->packed, r = y->saved * x->packed;
	return (l < r) - (l > r);
}

/* The least T with host + packed <= T and lane - saved <= T, parts of comms being packed. */
static double packing(const struct bounds *b, uint32_t lane, double host)
{
	const struct sched_problem *p = b->p;
	struct item *item = mem_alloc(sizeof *item * ((size_t)p->n + 1));
	int64_t *bytes = mem_zalloc(sizeof *bytes * ((size_t)p->family_n + 1));
	double busy = 0, t;
	uint32_t n = 0;
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM && p->node[x].family != SCHED_NONE)
			bytes[p->node[x].family] += p->node[x].in;
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *c = &p->node[x];
		if (c->kind != SCHED_COMM || c->lane != lane)
			continue;
		busy += (double)(c->time + p->launch);
		if (c->family == SCHED_NONE || !c->in)
			continue;
		const struct sched_family *f = &p->family[c->family];
		int64_t copied = c->in + (f->collective == SCHED_ALLGATHER ? c->out : 0);
		item[n++] = (struct item){(double)(c->time + p->launch) -
		                              least_slope(f, bytes[c->family]) * (double)c->in,
		                          2 * (double)copied / p->bytes_per_ns};
	}
	qsort(item, n, sizeof *item, by_worth);
	for (uint32_t i = 0; i < n && busy > host && item[i].saved > 0; i++) {
		double part = (busy - host) / (item[i].saved + item[i].packed);
		part = part < 1 ? part : 1;
		busy -= part * item[i].saved;
		host += part * item[i].packed;
	}
	t = busy > host ? busy : host;
	free(item);
	free(bytes);
	return t;
}

static void raise(struct sched_bound *bound, int64_t runtime, enum sched_resource resource, uint32_t lane)
{
	if (runtime > bound->runtime)
		*bound = (struct sched_bound){runtime, resource, lane};
}

struct sched_bound sched_bound(const struct sched_problem *p, bool bucket)
{
	size_t room = (size_t)p->n + 1;
	struct bounds b = {.p = p, .bucket = bucket};
	struct sched_bound bound = {0};
	b.head = mem_zalloc(sizeof *b.head * room);
	b.tail = mem_zalloc(sizeof *b.tail * room);
	b.host = mem_zalloc(sizeof *b.host * room);
	b.by = mem_alloc(sizeof *b.by * room);
	b.marked = mem_alloc(room);
	b.stack = mem_alloc(sizeof *b.stack * room);
	uint32_t *job = mem_alloc(sizeof *job * room), n = 0;
	int64_t *time = mem_alloc(sizeof *time * room), work = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		b.host[x] = shares(&b, x) ? 0 : sched_host_time(p, x);
		time[x] = length(p, x);
	}
	find_heads(&b);
	find_tails(&b);
	for (uint32_t x = 0; x < p->n; x++) {
		if (b.tail[x] < 0)
			continue;
		raise(&bound, b.head[x] + length(p, x) + b.tail[x] - p->launch, SCHED_BOUND_PATH, 0);
		if (b.host[x])
			job[n++] = x;
		work += b.host[x];
	}
	raise(&bound, one_machine(&b, job, n, b.host) - p->launch, SCHED_BOUND_HOST, 0);
	for (uint32_t l = 0; l < p->lane_n; l++) {
		n = 0;
		for (uint32_t x = 0; x < p->n; x++)
			if (p->node[x].kind == SCHED_COMM && p->node[x].lane == l && b.tail[x] >= 0)
				job[n++] = x;
		if (bucket)
			raise(&bound, (int64_t)packing(&b, l, (double)work) - p->launch, SCHED_BOUND_PACKING,
			      l);
		else
			raise(&bound, one_machine(&b, job, n, time) - p->launch, SCHED_BOUND_LANE, l);
	}
	free(b.head);
	free(b.tail);
	free(b.host);
	free(b.by);
	free(b.marked);
	free(b.stack);
	free(job);
	free(time);
	return bound;
}
