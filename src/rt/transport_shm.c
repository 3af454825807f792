/* transport_shm: the transport of ranks that see each other's memory; see shm.h. */
#include "base/arena.h"
#include "rt/cores.h"
#include "rt/shm.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOKS = 8,    /* about 0.3 µs */
	SPINS = 40,   /* about 2 µs */
	YIELDS = 100, /* looks after which the rank sleeps while others have work */
};

static struct shm_bell *bell_of(struct shm *s, int rank)
{
	return (struct shm_bell *)s->region.at + rank;
}

/* Wakes the marked ranks. Either this rank sees that they sleep, or they have seen the write. */
void shm_ring_bells(struct shm *s)
{
	if (!s->any_news)
		return;
	s->any_news = false;
	rt_bell_fence();
	for (int r = 0; r < s->base.job->size; r++)
		if (s->news[r]) {
			s->news[r] = false;
			rt_bell_nudge(&bell_of(s, r)->bell);
		}
}

/* ---- requests */

static void request_add(struct shm *s, struct rt_request *r)
{
	r->prev = s->requests.prev;
	r->next = &s->requests;
	s->requests.prev->next = r;
	s->requests.prev = r;
}

static bool is_message(const struct rt_request *r)
{
	return r->c.kind == COLLECTIVE_COUNT;
}

static void request_drop(struct shm *s, struct rt_request *r)
{
	r->next->prev = r->prev;
	r->prev->next = r->next;
	if (is_message(r)) {
		r->next = s->unused;
		s->unused = r;
	} else {
		shm_request_free(r);
	}
}

static struct rt_request *message_new(struct shm *s)
{
	size_t bytes = sizeof(struct rt_request) + sizeof(struct shm_transfer);
	struct rt_request *r = s->unused;
	if (r)
		s->unused = r->next;
	else
		r = mem_alloc(bytes);
	memset(r, 0, bytes);
	r->c.kind = COLLECTIVE_COUNT;
	r->transfer = (struct shm_transfer *)(r + 1);
	return r;
}

static enum status shm_progress(struct rt_transport *t, bool *moved)
{
	struct shm *s = (struct shm *)t;
	enum status status = shm_rings_drain(s, moved);
	if (status == STATUS_OK && s->owed > 0)
		status = shm_small_settle(s);
	for (struct rt_request *r = s->requests.next, *next; r != &s->requests && status == STATUS_OK;
	     r = next) {
		next = r->next;
		if (is_message(r))
			continue;
		status = shm_collective_advance(s, r, moved);
		if (r->ended && r->uncompared == 0)
			request_drop(s, r);
	}
	shm_rings_fill(s, moved);
	shm_ring_bells(s);
	return status;
}

static enum status shm_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	struct shm *s = (struct shm *)t;
	struct rt_request *r;
	enum status status = shm_collective_start(s, c, &r);
	if (r)
		request_add(s, r);
	shm_ring_bells(s);
	if (status == STATUS_OK)
		*out = r;
	return status;
}

static enum status shm_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	struct shm *s = (struct shm *)t;
	struct shm_transfer x = {
	    .peer = p->peer,
	    .key = {.channel = p->channel, .sequence = p->sequence},
	    .sign = {.kind = SHM_P2P, .dtype = (uint8_t)p->dtype, .count = p->count, .label = p->at.label},
	    .data = p->data,
	    .bytes = p->count * (int64_t)dtype_bytes(p->dtype),
	};
	bool done = false;
	enum status status = STATUS_OK;
	*out = NULL;
	if (p->send)
		done = shm_send_at_once(s, &x);
	else
		status = shm_receive_at_once(s, &x, &done);
	if (status == STATUS_OK && !done) {
		struct rt_request *r = message_new(s);
		x.pending = p->send ? &r->sending : &r->receiving;
		*r->transfer = x;
		++*x.pending;
		request_add(s, r);
		if (p->send)
			shm_send(s, r->transfer);
		else
			status = shm_receive(s, r->transfer);
		if (status == STATUS_OK)
			*out = r;
	}
	shm_ring_bells(s);
	return status;
}

static int unreceived(struct rt_transport *t, uint32_t *messages)
{
	return shm_unreceived((struct shm *)t, messages);
}

static enum status shm_test(struct rt_transport *t, struct rt_request *r, bool *done)
{
	struct shm *s = (struct shm *)t;
	*done = is_message(r) ? r->sending + r->receiving == 0 : shm_collective_done(r);
	if (!*done)
		return STATUS_OK;
	if (is_message(r) || r->uncompared == 0)
		request_drop(s, r);
	else
		r->ended = true;
	return STATUS_OK;
}

static enum status shm_team(struct rt_transport *t, int id, const int *ranks, int n)
{
	(void)ranks, (void)n;
	return shm_team_open((struct shm *)t, id);
}

/* ---- waiting */

static uint32_t shm_read(struct rt_transport *t)
{
	return rt_bell_read(&bell_of((struct shm *)t, t->job->rank)->bell);
}

static bool has_work(struct shm *s, uint32_t seen)
{
	if (rt_bell_read(&bell_of(s, s->base.job->rank)->bell) != seen || shm_rings_ready(s) ||
	    shm_small_ready(s))
		return true;
	for (struct rt_request *r = s->requests.next; r != &s->requests; r = r->next)
		if (!is_message(r) && shm_collective_ready(r))
			return true;
	return false;
}

/* Other ranks only nudge, after a fence; announcing is a fence as well. */
static void shm_wait(struct rt_transport *t, uint32_t seen, int64_t microseconds)
{
	struct shm *s = (struct shm *)t;
	struct rt_bell *b = &bell_of(s, t->job->rank)->bell;
	if (microseconds == 0)
		return;
	for (int i = 0; i < s->spins; i++) {
		if (has_work(s, seen))
			return;
		rt_pause();
	}
	for (int i = 0; i < YIELDS; i++) {
		sched_yield();
		if (has_work(s, seen))
			return;
	}
	rt_bell_announce(b);
	if (has_work(s, seen))
		rt_bell_withdraw(b);
	else
		rt_bell_sleep(b, seen, microseconds);
}

static void shm_wake(struct rt_transport *t)
{
	rt_bell_ring(&bell_of((struct shm *)t, t->job->rank)->bell);
}

/* ---- opening, closing */

static void shm_close(struct rt_transport *t)
{
	struct shm *s = (struct shm *)t;
	rt_bell_fence(); /* if two ranks owe each other a comparison, the second one finds it */
	if (rt_job_status(t->job) == STATUS_OK)
		shm_small_settle(s);
	while (s->requests.next != &s->requests)
		request_drop(s, s->requests.next);
	for (struct rt_request *r = s->unused, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	shm_rings_close(s);
	shm_teams_close(s);
	t->job->boot->unshare(t->job, &s->region);
	free(s->news);
	free(s);
}

static const struct rt_transport_ops shm_ops = {
    .kind = TRANSPORT_SHM,
    .team = shm_team,
    .start = shm_start,
    .start_p2p = shm_start_p2p,
    .progress = shm_progress,
    .test = shm_test,
    .unreceived = unreceived,
    .read = shm_read,
    .wait = shm_wait,
    .wake = shm_wake,
    .close = shm_close,
};

enum status rt_shm_open(struct rt_job *job, struct rt_transport **out)
{
	size_t ranks = (size_t)job->size, bells = ranks * sizeof(struct shm_bell),
	       rings = shm_rings_bytes(job->size);
	if (job->size > RT_SHM_MAX_RANKS) {
		rt_job_error(job, "transport shm takes up to %d ranks, the job has %d", RT_SHM_MAX_RANKS,
		             job->size);
		return rt_job_fail(job, STATUS_ABSENT);
	}
	struct shm *s = mem_zalloc(sizeof *s);
	s->base.ops = &shm_ops;
	s->base.job = job;
	enum status status =
	    job->boot->share(job, "the transport", bells + rings + ranks * sizeof(cpu_set_t), &s->region);
	if (status != STATUS_OK) {
		free(s);
		return status;
	}
	cpu_set_t *bound = (cpu_set_t *)((char *)s->region.at + bells + rings);
	rt_cores_bound(&bound[job->rank]);
	status = rt_job_barrier(job, "the transport");
	if (status != STATUS_OK) {
		job->boot->unshare(job, &s->region);
		free(s);
		return status;
	}
	/* otherwise another rank may need this processor */
	bool alone = rt_cores_suffice(bound, job->size, job->rank);
	s->looks = alone ? LOOKS : 1;
	s->spins = alone ? SPINS : 0;
	shm_rings_open(s, (char *)s->region.at + bells);
	s->news = mem_zalloc((size_t)job->size * sizeof *s->news);
	s->requests.next = s->requests.prev = &s->requests;
	*out = &s->base;
	return STATUS_OK;
}
