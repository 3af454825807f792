/* transport_mixed: shared memory between the ranks of a host, another transport between hosts.
 *
 *     host 0: ranks 0 1 2     host 1: ranks 3 4 5        rails: (0 3) (1 4) (2 5)
 *
 * A team on one host is the near transport's, one with a rank on each of its hosts the far one's. Where a
 * team has as many ranks on each of its hosts, ranks at the same place on their hosts are a rail, and a block
 * goes from host to host once, all rails at the same time:
 *
 *     Allgather       rails gather; then, for each host, its ranks' blocks are gathered nearby
 *     ReduceScatter   for each host, what goes to its ranks is reduced nearby; then along the rails
 *     Allreduce       reduced and scattered nearby, all-reduced along the rails, gathered nearby
 *     Broadcast       along the root's rail, then nearby
 *
 * All else is the far transport's. Reductions run in the wide type, so that each result is rounded once. The
 * parts of a collective run in stages; one collective of a team runs at a time, in the order in which they
 * were started: all ranks start the parts in one order. */
#include "rt/transport_mixed.h"
#include "base/arena.h"
#include "rt/bootstrap_shared.h"
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SLEEP_US = 5, /* between looks while the far transport, which cannot ring, has work */
	LONGEST_SLEEP_US = 200,
};

struct mixed_team {
	int hosts;       /* on which it has ranks */
	int each;        /* ranks on each of them; 0: not as many on all */
	int *member;     /* each and hosts known: index in the team, by host and place; owned */
	int host, place; /* of this rank */
	int near_id;     /* the ranks of this host; -1: not declared */
	int far_id;      /* the whole; -1 */
	int rail_id;     /* those at this rank's place; -1 */
	struct rt_request *first, *last; /* started, in order; the first one runs */
};

struct mixed {
	struct rt_transport base;
	struct rt_transport *near, *far; /* owned */
	struct rt_job near_job;          /* the same job, in which memory is that of the host */
	struct rt_bootstrap near_boot;
	const int *host; /* by rank */
	struct mixed_team *team;
	int far_open; /* requests of the far transport */
	int64_t sleep_us;
	struct rt_request *unused;
	int most_hosts; /* parts of a request have room for as many */
};

struct part {
	struct rt_transport *on;
	struct rt_collective c;
	struct rt_request *request; /* NULL: not started, or done */
	int stage;
};

struct rt_request {
	struct rt_request *next; /* of a team, or unused */
	struct rt_collective c;
	struct mixed_team *team; /* NULL: a message */
	int stage;               /* that runs; -1: none yet */
	int stages, parts, open;
	int round_after; /* the stage after which wide results are rounded; -1: none */
	void *wide;      /* those; in staged */
	void *round_to;
	int64_t round_n;
	char *staged; /* kept for the next */
	size_t staged_bytes;
	struct part part[];
};

/* ---- requests */

static struct rt_request *request_new(struct mixed *m)
{
	struct rt_request *r = m->unused;
	if (r) {
		m->unused = r->next;
	} else {
		r = mem_zalloc(sizeof *r + (size_t)(m->most_hosts + 2) * sizeof *r->part);
	}
	r->next = NULL;
	r->team = NULL;
	r->stage = r->round_after = -1;
	r->stages = r->parts = r->open = 0;
	return r;
}

static void request_free(struct mixed *m, struct rt_request *r)
{
	r->next = m->unused;
	m->unused = r;
}

static char *stage_memory(struct rt_request *r, size_t bytes)
{
	if (bytes > r->staged_bytes) {
		free(r->staged);
		r->staged = mem_alloc(bytes);
		r->staged_bytes = bytes;
	}
	return r->staged;
}

/* A part: the same collective on another transport, its team and buffers to be set. */
static struct rt_collective *part_new(struct rt_request *r, struct rt_transport *on, int team, int stage)
{
	struct part *p = &r->part[r->parts++];
	*p = (struct part){.on = on, .c = r->c, .stage = stage};
	p->c.team = team;
	p->c.counted = (uint8_t)(1 + rt_collective_counted(&r->c));
	p->c.counts = p->c.offsets = NULL;
	r->stages = stage + 1 > r->stages ? stage + 1 : r->stages;
	return &p->c;
}

static void part_blocks(struct rt_collective *c, const int64_t *counts, const int64_t *offsets)
{
	c->counts = counts;
	c->offsets = offsets;
}

/* ---- collectives as parts */

/* Blocks of the whole, by host and place; in staged memory, of which `more` bytes follow. */
struct blocks {
	int64_t *count, *offset;           /* [host * each + place] */
	int64_t *rail_count, *rail_offset; /* of this rank's rail, by host */
	char *more;
};

static struct blocks blocks_of(struct rt_request *r, const struct mixed_team *t, size_t more)
{
	size_t n = (size_t)t->hosts * (size_t)t->each, lists = 2 * n + 2 * (size_t)t->hosts;
	struct blocks b;
	b.count = (int64_t *)stage_memory(r, lists * sizeof *b.count + more);
	b.offset = b.count + n;
	b.rail_count = b.offset + n;
	b.rail_offset = b.rail_count + t->hosts;
	b.more = (char *)(b.rail_offset + t->hosts);
	for (int h = 0; h < t->hosts; h++)
		for (int k = 0; k < t->each; k++) {
			size_t i = (size_t)(h * t->each + k);
			struct rt_block x = rt_collective_block(&r->c, t->member[i]);
			b.count[i] = x.count, b.offset[i] = x.offset;
			if (k == t->place)
				b.rail_count[h] = x.count, b.rail_offset[h] = x.offset;
		}
	return b;
}

static void *element(const struct rt_collective *c, const void *buffer, int64_t i)
{
	return (char *)buffer + (size_t)i * rt_dtype_size(c->dtype);
}

static void split_allgather(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	struct blocks b = blocks_of(r, t, 0);
	struct rt_collective *c = part_new(r, m->far, t->rail_id, 0);
	part_blocks(c, b.rail_count, b.rail_offset);
	for (int k = 0; k < t->hosts; k++) {
		int h = (t->host + k) % t->hosts, first = h * t->each;
		c = part_new(r, m->near, t->near_id, k != 0);
		part_blocks(c, b.count + first, b.offset + first);
		if (k)
			c->in = element(c, c->out, b.offset[first + t->place]);
	}
}

static void split_broadcast(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	int root = 0;
	while (t->member[root] != r->c.root)
		root++;
	bool on_rail = t->place == root % t->each, own = on_rail && t->host == root / t->each;
	if (on_rail)
		part_new(r, m->far, t->rail_id, 0)->root = root / t->each;
	struct rt_collective *c = part_new(r, m->near, t->near_id, on_rail && !own);
	c->root = root % t->each;
	if (on_rail && !own)
		c->in = c->out;
}

/* Whether a reduction needs its wide type: other than that of its buffers, or to end a mean. */
static bool is_wide(const struct rt_collective *c)
{
	return c->dtype != rt_dtype_wide(c->dtype) || c->op == RT_AVG;
}

static void split_reduce_scatter(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	enum rt_dtype type = r->c.dtype, wide = rt_dtype_wide(type);
	size_t size = rt_dtype_size(wide);
	bool widen = is_wide(&r->c);
	int n = t->hosts * t->each;
	int64_t rail = 0, total = rt_collective_total(&r->c, n);
	for (int h = 0; h < t->hosts; h++)
		rail += rt_collective_block(&r->c, t->member[h * t->each + t->place]).count;
	int64_t own = rt_collective_block(&r->c, t->member[t->host * t->each + t->place]).count;
	int64_t more = rail + (widen ? total + own : 0);
	struct blocks b = blocks_of(r, t, (size_t)more * size);
	char *sums = b.more;
	const char *in = r->c.in;
	if (widen) { /* one block after the other */
		char *to = sums + (size_t)rail * size;
		int64_t at = 0;
		for (int i = 0; i < n; i++) {
			rt_convert(wide, to + (size_t)at * size, type, element(&r->c, in, b.offset[i]),
			           (size_t)b.count[i]);
			b.offset[i] = at;
			at += b.count[i];
		}
		in = to;
	}
	rail = 0;
	for (int h = 0; h < t->hosts; h++) {
		struct rt_collective *c = part_new(r, m->near, t->near_id, 0);
		part_blocks(c, b.count + h * t->each, b.offset + h * t->each);
		c->in = in;
		c->out = sums + (size_t)rail * size;
		b.rail_offset[h] = rail;
		rail += b.rail_count[h];
	}
	struct rt_collective *c = part_new(r, m->far, t->rail_id, 1);
	part_blocks(c, b.rail_count, b.rail_offset);
	c->in = sums;
	if (widen) {
		c->out = r->wide = sums + (size_t)(rail + total) * size;
		r->round_after = 1;
		r->round_to = r->c.out;
		r->round_n = own;
	}
}

static void split_allreduce(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	enum rt_dtype type = r->c.dtype, wide = rt_dtype_wide(type);
	size_t size = rt_dtype_size(wide);
	bool widen = is_wide(&r->c);
	struct rt_block own = rt_even_block(r->c.count, t->each, t->place);
	size_t lists = 2 * (size_t)t->each * sizeof(int64_t);
	int64_t *counts =
	    (int64_t *)stage_memory(r, lists + (widen ? (size_t)(r->c.count + own.count) * size : 0));
	int64_t *offsets = counts + t->each;
	for (int k = 0; k < t->each; k++) {
		struct rt_block x = rt_even_block(r->c.count, t->each, k);
		counts[k] = x.count, offsets[k] = x.offset;
	}
	void *piece = element(&r->c, r->c.out, own.offset), *sum = piece;
	const void *in = r->c.in;
	if (widen) {
		char *all = (char *)(offsets + t->each);
		rt_convert(wide, all, type, in, (size_t)r->c.count);
		in = all;
		sum = r->wide = all + (size_t)r->c.count * size;
		r->round_after = 1;
		r->round_to = piece;
		r->round_n = own.count;
	}
	struct rt_collective *c = part_new(r, m->near, t->near_id, 0);
	c->kind = RT_REDUCE_SCATTER;
	part_blocks(c, counts, offsets);
	c->in = in, c->out = sum;
	c = part_new(r, m->far, t->rail_id, 1);
	c->count = own.count;
	c->in = sum, c->out = sum;
	c = part_new(r, m->near, t->near_id, 2);
	c->kind = RT_ALLGATHER;
	part_blocks(c, counts, offsets);
	c->in = piece;
}

/* The parts before the rounding run in the wide type, a mean as a sum. */
static void widen_parts(struct rt_request *r)
{
	for (int i = 0; i < r->parts; i++)
		if (r->round_after >= 0 && r->part[i].stage <= r->round_after) {
			struct rt_collective *c = &r->part[i].c;
			c->op = c->op == RT_AVG ? RT_SUM : c->op;
			c->dtype = rt_dtype_wide(c->dtype);
		}
}

static void split(struct mixed *m, struct rt_request *r)
{
	const struct mixed_team *t = r->team;
	bool rails = t->hosts > 1 && t->each > 1;
	switch (t->hosts == 1 || !rails ? RT_BARRIER : r->c.kind) {
	case RT_ALLGATHER:
		split_allgather(m, r, t);
		break;
	case RT_REDUCE_SCATTER:
		split_reduce_scatter(m, r, t);
		break;
	case RT_ALLREDUCE:
		split_allreduce(m, r, t);
		break;
	case RT_BROADCAST:
		split_broadcast(m, r, t);
		break;
	default: {
		bool near = t->hosts == 1;
		struct rt_collective *c =
		    part_new(r, near ? m->near : m->far, near ? t->near_id : t->far_id, 0);
		part_blocks(c, r->c.counts, r->c.offsets);
		break;
	}
	}
	widen_parts(r);
}

/* ---- running */

static enum status start_stage(struct mixed *m, struct rt_request *r)
{
	enum status status = STATUS_OK;
	r->stage++;
	for (int i = 0; i < r->parts && status == STATUS_OK; i++) {
		struct part *p = &r->part[i];
		if (p->stage != r->stage)
			continue;
		status = rt_transport_start(p->on, &p->c, &p->request);
		if (status == STATUS_OK && p->request) {
			r->open++;
			m->far_open += p->on == m->far;
			m->sleep_us = FIRST_SLEEP_US;
		}
	}
	return status;
}

static enum status test_parts(struct mixed *m, struct rt_request *r)
{
	for (int i = 0; i < r->parts && r->open; i++) {
		struct part *p = &r->part[i];
		bool done = false;
		if (!p->request)
			continue;
		enum status status = p->on->ops->test(p->on, p->request, &done);
		if (status != STATUS_OK)
			return status;
		if (!done)
			continue;
		p->request = NULL;
		r->open--;
		m->far_open -= p->on == m->far;
		m->sleep_us = FIRST_SLEEP_US;
	}
	return STATUS_OK;
}

static enum status mixed_progress(struct rt_transport *transport, bool *moved)
{
	struct mixed *m = (struct mixed *)transport;
	enum status status = m->near->ops->progress(m->near, moved);
	return status == STATUS_OK ? m->far->ops->progress(m->far, moved) : status;
}

static enum status mixed_test(struct rt_transport *transport, struct rt_request *r, bool *done)
{
	struct mixed *m = (struct mixed *)transport;
	enum status status = STATUS_OK;
	*done = false;
	if (r->team && r->team->first != r)
		return STATUS_OK;
	while (status == STATUS_OK) {
		status = test_parts(m, r);
		if (status != STATUS_OK || r->open)
			return status;
		if (r->stage == r->round_after && r->stage >= 0)
			rt_collective_round(&r->c, m->base.team[r->c.team].n, r->wide, r->round_to,
			                    r->round_n);
		if (r->stage + 1 >= r->stages)
			break;
		bool moved = false; /* what has started must go out: the caller may sleep now */
		status = start_stage(m, r);
		if (status == STATUS_OK)
			status = mixed_progress(transport, &moved);
	}
	if (status != STATUS_OK)
		return status;
	if (r->team) {
		r->team->first = r->next;
		r->team->last = r->next ? r->team->last : NULL;
	}
	request_free(m, r);
	*done = true;
	return STATUS_OK;
}

static enum status mixed_start(struct rt_transport *transport, const struct rt_collective *c,
                               struct rt_request **out)
{
	struct mixed *m = (struct mixed *)transport;
	struct mixed_team *t = &m->team[c->team];
	struct rt_request *r = request_new(m);
	r->c = *c;
	r->team = t;
	split(m, r);
	if (t->last)
		t->last->next = r;
	else
		t->first = r;
	t->last = r;
	rt_transport_count(transport, c);
	*out = r;
	return t->first == r ? start_stage(m, r) : STATUS_OK;
}

static enum status mixed_start_p2p(struct rt_transport *transport, const struct rt_p2p *p,
                                   struct rt_request **out)
{
	struct mixed *m = (struct mixed *)transport;
	bool near = m->host[p->peer] == m->host[transport->job->rank];
	struct rt_transport *on = near ? m->near : m->far;
	struct rt_request *r = request_new(m);
	r->parts = 1;
	r->part[0] = (struct part){.on = on};
	r->stage = 0;
	enum status status = rt_transport_start_p2p(on, p, &r->part[0].request);
	if (status != STATUS_OK) {
		request_free(m, r);
		return status;
	}
	r->open = r->part[0].request != NULL;
	m->far_open += r->open && !near;
	m->sleep_us = FIRST_SLEEP_US;
	if (p->peer != transport->job->rank) {
		struct rt_counter *n = &transport->counter[RT_COUNTER_P2P];
		*(p->send ? &n->bytes_sent : &n->bytes_received) +=
		    p->count * (int64_t)rt_dtype_size(p->dtype);
	}
	*out = r;
	return STATUS_OK;
}

/* ---- teams */

/* Declares a list of ranks on a transport, whether this rank is in it or not. */
static enum status declare(struct rt_transport *on, const int *ranks, int n, bool own, int *id)
{
	int team;
	enum status status = rt_transport_team(on, ranks, n, &team);
	if (own)
		*id = team;
	return status;
}

/* host: of each member, from 0 in the order in which they come. Returns how many. */
static int number_hosts(const struct mixed *m, const int *ranks, int n, int *host)
{
	int hosts = 0;
	for (int i = 0; i < n; i++) {
		int k = 0;
		while (k < i && m->host[ranks[k]] != m->host[ranks[i]])
			k++;
		host[i] = k < i ? host[k] : hosts++;
	}
	return hosts;
}

static enum status mixed_team(struct rt_transport *transport, int id, const int *ranks, int n)
{
	struct mixed *m = (struct mixed *)transport;
	struct mixed_team t = {.near_id = -1, .far_id = -1, .rail_id = -1};
	int *host = mem_alloc((size_t)n * sizeof *host), *list = mem_alloc((size_t)n * sizeof *list);
	enum status status = STATUS_OK;
	t.hosts = number_hosts(m, ranks, n, host);
	int *count = mem_zalloc((size_t)t.hosts * sizeof *count);
	t.member = mem_alloc((size_t)n * sizeof *t.member);
	for (int i = 0; i < n; i++)
		count[host[i]]++;
	t.each = count[0];
	for (int h = 1; h < t.hosts; h++)
		t.each = count[h] == t.each ? t.each : 0;
	for (int h = 0, next = 0; h < t.hosts; h++)
		for (int i = 0, place = 0; i < n; i++) {
			if (host[i] != h)
				continue;
			if (ranks[i] == transport->job->rank)
				t.host = h, t.place = place;
			t.member[next++] = i;
			place++;
		}
	/* Memory that is the host's is asked for by its ranks alone. */
	for (int h = 0, next = 0; h < t.hosts && status == STATUS_OK; next += count[h++]) {
		bool here = m->host[ranks[t.member[next]]] == m->host[transport->job->rank];
		if (t.hosts > 1 && t.each < 2)
			continue;
		for (int k = 0; k < count[h]; k++)
			list[k] = ranks[t.member[next + k]];
		if (here || !transport->job->boot->share_on_host)
			status = declare(m->near, list, count[h], here, &t.near_id);
	}
	if (t.hosts > 1 && status == STATUS_OK)
		status = declare(m->far, ranks, n, true, &t.far_id);
	for (int k = 0; t.hosts > 1 && t.each > 1 && k < t.each && status == STATUS_OK; k++) {
		for (int h = 0; h < t.hosts; h++)
			list[h] = ranks[t.member[h * t.each + k]];
		status = declare(m->far, list, t.hosts, k == t.place, &t.rail_id);
	}
	m->team = mem_realloc(m->team, (size_t)(id + 1) * sizeof *m->team);
	m->team[id] = t;
	free(host);
	free(list);
	free(count);
	return status;
}

/* ---- sleeping, opening, closing */

static uint32_t mixed_read(struct rt_transport *transport)
{
	struct mixed *m = (struct mixed *)transport;
	return m->near->ops->read(m->near);
}

/* The far transport does not ring: while it has work, sleeps are short. */
static void mixed_wait(struct rt_transport *transport, uint32_t seen, int64_t microseconds)
{
	struct mixed *m = (struct mixed *)transport;
	if (m->far_open > 0) {
		if (microseconds < 0 || microseconds > m->sleep_us)
			microseconds = m->sleep_us;
		m->sleep_us = 2 * m->sleep_us < LONGEST_SLEEP_US ? 2 * m->sleep_us : LONGEST_SLEEP_US;
	}
	m->near->ops->wait(m->near, seen, microseconds);
}

static void mixed_wake(struct rt_transport *transport)
{
	struct mixed *m = (struct mixed *)transport;
	m->near->ops->wake(m->near);
}

static void requests_free(struct rt_request *r)
{
	for (struct rt_request *next; r; r = next) {
		next = r->next;
		free(r->staged);
		free(r);
	}
}

static void mixed_close(struct rt_transport *transport)
{
	struct mixed *m = (struct mixed *)transport;
	rt_transport_close(m->near);
	rt_transport_close(m->far);
	for (int i = 0; i < transport->teams; i++)
		free(m->team[i].member); /* what a failed job left under way may still be written to */
	requests_free(m->unused);
	free(m->team);
	free(m);
}

static const struct rt_transport_ops mixed_ops = {
    .name = "mixed",
    .team = mixed_team,
    .start = mixed_start,
    .start_p2p = mixed_start_p2p,
    .progress = mixed_progress,
    .test = mixed_test,
    .read = mixed_read,
    .wait = mixed_wait,
    .wake = mixed_wake,
    .close = mixed_close,
};

static bool always(const struct rt_job *job)
{
	(void)job;
	return true;
}

enum status rt_mixed_open(struct rt_job *job, const int *host, struct rt_transport *far,
                          struct rt_transport **out)
{
	struct mixed *m = mem_zalloc(sizeof *m);
	m->base.ops = &mixed_ops;
	m->base.job = job;
	m->host = host;
	m->far = far;
	m->sleep_us = FIRST_SLEEP_US;
	for (int r = 0; r < job->size; r++)
		m->most_hosts = host[r] >= m->most_hosts ? host[r] + 1 : m->most_hosts;
	m->near_boot = *job->boot;
	m->near_boot.shares = always;
	if (job->boot->share_on_host)
		m->near_boot.share = job->boot->share_on_host;
	m->near_job = *job;
	m->near_job.boot = &m->near_boot;
	enum status status = rt_shm_open(&m->near_job, &m->near);
	if (status != STATUS_OK) {
		rt_transport_close(far);
		free(m);
		return status;
	}
	*out = &m->base;
	return STATUS_OK;
}
