/* transport_mixed: shared memory between the ranks of a host, another transport between hosts.
 *
 *     host 0: ranks 0 1 2     host 1: ranks 3 4 5        rails: (0 3) (1 4) (2 5)
 *
 * A team on one host uses the near transport; a team with one rank on each of its hosts uses the far
 * one. If a team has the same number of ranks on each of its hosts, ranks at the same place on their
 * hosts form a rail. A block then goes from host to host once, on all rails at the same time:
 *
 *     Allgather       rails gather; then, for each host, its ranks' blocks are gathered nearby
 *     ReduceScatter   for each host, the blocks of its ranks are reduced nearby; then along the rails
 *     Allreduce       reduced and scattered nearby, all-reduced along the rails, gathered nearby
 *     Broadcast       along the root's rail, then nearby
 *
 * Everything else uses the far transport. Reductions run in the wide type, so that each result is
 * rounded once. The parts of a collective run in stages. The collectives of a team run one at a time in
 * the order of their starts, so that all ranks start the parts in the same order. */
#include "rt/transport_mixed.h"
#include "base/arena.h"
#include "rt/mixed.h"
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SLEEP_US = 5, /* first sleep while the far transport, which cannot ring, has work */
	LONGEST_SLEEP_US = 200,
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
		bool moved = false; /* sends the messages just started, since the caller may sleep now */
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
	mixed_split(m, r);
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
		*(p->send ? &n->bytes_sent : &n->bytes_received) += p->count * (int64_t)dtype_bytes(p->dtype);
	}
	*out = r;
	return STATUS_OK;
}

/* ---- teams */

/* Declares a list of ranks on a transport, even if this rank is not in it. */
static enum status declare_team(struct rt_transport *on, const int *ranks, int n, bool own, int *id)
{
	int team;
	enum status status = rt_transport_team(on, ranks, n, &team);
	if (own)
		*id = team;
	return status;
}

/* Numbers the hosts from 0 in the order of the members. host: by member. Returns the number of hosts. */
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
	/* memory of a host is allocated by the ranks of that host only */
	for (int h = 0, next = 0; h < t.hosts && status == STATUS_OK; next += count[h++]) {
		bool here = m->host[ranks[t.member[next]]] == m->host[transport->job->rank];
		if (t.hosts > 1 && t.each < 2)
			continue;
		for (int k = 0; k < count[h]; k++)
			list[k] = ranks[t.member[next + k]];
		if (here || !transport->job->boot->share_on_host)
			status = declare_team(m->near, list, count[h], here, &t.near_id);
	}
	if (t.hosts > 1 && status == STATUS_OK)
		status = declare_team(m->far, ranks, n, true, &t.far_id);
	for (int k = 0; t.hosts > 1 && t.each > 1 && k < t.each && status == STATUS_OK; k++) {
		for (int h = 0; h < t.hosts; h++)
			list[h] = ranks[t.member[h * t.each + k]];
		status = declare_team(m->far, list, t.hosts, k == t.place, &t.rail_id);
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

/* Sleeps briefly while the far transport has work, since it does not ring. */
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

static int mixed_unreceived(struct rt_transport *transport, uint32_t *messages)
{
	struct mixed *m = (struct mixed *)transport;
	return m->near->ops->unreceived(m->near,
	                                messages); /* sends on the far transport wait for their receives */
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
		free(m->team[i].member); /* requests that a failed job left in flight may still write to it */
	requests_free(m->unused);
	free(m->team);
	free(m);
}

static const struct rt_transport_ops mixed_ops = {
    .kind = TRANSPORT_MIXED,
    .team = mixed_team,
    .start = mixed_start,
    .start_p2p = mixed_start_p2p,
    .progress = mixed_progress,
    .test = mixed_test,
    .unreceived = mixed_unreceived,
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
