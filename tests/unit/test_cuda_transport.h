/* test_cuda_transport: the suites of test_rt_transport.h on transports between GPUs.
 *
 * A wrapper transport calls the tested one: it copies host buffers to the GPU, runs the collective there, and
 * copies the result back. A buffer that a member does not need is NULL, and no more memory is allocated than
 * the collective may touch. */
#ifndef HIRC_TESTS_TEST_CUDA_TRANSPORT_H
#define HIRC_TESTS_TEST_CUDA_TRANSPORT_H
#include "cuda/ipc.h"
#include "cuda/nccl.h"
#include "cuda/open.h"
#include "test_rt_transport.h"

struct staged {
	struct rt_transport base;
	struct rt_transport *inner;
	struct rt_device *device;
	struct ticket *first; /* not done; owned */
};

/* A buffer in host memory and in GPU memory. */
struct stage {
	char *host, *device;
	size_t bytes;
};

/* The request of the wrapper transport. */
struct ticket {
	struct ticket *next, **link; /* in the list of tickets that are not done */
	struct rt_request *inner;
	struct stage all[2]; /* allocations; only one if in and out overlap */
	struct stage out;    /* the buffer that is copied back */
};

static struct staged *staged_of(struct rt_transport *t)
{
	return (struct staged *)t;
}

static struct stage stage_of(const void *host, int64_t elements, enum dtype t)
{
	return (struct stage){.host = (char *)host, .bytes = (size_t)elements * dtype_bytes(t)};
}

static int64_t end_of_blocks(const struct rt_collective *c, int n, bool sent)
{
	int64_t end = 0;
	for (int k = 0; k < n; k++) {
		struct rt_block b = sent ? rt_collective_send_block(c, k) : rt_collective_block(c, k);
		end = b.offset + b.count > end ? b.offset + b.count : end;
	}
	return end;
}

/* Finds the memory that a member reads and writes. */
static void touched(const struct rt_team *team, const struct rt_collective *c, struct stage *in,
                    struct stage *out)
{
	bool root = team->index == c->root;
	int64_t own = collective_has_blocks(c->kind) ? rt_collective_block(c, team->index).count : 0,
	        all = collective_has_blocks(c->kind) ? end_of_blocks(c, team->n, false) : 0, takes = 0,
	        gives = 0;
	switch (c->kind) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_GATHER:
		gives = own;
		takes = c->kind == COLLECTIVE_ALLGATHER || root ? all : 0;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_SCATTER:
		gives = c->kind == COLLECTIVE_REDUCE_SCATTER || root ? all : 0;
		takes = own;
		break;
	case COLLECTIVE_ALLREDUCE:
		gives = takes = c->count;
		break;
	case COLLECTIVE_REDUCE:
		gives = c->in ? c->count : 0;
		takes = root ? c->count : 0;
		break;
	case COLLECTIVE_BROADCAST:
		gives = root ? c->count : 0;
		takes = c->count;
		break;
	case COLLECTIVE_SEND_RECV:
		gives = root ? c->count : 0;
		takes = !root || team->n == 1 ? c->count : 0;
		break;
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		gives = end_of_blocks(c, team->n, true);
		takes = all;
		break;
	default:
		break;
	}
	*in = stage_of(gives ? c->in : NULL, gives, c->dtype);
	*out = stage_of(takes ? c->out : NULL, takes, c->dtype);
}

static void stage_up(struct rt_device *d, struct stage *s)
{
	void *at = NULL;
	if (!s->bytes)
		return;
	rt_device_alloc(d, s->bytes, "a test's buffer", &at);
	d->ops->async->upload(d, at, s->host, s->bytes);
	s->device = at;
}

/* Allocates both on the GPU, with the same distance if they overlap. */
static void both_up(struct rt_device *d, struct ticket *k, struct stage *in, struct stage *out)
{
	bool overlap =
	    in->bytes && out->bytes && in->host < out->host + out->bytes && out->host < in->host + in->bytes;
	k->all[0] = *in;
	k->all[1] = *out;
	if (overlap) {
		char *from = in->host < out->host ? in->host : out->host, *a = in->host + in->bytes,
		     *b = out->host + out->bytes;
		k->all[0] = (struct stage){.host = from, .bytes = (size_t)((a > b ? a : b) - from)};
		k->all[1] = (struct stage){0};
	}
	stage_up(d, &k->all[0]);
	stage_up(d, &k->all[1]);
	struct stage *other = overlap ? &k->all[0] : &k->all[1];
	if (in->bytes)
		in->device = k->all[0].device + (in->host - k->all[0].host);
	if (out->bytes)
		out->device = other->device + (out->host - other->host);
	k->out = *out;
}

static struct ticket *ticket_new(struct staged *s)
{
	struct ticket *k = calloc(1, sizeof *k);
	k->next = s->first;
	k->link = &s->first;
	if (k->next)
		k->next->link = &k->next;
	return s->first = k;
}

static void ticket_free(struct staged *s, struct ticket *k)
{
	rt_device_free(s->device, k->all[0].device);
	rt_device_free(s->device, k->all[1].device);
	*k->link = k->next;
	if (k->next)
		k->next->link = k->link;
	free(k);
}

static enum status staged_started(struct staged *s, struct ticket *k, enum status status,
                                  struct rt_request **out)
{
	memcpy(s->base.counter, s->inner->counter, sizeof s->base.counter);
	s->base.copies = s->inner->copies;
	*out = (struct rt_request *)k;
	return status;
}

static enum status staged_start(struct rt_transport *t, const struct rt_collective *c,
                                struct rt_request **out)
{
	struct staged *s = staged_of(t);
	struct ticket *k = ticket_new(s);
	struct stage in, to;
	touched(&t->team[c->team], c, &in, &to);
	both_up(s->device, k, &in, &to);
	struct rt_collective x = *c;
	x.in = in.device;
	x.out = to.device;
	return staged_started(s, k, rt_transport_start(s->inner, &x, &k->inner), out);
}

static enum status staged_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	struct staged *s = staged_of(t);
	struct ticket *k = ticket_new(s);
	struct stage data = stage_of(p->data, p->count, p->dtype), none = {0};
	both_up(s->device, k, p->send ? &data : &none, p->send ? &none : &data);
	struct rt_p2p x = *p;
	x.data = data.device;
	return staged_started(s, k, rt_transport_start_p2p(s->inner, &x, &k->inner), out);
}

static enum status staged_test(struct rt_transport *t, struct rt_request *r, bool *done)
{
	struct staged *s = staged_of(t);
	struct ticket *k = (struct ticket *)r;
	enum status status = s->inner->ops->test(s->inner, k->inner, done);
	if (status != STATUS_OK || !*done)
		return status;
	if (k->out.bytes)
		status = s->device->ops->async->download(s->device, k->out.host, k->out.device, k->out.bytes);
	ticket_free(s, k);
	return status;
}

/* Exists so that collectives of one member reach the transport. */
static enum status staged_issued(struct rt_transport *t, struct rt_request *r, void **event)
{
	(void)t, (void)r, (void)event;
	abort();
}

static enum status staged_team(struct rt_transport *t, int id, const int *ranks, int n)
{
	int same;
	(void)id;
	return rt_transport_team(staged_of(t)->inner, ranks, n, &same);
}

static enum status staged_progress(struct rt_transport *t, bool *moved)
{
	return staged_of(t)->inner->ops->progress(staged_of(t)->inner, moved);
}

static uint32_t staged_read(struct rt_transport *t)
{
	return staged_of(t)->inner->ops->read(staged_of(t)->inner);
}

static void staged_wait(struct rt_transport *t, uint32_t seen, int64_t microseconds)
{
	staged_of(t)->inner->ops->wait(staged_of(t)->inner, seen, microseconds);
}

static void staged_close(struct rt_transport *t)
{
	struct staged *s = staged_of(t);
	rt_transport_close(s->inner);
	while (s->first) /* left by a job that failed */
		ticket_free(s, s->first);
	rt_device_close(s->device);
	free(s);
}

static const struct rt_transport_ops staged_ops = {
    .team = staged_team,
    .start = staged_start,
    .start_p2p = staged_start_p2p,
    .progress = staged_progress,
    .test = staged_test,
    .issued = staged_issued,
    .read = staged_read,
    .wait = staged_wait,
    .close = staged_close,
};

/* Declares messages of each rank to the right and to itself, on a number of channels. */
static enum status open_pairs(struct rt_transport *t, int channels)
{
	struct cuda_pair pair[64];
	int n = 0, rank = t->job->rank, size = t->job->size;
	for (int c = channels - 1; c >= 0; c--) {
		pair[n++] = (struct cuda_pair){rank, (rank + 1) % size, (uint32_t)c};
		pair[n++] = (struct cuda_pair){(rank + size - 1) % size, rank, (uint32_t)c};
	}
	return cuda_nccl_pairs(t, pair, n);
}

static struct cuda_p2p staged_p2p; /* settings for cuda-ipc */
static int teams_before;           /* number of teams of ranks 0 and 1 that are made before any other */

static enum status open_teams(struct rt_transport *t)
{
	static const int pair[] = {0, 1};
	enum status status = STATUS_OK;
	for (int k = 0, id; k < teams_before && status == STATUS_OK; k++)
		status = rt_transport_team(t, pair, 2, &id);
	return status;
}

/* name: a transport, or "exact": nccl with exact reductions. */
static enum status staged_open(struct rt_job *job, const char *name, struct rt_transport **out)
{
	bool exact = strcmp(name, "exact") == 0;
	struct staged *s = calloc(1, sizeof *s);
	s->base.ops = &staged_ops;
	s->base.job = job;
	enum status status = cuda_open(job, &s->device);
	if (status == STATUS_OK)
		status = cuda_transport_open(job, exact ? TRANSPORT_NCCL : transport_kind_find(name), exact,
		                             false, s->device, &s->inner);
	if (status == STATUS_OK)
		status = cuda_ipc_p2p(s->inner, &staged_p2p);
	if (status == STATUS_OK)
		status = open_pairs(s->inner, ROOM_USES);
	if (status == STATUS_OK)
		status = open_teams(&s->base);
	*out = &s->base;
	return status;
}

/* Runs all suites. arg: name of the transport. */
static int cuda_transport_main(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	if (staged_open(job, arg, &t) != STATUS_OK)
		return rt_job_status(job);
	char *memory = calloc(1, ROOM_BYTES);
	int wrong = all_suites(t, memory);
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	free(memory);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- what goes wrong, and what does not */

/* Rank 0 sends 4 elements, rank 1 receives 5. arg: name of the transport, also in the functions below. */
static inline int uneven_message(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	struct rt_request *r;
	float x[8] = {0};
	if (staged_open(job, arg, &t) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_p2p p = {.send = job->rank == 0,
	                   .peer = 1 - job->rank,
	                   .dtype = DTYPE_F32,
	                   .count = 4 + job->rank,
	                   .data = x};
	if (rt_transport_start_p2p(t, &p, &r) == STATUS_OK)
		finish(t, r);
	rt_transport_close(t);
	return rt_job_status(job);
}

/* A message with different sizes at its ends is an error that names both. */
static inline void uneven_suite(enum rt_boot_kind kind, char *transport)
{
	struct captured c;
	launch_captured(kind, 2, 5000, uneven_message, transport, &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "send of 4 f32"));
	CHECK(has(c.text, "recv of 5 f32"));
}

/* Message 0 waits for the answer to message 1: messages start in another order than that of their numbers. */
static inline int crossed(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	struct rt_request *r[3];
	float x[3] = {1, 2, 3};
	int wrong = 0, first = job->rank == 0;
	if (staged_open(job, arg, &t) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_p2p p = {.send = first, .peer = 1 - job->rank, .dtype = DTYPE_F32, .count = 1};
	for (int k = 0; k < 3; k++) { /* in turn: message 1, the answer, message 0 */
		p.send = k == 1 ? !first : first;
		p.sequence = k == 0;
		p.data = &x[k];
		if (!first)
			x[k] = k == 1 ? 20 : 0;
		wrong |= rt_transport_start_p2p(t, &p, &r[k]) != STATUS_OK || finish(t, r[k]);
	}
	wrong |= first ? x[1] != 20 : x[0] != 1 || x[2] != 3;
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* The last rank fails after all others have posted. */
static inline int one_fails(struct rt_job *job, void *arg)
{
	static const int all[] = {0, 1, 2};
	struct rt_transport *t;
	struct rt_request *r[2];
	float x[4] = {0};
	int team, last = job->rank == 2;
	if (staged_open(job, arg, &t) != STATUS_OK || rt_transport_team(t, all, 3, &team) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_collective c = {
	    .kind = COLLECTIVE_BROADCAST, .dtype = DTYPE_F32, .team = team, .in = x, .out = x, .count = 4};
	struct rt_p2p p = {.send = true, .peer = 2, .dtype = DTYPE_F32, .count = 4, .data = x};
	if (!last && (rt_transport_start(t, &c, &r[0]) != STATUS_OK ||
	              rt_transport_start_p2p(t, &p, &r[1]) != STATUS_OK))
		return STATUS_INTERNAL;
	rt_job_barrier(job, "the others");
	if (last)
		rt_job_fail(job, STATUS_WRONG);
	else
		finish(t, r[0]);
	rt_transport_close(t);
	return rt_job_status(job);
}

/* A name and a transport. */
struct named {
	const char *name, *transport;
};

static inline int named(struct rt_job *job, void *arg)
{
	const struct named *want = arg;
	struct rt_device *d;
	struct rt_transport *t;
	enum status status = cuda_open(job, &d);
	if (status != STATUS_OK)
		return status;
	status = cuda_transport_open(job, transport_kind_find(want->name), false, false, d, &t);
	if (status == STATUS_OK) {
		status = t->ops->kind == transport_kind_find(want->transport) ? STATUS_OK : STATUS_WRONG;
		rt_transport_close(t);
	}
	rt_device_close(d);
	return status;
}

/* ---- without a host that waits: streams and events alone */

enum { CHAIN_RANKS = 4, CHAIN_STEPS = 8, CHAIN_ELEMENTS = 5000, CHAIN_SLOW = 1 << 21 };

struct chain {
	struct rt_device *device;
	struct rt_transport *t;
	const struct rt_async_ops *async;
	void *stream;
	float *early; /* on the device: data of messages that are ready before others */
	bool ok;
};

/* Returns an event after all work given to the stream so far. */
static void *chain_event(struct chain *h)
{
	void *event = NULL;
	h->ok &=
	    h->async->record(h->device, h->stream, (struct rt_origin){.iteration = -1}, &event) == STATUS_OK;
	return event;
}

/* Makes the stream wait for the requests, which are issued when all ranks have started them. */
static void chain_await(struct chain *h, struct rt_request **r, int n)
{
	for (int k = 0; k < n && h->ok; k++) {
		void *event = NULL;
		while (h->ok && !event) {
			bool moved = false;
			uint32_t seen = h->t->ops->read(h->t);
			h->ok = h->t->ops->progress(h->t, &moved) == STATUS_OK &&
			        h->t->ops->issued(h->t, r[k], &event) == STATUS_OK &&
			        rt_job_status(h->t->job) == STATUS_OK;
			if (!event && !moved)
				h->t->ops->wait(h->t, seen, 20000);
		}
		if (!event)
			return;
		h->ok &= h->async->await(h->device, h->stream, event, (struct rt_origin){.iteration = -1}) ==
		         STATUS_OK;
		h->async->release(h->device, event);
	}
}

static void chain_finish(struct chain *h)
{
	for (bool idle = false; h->ok && !idle;) {
		h->ok = h->async->is_idle(h->device, &idle) == STATUS_OK;
		if (!idle)
			usleep(50);
	}
}

/* x = x op y; without y: x = x op scalar. */
static void chain_compute(struct chain *h, enum pointwise op, void *x, void *y, double scalar, int64_t n)
{
	char why[RT_WHY_BYTES] = "";
	struct rt_task task = {
	    .kernel = RT_TASK_POINTWISE,
	    .op = op,
	    .out = rt_view_dense(x, DTYPE_F32, 1, &n),
	    .in = {rt_view_dense(x, DTYPE_F32, 1, &n), rt_view_dense(y ? y : x, DTYPE_F32, 1, &n)},
	    .scalar[1] = {.f = scalar, .i = (int64_t)scalar},
	    .scalars = y ? 0 : 1u << 1};
	h->ok &= h->async->launch(h->device, h->stream, &task, (struct rt_origin){.iteration = -1}, why,
	                          NULL) == STATUS_OK;
}

/* Delays the stream of one rank. */
static void chain_slow(struct chain *h, int rank, void *slow)
{
	if (h->t->job->rank == rank)
		chain_compute(h, POINTWISE_MUL, slow, NULL, 1, CHAIN_SLOW);
}

static void chain_allreduce(struct chain *h, int team, void *x)
{
	void *after = chain_event(h);
	struct rt_collective c = {.kind = COLLECTIVE_ALLREDUCE,
	                          .dtype = DTYPE_F32,
	                          .team = team,
	                          .in = x,
	                          .out = x,
	                          .count = CHAIN_ELEMENTS,
	                          .after = after};
	struct rt_request *r;
	h->ok &= rt_transport_start(h->t, &c, &r) == STATUS_OK;
	h->async->release(h->device, after);
	chain_await(h, &r, 1);
}

/* Sends x to the right and receives z from the left: message 1 of each step. Message 0 is started after it,
 * and may run before x is ready; `before`: an event from that time. */
static void chain_messages(struct chain *h, void *x, void *z, void *before, uint64_t step)
{
	int rank = h->t->job->rank, size = h->t->job->size;
	struct rt_request *r[4];
	void *after = chain_event(h);
	if (h->t->ops->group_begin)
		h->t->ops->group_begin(h->t);
	for (int k = 0; k < 4; k++) {
		bool late = k < 2, send = k % 2 == 0;
		struct rt_p2p p = {.send = send,
		                   .peer = (rank + (send ? 1 : size - 1)) % size,
		                   .sequence = 2 * step + late,
		                   .dtype = DTYPE_F32,
		                   .count = late ? CHAIN_ELEMENTS : 1,
		                   .data = !late  ? h->early + !send
		                           : send ? x
		                                  : z,
		                   .after = late ? after : before};
		h->ok &= rt_transport_start_p2p(h->t, &p, &r[k]) == STATUS_OK;
	}
	if (h->t->ops->group_end)
		h->ok &= h->t->ops->group_end(h->t, (struct rt_origin){.iteration = -1}) == STATUS_OK;
	h->async->release(h->device, after);
	h->async->release(h->device, before);
	chain_await(h, r, 4);
}

/* Each step takes the mean of all, adds the rank, and adds the value of the left neighbour. */
static double chain_expected(int rank)
{
	double v[CHAIN_RANKS];
	for (int r = 0; r < CHAIN_RANKS; r++)
		v[r] = r;
	for (int k = 0; k < CHAIN_STEPS; k++) {
		double sum = 0, next[CHAIN_RANKS];
		for (int r = 0; r < CHAIN_RANKS; r++)
			sum += v[r];
		for (int r = 0; r < CHAIN_RANKS; r++)
			next[r] = 2 * sum / CHAIN_RANKS + r + (r + CHAIN_RANKS - 1) % CHAIN_RANKS;
		memcpy(v, next, sizeof v);
	}
	return v[rank];
}

/* arg: name of the transport. */
static int chain_main(struct rt_job *job, void *arg)
{
	static const int all[CHAIN_RANKS] = {0, 1, 2, 3};
	struct chain h = {.ok = true};
	int team, wrong = 0;
	void *x, *z, *slow, *early;
	float *host = calloc(CHAIN_ELEMENTS, sizeof *host);
	for (int i = 0; i < CHAIN_ELEMENTS; i++)
		host[i] = (float)job->rank;
	if (cuda_open(job, &h.device) != STATUS_OK ||
	    cuda_transport_open(job, transport_kind_find(arg), false, false, h.device, &h.t) != STATUS_OK ||
	    open_pairs(h.t, 1) != STATUS_OK || open_teams(h.t) != STATUS_OK ||
	    rt_transport_team(h.t, all, CHAIN_RANKS, &team) != STATUS_OK)
		return rt_job_status(job);
	h.async = h.device->ops->async;
	h.async->stream_new(h.device, &h.stream);
	rt_device_alloc(h.device, CHAIN_ELEMENTS * sizeof(float), "x", &x);
	rt_device_alloc(h.device, CHAIN_ELEMENTS * sizeof(float), "z", &z);
	rt_device_alloc(h.device, CHAIN_SLOW * sizeof(float), "what takes time", &slow);
	rt_device_alloc(h.device, 2 * sizeof(float), "what is early", &early);
	h.early = early;
	h.async->upload(h.device, x, host, CHAIN_ELEMENTS * sizeof(float));
	for (int k = 0; k < CHAIN_STEPS && h.ok; k++) {
		chain_slow(&h, k % CHAIN_RANKS, slow);
		chain_allreduce(&h, team, x);
		chain_compute(&h, POINTWISE_MUL, x, NULL, 1.0 / CHAIN_RANKS, CHAIN_ELEMENTS);
		void *before = chain_event(&h);
		chain_slow(&h, (k + 2) % CHAIN_RANKS, slow);
		chain_compute(&h, POINTWISE_ADD, x, NULL, job->rank, CHAIN_ELEMENTS);
		chain_messages(&h, x, z, before, (uint64_t)k);
		chain_compute(&h, POINTWISE_ADD, x, z, 0, CHAIN_ELEMENTS);
	}
	chain_finish(&h);
	h.async->download(h.device, host, x, CHAIN_ELEMENTS * sizeof(float));
	for (int i = 0; i < CHAIN_ELEMENTS; i++)
		wrong += host[i] != (float)chain_expected(job->rank);
	if (wrong)
		printf("rank %d: got %g, want %g, in %d of %d elements\n", job->rank, host[0],
		       chain_expected(job->rank), wrong, CHAIN_ELEMENTS);
	rt_job_barrier(job, "the end");
	rt_device_free(h.device, x);
	rt_device_free(h.device, z);
	rt_device_free(h.device, slow);
	rt_device_free(h.device, early);
	rt_transport_close(h.t);
	rt_device_close(h.device);
	free(host);
	return !h.ok ? STATUS_INTERNAL : wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- the same with collectives of all kinds: what is read is ready late, and written again early */

enum { KINDS_RANKS = 3, KINDS_ELEMENTS = 3000 /* KINDS_ELEMENTS: of a block */ };

/* Finds the number of elements of a member's in and out. */
static void kinds_elements(const struct rt_collective *c, int index, int64_t *in, int64_t *out)
{
	bool root = index == c->root, rooted = collective_is_rooted(c->kind);
	bool split = c->kind == COLLECTIVE_REDUCE_SCATTER || c->kind == COLLECTIVE_SCATTER ||
	             collective_exchanges(c->kind);
	bool whole =
	    c->kind == COLLECTIVE_ALLGATHER || c->kind == COLLECTIVE_GATHER || collective_exchanges(c->kind);
	bool to_root = c->kind == COLLECTIVE_REDUCE || c->kind == COLLECTIVE_GATHER;
	*in = rooted && !to_root && !root ? 0 : KINDS_ELEMENTS * (split ? KINDS_RANKS : 1);
	*out = rooted && to_root && !root ? 0 : KINDS_ELEMENTS * (whole ? KINDS_RANKS : 1);
}

/* Returns element i of out if element i of in on rank r is r + i / KINDS_ELEMENTS * 10. */
static double kinds_expected(const struct rt_collective *c, int index, int64_t i)
{
	int block = (int)(i / KINDS_ELEMENTS);
	switch (c->kind) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_GATHER:
		return block;
	case COLLECTIVE_ALL_TO_ALL:
		return block + index * 10;
	case COLLECTIVE_REDUCE_SCATTER:
		return 3 + index * 30;
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
		return 3;
	case COLLECTIVE_SCATTER:
		return c->root + index * 10;
	default:
		return c->root;
	}
}

/* arg: name of the transport. */
static inline int kinds_main(struct rt_job *job, void *arg)
{
	static const int all[KINDS_RANKS] = {0, 1, 2};
	struct chain h = {.ok = true};
	int team, wrong = 0, most = KINDS_ELEMENTS * KINDS_RANKS;
	void *x, *z, *slow;
	float *host = calloc((size_t)most, sizeof *host);
	if (cuda_open(job, &h.device) != STATUS_OK ||
	    cuda_transport_open(job, transport_kind_find(arg), false, false, h.device, &h.t) != STATUS_OK ||
	    open_teams(h.t) != STATUS_OK || rt_transport_team(h.t, all, KINDS_RANKS, &team) != STATUS_OK)
		return rt_job_status(job);
	h.async = h.device->ops->async;
	h.async->stream_new(h.device, &h.stream);
	rt_device_alloc(h.device, (size_t)most * sizeof *host, "x", &x);
	rt_device_alloc(h.device, (size_t)most * sizeof *host, "z", &z);
	rt_device_alloc(h.device, CHAIN_SLOW * sizeof(float), "what takes time", &slow);
	for (int k = 0; k < COLLECTIVE_COUNT * KINDS_RANKS && h.ok; k++) {
		struct rt_collective c = {.kind = (enum collective)(k / KINDS_RANKS),
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .root = k % KINDS_RANKS,
		                          .in = x,
		                          .out = z,
		                          .count = KINDS_ELEMENTS};
		int64_t in, out;
		if (c.kind == COLLECTIVE_SEND_RECV || c.kind == COLLECTIVE_ALL_TO_ALLV ||
		    c.kind == COLLECTIVE_BARRIER)
			continue;
		kinds_elements(&c, job->rank, &in, &out);
		for (int64_t i = 0; i < most; i++)
			host[i] = (float)(job->rank + (int)(i / KINDS_ELEMENTS) * 10 - 1);
		h.async->upload(h.device, x, host, (size_t)most * sizeof *host);
		chain_slow(&h, (k + 1) % KINDS_RANKS, slow);
		chain_compute(&h, POINTWISE_ADD, x, NULL, 1, most);
		c.after = chain_event(&h);
		struct rt_request *r;
		h.ok &= rt_transport_start(h.t, &c, &r) == STATUS_OK;
		h.async->release(h.device, c.after);
		chain_await(&h, &r, 1);
		chain_compute(&h, POINTWISE_MUL, x, NULL, 0, most);
		chain_finish(&h);
		h.async->download(h.device, host, z, (size_t)most * sizeof *host);
		for (int64_t i = 0; i < out; i++)
			wrong += host[i] != (float)kinds_expected(&c, job->rank, i);
		if (wrong)
			printf("rank %d: %s from %d: %d of %lld elements are wrong\n", job->rank,
			       collective_name(c.kind), c.root, wrong, (long long)out);
		if (wrong)
			rt_job_fail(job, STATUS_WRONG);
	}
	rt_job_barrier(job, "the end");
	rt_transport_close(h.t);
	rt_device_free(h.device, x);
	rt_device_free(h.device, z);
	rt_device_free(h.device, slow);
	rt_device_close(h.device);
	free(host);
	return !h.ok ? STATUS_INTERNAL : wrong ? STATUS_WRONG : STATUS_OK;
}

#endif
