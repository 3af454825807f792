/* transport_shm: messages through rings in shared memory; see shm.h. */
#include "base/arena.h"
#include "rt/region.h"
#include "rt/shm.h"
#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS = 8,           /* of a ring; a power of two */
	INLINE_BYTES = 4096, /* of data that go with an offer */
	LINE = 64,           /* bytes of a cache line */
};

enum slot_type { SLOT_OFFER, SLOT_ACCEPT, SLOT_DATA };

struct slot {
	uint32_t type;
	uint32_t bytes;                  /* of payload */
	uint32_t sender_id, receiver_id; /* names of the transfer on either side */
	int64_t total;                   /* offer: bytes of the message */
	struct shm_key key;              /* offer */
	struct shm_sign sign;            /* offer */
	char payload[];
};
_Static_assert(sizeof(struct slot) == LINE, "payloads are aligned to cache lines");

struct ring {
	alignas(LINE) _Atomic uint32_t tail; /* slots written, by the sender */
	alignas(LINE) _Atomic uint32_t head; /* slots read, by the receiver */
	_Atomic uint32_t starving;           /* the sender waits for a free slot */
	alignas(LINE) char slots[];
};

struct arena_bell {
	alignas(LINE) struct rt_bell bell;
};

/* An offer that came before its receive. */
struct offer {
	struct offer *next;
	struct slot slot; /* without payload */
	char payload[];
};

struct shm {
	struct rt_transport base;
	char *arena;             /* bells of all ranks, then rings [from][to] */
	struct rt_region region; /* arena's */
	size_t payload;          /* bytes of a slot */
	size_t ring_bytes;
	struct shm_transfer head;    /* of those with something to put into a ring; circular */
	struct shm_transfer *posted; /* one list head for each peer */
	struct offer **offers;       /* for each peer, oldest first */
	struct shm_transfer **named; /* by id; NULL: free */
	uint32_t names, names_used;
	uint32_t *free_names;       /* stack */
	uint64_t *sequence;         /* collectives started, by team */
	struct rt_request requests; /* list head; circular */
	bool *ring_bell;            /* peers that have news */
};

static size_t payload_bytes(int ranks)
{
	return ranks <= 8 ? 32 << 10 : ranks <= 32 ? 8 << 10 : ranks <= 64 ? 4 << 10 : 1 << 10;
}

static struct rt_bell *bell_of(struct shm *s, int rank)
{
	return &((struct arena_bell *)s->arena)[rank].bell;
}

static struct ring *ring_of(struct shm *s, int from, int to)
{
	size_t size = (size_t)s->base.job->size;
	return (struct ring *)(s->arena + size * sizeof(struct arena_bell) +
	                       ((size_t)from * size + (size_t)to) * s->ring_bytes);
}

static struct slot *slot_of(struct shm *s, struct ring *r, uint32_t i)
{
	return (struct slot *)(r->slots + (i % SLOTS) * (sizeof(struct slot) + s->payload));
}

/* The next free slot to a peer, NULL if there is none: then the peer will ring when there is. */
static struct slot *ring_claim(struct shm *s, int to)
{
	struct ring *r = ring_of(s, s->base.job->rank, to);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	if (tail - atomic_load_explicit(&r->head, memory_order_acquire) < SLOTS)
		return slot_of(s, r, tail);
	/* Either the receiver sees this, or we see its head. */
	atomic_store(&r->starving, 1);
	return tail - atomic_load(&r->head) < SLOTS ? slot_of(s, r, tail) : NULL;
}

static void ring_publish(struct shm *s, int to)
{
	struct ring *r = ring_of(s, s->base.job->rank, to);
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
#ifdef HIRC_TSAN_SELFTEST
	atomic_store_explicit(&r->tail, tail + 1,
	                      memory_order_relaxed); /* wrong: the thread sanitizer must see it */
#else
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
#endif
	s->ring_bell[to] = true;
}

static void list_remove(struct shm_transfer *x)
{
	if (x->next) {
		x->next->prev = x->prev;
		x->prev->next = x->next;
		x->next = x->prev = NULL;
	}
}

static void list_append(struct shm_transfer *head, struct shm_transfer *x)
{
	list_remove(x);
	x->prev = head->prev;
	x->next = head;
	head->prev->next = x;
	head->prev = x;
}

static void name_take(struct shm *s, struct shm_transfer *x)
{
	if (s->names_used == s->names) {
		uint32_t more = s->names ? 2 * s->names : 64;
		s->named = mem_realloc(s->named, more * sizeof(struct shm_transfer *));
		s->free_names = mem_realloc(s->free_names, more * sizeof *s->free_names);
		for (uint32_t i = s->names; i < more; i++)
			s->free_names[i] = i;
		s->names = more;
	}
	x->id = s->free_names[s->names_used++];
	s->named[x->id] = x;
}

static void transfer_done(struct shm *s, struct shm_transfer *x)
{
	struct rt_counter *c = &s->base.counter[x->sign.counted];
	list_remove(x);
	x->state = SHM_DONE;
	s->named[x->id] = NULL;
	s->free_names[--s->names_used] = x->id;
	if (x->peer != s->base.job->rank) {
		if (x->send)
			c->bytes_sent += x->bytes;
		else
			c->bytes_received += x->bytes;
	}
	--*x->pending;
}

enum status shm_send(struct shm *s, struct shm_transfer *x)
{
	name_take(s, x);
	x->send = true;
	x->state = SHM_OFFER;
	list_append(&s->head, x);
	return STATUS_OK;
}

static void describe(struct shm *s, int rank, const struct shm_sign *sign, bool send, struct buf *out)
{
	const char *type = rt_dtype_name((enum rt_dtype)sign->dtype);
	if (sign->kind == SHM_P2P) {
		buf_printf(out, "%s of %lld %s", send ? "send" : "recv", (long long)sign->count, type);
	} else {
		buf_puts(out, rt_collective_name((enum rt_collective_kind)sign->kind));
		if (rt_collective_reduces((enum rt_collective_kind)sign->kind))
			buf_printf(out, " (%s)", rt_reduce_op_name((enum rt_reduce_op)sign->op));
		if (rt_collective_is_rooted((enum rt_collective_kind)sign->kind))
			buf_printf(out, " %s root %d",
			           sign->kind == RT_REDUCE || sign->kind == RT_GATHER ? "to" : "from",
			           sign->root);
		if (sign->count)
			buf_printf(out, " of %lld %s", (long long)sign->count, type);
		else
			buf_printf(out, " of %s", type);
	}
	struct buf label = {0};
	rt_board_label(s->base.job->board, rank, sign->label, &label);
	if (label.n)
		buf_printf(out, " in  %s", label.at);
	buf_free(&label);
}

/* Compares what the two sides believe. */
static enum status check(struct shm *s, const struct shm_transfer *x, const struct slot *offer)
{
	const struct shm_sign *own = &x->sign, *other = &offer->sign;
	bool same = own->kind == other->kind && own->dtype == other->dtype && own->op == other->op &&
	            own->root == other->root && own->count == other->count;
	if (same && offer->total == x->bytes)
		return STATUS_OK;
	struct buf b = {0};
	describe(s, s->base.job->rank, own, x->send, &b);
	if (same)
		buf_printf(&b, " (a block of %lld bytes)", (long long)x->bytes);
	buf_printf(&b, ", but rank %d has  ", x->peer);
	describe(s, x->peer, other, !x->send, &b);
	if (same)
		buf_printf(&b, " (a block of %lld bytes)", (long long)offer->total);
	rt_job_error(s->base.job, "ranks disagree: rank %d has  %s", s->base.job->rank, b.at);
	buf_free(&b);
	return rt_job_fail(s->base.job, STATUS_DIAGNOSTICS);
}

/* An offer meets its receive. */
static enum status match(struct shm *s, struct shm_transfer *x, const struct slot *offer, const char *payload)
{
	enum status status = check(s, x, offer);
	if (status != STATUS_OK)
		return status;
	x->peer_id = offer->sender_id;
	if (offer->bytes)
		memcpy(x->data, payload, offer->bytes);
	x->moved = offer->bytes;
	x->state = SHM_ACCEPT;
	list_append(&s->head, x);
	return STATUS_OK;
}

static bool same_key(const struct shm_key *a, const struct shm_key *b)
{
	return a->channel == b->channel && a->phase == b->phase && a->sequence == b->sequence;
}

enum status shm_receive(struct shm *s, struct shm_transfer *x)
{
	name_take(s, x);
	x->send = false;
	for (struct offer **at = &s->offers[x->peer], *o; (o = *at); at = &o->next)
		if (same_key(&o->slot.key, &x->key)) {
			*at = o->next;
			enum status status = match(s, x, &o->slot, o->payload);
			free(o);
			return status;
		}
	x->state = SHM_POSTED;
	list_append(&s->posted[x->peer], x);
	return STATUS_OK;
}

static enum status take_offer(struct shm *s, int from, const struct slot *slot)
{
	struct shm_transfer *posted = &s->posted[from];
	for (struct shm_transfer *x = posted->next; x != posted; x = x->next)
		if (same_key(&x->key, &slot->key))
			return match(s, x, slot, slot->payload);
	struct offer *o = mem_alloc(sizeof *o + slot->bytes), **at = &s->offers[from];
	o->next = NULL;
	memcpy(&o->slot, slot, sizeof *slot);
	memcpy(o->payload, slot->payload, slot->bytes);
	while (*at)
		at = &(*at)->next;
	*at = o;
	return STATUS_OK;
}

static enum status take_slot(struct shm *s, int from, const struct slot *slot)
{
	struct shm_transfer *x;
	switch ((enum slot_type)slot->type) {
	case SLOT_OFFER:
		return take_offer(s, from, slot);
	case SLOT_ACCEPT:
		x = s->named[slot->sender_id];
		assert(x && x->state == SHM_OFFERED);
		x->peer_id = slot->receiver_id;
		if (x->moved == x->bytes) {
			transfer_done(s, x);
		} else {
			x->state = SHM_STREAM;
			list_append(&s->head, x);
		}
		return STATUS_OK;
	case SLOT_DATA:
		x = s->named[slot->receiver_id];
		assert(x && (x->state == SHM_FILL) && x->moved + slot->bytes <= x->bytes);
		memcpy(x->data + x->moved, slot->payload, slot->bytes);
		x->moved += slot->bytes;
		if (x->moved == x->bytes)
			transfer_done(s, x);
		return STATUS_OK;
	}
	return STATUS_INTERNAL;
}

static enum status ring_drain(struct shm *s, int from, bool *moved)
{
	struct ring *r = ring_of(s, from, s->base.job->rank);
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	while (head != atomic_load_explicit(&r->tail, memory_order_acquire)) {
		enum status status = take_slot(s, from, slot_of(s, r, head));
		if (status != STATUS_OK)
			return status;
		atomic_store(&r->head, ++head);
		if (atomic_load(&r->starving) && atomic_exchange(&r->starving, 0))
			s->ring_bell[from] = true;
		*moved = true;
	}
	return STATUS_OK;
}

/* Puts the next slot of x into its ring. False: the ring is full. */
static bool put_slot(struct shm *s, struct shm_transfer *x)
{
	struct slot *slot = ring_claim(s, x->peer);
	if (!slot)
		return false;
	int64_t rest = x->bytes - x->moved;
	*slot = (struct slot){0};
	switch (x->state) {
	case SHM_OFFER: {
		size_t most = s->payload < INLINE_BYTES ? s->payload : INLINE_BYTES;
		slot->type = SLOT_OFFER;
		slot->bytes = (uint64_t)rest < most ? (uint32_t)rest : (uint32_t)most;
		slot->sender_id = x->id;
		slot->total = x->bytes;
		slot->key = x->key;
		slot->sign = x->sign;
		x->state = SHM_OFFERED;
		break;
	}
	case SHM_STREAM:
		slot->type = SLOT_DATA;
		slot->bytes = (uint64_t)rest < s->payload ? (uint32_t)rest : (uint32_t)s->payload;
		slot->receiver_id = x->peer_id;
		break;
	default:
		assert(x->state == SHM_ACCEPT);
		slot->type = SLOT_ACCEPT;
		slot->sender_id = x->peer_id;
		slot->receiver_id = x->id;
		x->state = SHM_FILL;
		break;
	}
	if (slot->type != SLOT_ACCEPT && slot->bytes) {
		memcpy(slot->payload, x->data + x->moved, slot->bytes);
		x->moved += slot->bytes;
	}
	ring_publish(s, x->peer);
	return true;
}

static void put_slots(struct shm *s, bool *moved)
{
	struct shm_transfer *next;
	for (struct shm_transfer *x = s->head.next; x != &s->head; x = next) {
		next = x->next;
		while ((x->state == SHM_OFFER || x->state == SHM_ACCEPT || x->state == SHM_STREAM) &&
		       put_slot(s, x)) {
			*moved = true;
			bool complete =
			    x->moved == x->bytes && (x->state == SHM_STREAM || x->state == SHM_FILL);
			if (complete)
				transfer_done(s, x);
			else if (x->state == SHM_OFFERED || x->state == SHM_FILL)
				list_remove(x);
		}
	}
}

static void ring_bells(struct shm *s)
{
	for (int r = 0; r < s->base.job->size; r++)
		if (s->ring_bell[r]) {
			s->ring_bell[r] = false;
			rt_bell_ring(bell_of(s, r));
		}
}

static enum status shm_progress(struct rt_transport *t, bool *moved)
{
	struct shm *s = (struct shm *)t;
	enum status status = STATUS_OK;
	for (int from = 0; from < t->job->size && status == STATUS_OK; from++)
		status = ring_drain(s, from, moved);
	for (struct rt_request *r = s->requests.next; r != &s->requests && status == STATUS_OK; r = r->next)
		status = shm_collective_advance(s, r, moved);
	put_slots(s, moved);
	ring_bells(s);
	return status;
}

static void request_add(struct shm *s, struct rt_request *r)
{
	r->prev = s->requests.prev;
	r->next = &s->requests;
	s->requests.prev->next = r;
	s->requests.prev = r;
}

static void request_drop(struct rt_request *r)
{
	r->next->prev = r->prev;
	r->prev->next = r->next;
	shm_request_free(r);
}

static enum status shm_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	struct shm *s = (struct shm *)t;
	struct rt_request *r;
	enum status status = shm_collective_start(s, &t->team[c->team], c, s->sequence[c->team]++, &r);
	request_add(s, r);
	if (status == STATUS_OK)
		*out = r;
	return status;
}

static enum status shm_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	struct shm *s = (struct shm *)t;
	struct rt_request *r = mem_zalloc(sizeof *r + sizeof r->transfer[0]);
	r->c.kind = RT_COLLECTIVE_COUNT;
	r->transfers = r->pending = 1;
	r->transfer[0] = (struct shm_transfer){
	    .peer = p->peer,
	    .key = {.channel = p->channel, .sequence = p->sequence},
	    .sign = {.kind = SHM_P2P,
	             .counted = RT_COUNTER_P2P,
	             .dtype = (uint8_t)p->dtype,
	             .count = p->count,
	             .label = p->at.label},
	    .data = p->data,
	    .bytes = p->count * (int64_t)rt_dtype_size(p->dtype),
	    .pending = &r->pending,
	};
	request_add(s, r);
	enum status status = p->send ? shm_send(s, &r->transfer[0]) : shm_receive(s, &r->transfer[0]);
	if (status == STATUS_OK)
		*out = r;
	return status;
}

static enum status shm_test(struct rt_transport *t, struct rt_request *r, bool *done)
{
	(void)t;
	*done = shm_collective_done(r);
	if (*done)
		request_drop(r);
	return STATUS_OK;
}

static enum status shm_team(struct rt_transport *t, int id, const int *ranks, int n)
{
	struct shm *s = (struct shm *)t;
	(void)ranks, (void)n;
	s->sequence = mem_realloc(s->sequence, (size_t)(id + 1) * sizeof *s->sequence);
	s->sequence[id] = 0;
	return STATUS_OK;
}

static uint32_t shm_read(struct rt_transport *t)
{
	return rt_bell_read(bell_of((struct shm *)t, t->job->rank));
}

static void shm_wait(struct rt_transport *t, uint32_t seen, int64_t microseconds)
{
	rt_bell_wait(bell_of((struct shm *)t, t->job->rank), seen, microseconds);
}

static void shm_wake(struct rt_transport *t)
{
	rt_bell_ring(bell_of((struct shm *)t, t->job->rank));
}

static void shm_close(struct rt_transport *t)
{
	struct shm *s = (struct shm *)t;
	while (s->requests.next != &s->requests)
		request_drop(s->requests.next);
	for (int r = 0; r < t->job->size; r++)
		for (struct offer *o = s->offers[r], *next; o; o = next) {
			next = o->next;
			free(o);
		}
	t->job->boot->unshare(t->job, &s->region);
	free(s->posted);
	free(s->offers);
	free(s->named);
	free(s->free_names);
	free(s->sequence);
	free(s->ring_bell);
	free(s);
}

static const struct rt_transport_ops shm_ops = {
    .name = "shm",
    .team = shm_team,
    .start = shm_start,
    .start_p2p = shm_start_p2p,
    .progress = shm_progress,
    .test = shm_test,
    .read = shm_read,
    .wait = shm_wait,
    .wake = shm_wake,
    .close = shm_close,
};

enum status rt_shm_open(struct rt_job *job, struct rt_transport **out)
{
	size_t n = (size_t)job->size;
	if (job->size > RT_SHM_MAX_RANKS) {
		rt_job_error(job, "transport shm takes up to %d ranks, the job has %d", RT_SHM_MAX_RANKS,
		             job->size);
		return rt_job_fail(job, STATUS_ABSENT);
	}
	struct shm *s = mem_zalloc(sizeof *s);
	s->base.ops = &shm_ops;
	s->base.job = job;
	s->payload = payload_bytes(job->size);
	s->ring_bytes = sizeof(struct ring) + SLOTS * (sizeof(struct slot) + s->payload);
	enum status status = job->boot->share(
	    job, "the transport", n * sizeof(struct arena_bell) + n * n * s->ring_bytes, &s->region);
	if (status != STATUS_OK) {
		free(s);
		return status;
	}
	s->arena = s->region.at;
	s->posted = mem_zalloc(n * sizeof *s->posted);
	s->offers = mem_zalloc(n * sizeof(struct offer *));
	s->ring_bell = mem_zalloc(n * sizeof *s->ring_bell);
	s->head.next = s->head.prev = &s->head;
	s->requests.next = s->requests.prev = &s->requests;
	for (size_t r = 0; r < n; r++)
		s->posted[r].next = s->posted[r].prev = &s->posted[r];
	*out = &s->base;
	return STATUS_OK;
}
