/* shm_ring: messages through rings in shared memory; see shm.h. */
#include "base/arena.h"
#include "rt/memory.h"
#include "rt/shm.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS = 8,              /* of a ring; a power of two */
	INLINE_BYTES = 4096,    /* of data that go with an offer */
	GET_AT_ONCE = 16 << 20, /* bytes, before others have their turn */
};

enum slot_type {
	SLOT_OFFER, /* payload: the first bytes */
	SLOT_PLACE, /* an offer; payload: where the data are, as an int64_t */
	SLOT_ACCEPT,
	SLOT_DATA,
};

struct slot {
	uint32_t type;
	uint32_t bytes;                  /* of payload */
	uint32_t sender_id, receiver_id; /* names of the transfer on either side */
	int64_t total;                   /* offer: bytes of the message */
	struct shm_key key;              /* offer */
	struct shm_sign sign;            /* offer */
	char payload[];
};
_Static_assert(sizeof(struct slot) == SHM_LINE, "payloads are aligned to cache lines");

struct ring {
	alignas(SHM_LINE) _Atomic uint32_t tail; /* slots written, by the sender */
	alignas(SHM_LINE) _Atomic uint32_t head; /* slots read, by the receiver */
	_Atomic uint32_t starving;               /* the sender waits for a free slot */
	alignas(SHM_LINE) char slots[];
};

/* An offer that came before its receive. */
struct offer {
	struct offer *next;
	struct slot slot; /* without payload */
	char payload[];   /* offer_bytes */
};

struct shm_rings {
	char *memory;   /* rings [from][to] */
	size_t payload; /* bytes of a slot */
	size_t ring_bytes;
	struct shm_transfer head;    /* of those with something to put into a ring; circular */
	struct shm_transfer *posted; /* one list head for each peer */
	struct offer **offers;       /* for each peer, oldest first */
	struct offer *unused;        /* to be used again */
	struct shm_transfer **named; /* by id; NULL: free */
	uint32_t names, names_used;
	uint32_t *free_names; /* stack */
};

static size_t payload_bytes(int ranks)
{
	return ranks <= 8 ? 32 << 10 : ranks <= 32 ? 8 << 10 : ranks <= 64 ? 4 << 10 : 1 << 10;
}

/* Most that goes with an offer. */
static size_t offer_bytes(const struct shm_rings *q)
{
	return q->payload < INLINE_BYTES ? q->payload : INLINE_BYTES;
}

static struct ring *ring_of(struct shm *s, int from, int to)
{
	size_t size = (size_t)s->base.job->size;
	return (struct ring *)(s->rings->memory + ((size_t)from * size + (size_t)to) * s->rings->ring_bytes);
}

static struct slot *slot_of(struct shm *s, struct ring *r, uint32_t i)
{
	return (struct slot *)(r->slots + (i % SLOTS) * (sizeof(struct slot) + s->rings->payload));
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
	shm_tell(s, to);
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
	if (s->rings->names_used == s->rings->names) {
		uint32_t more = s->rings->names ? 2 * s->rings->names : 64;
		s->rings->named = mem_realloc(s->rings->named, more * sizeof(struct shm_transfer *));
		s->rings->free_names = mem_realloc(s->rings->free_names, more * sizeof *s->rings->free_names);
		for (uint32_t i = s->rings->names; i < more; i++)
			s->rings->free_names[i] = i;
		s->rings->names = more;
	}
	x->id = s->rings->free_names[s->rings->names_used++];
	s->rings->named[x->id] = x;
}

static void transfer_done(struct shm *s, struct shm_transfer *x)
{
	struct rt_counter *c = &s->base.counter[RT_COUNTER_P2P];
	list_remove(x);
	x->state = SHM_DONE;
	s->rings->named[x->id] = NULL;
	s->rings->free_names[--s->rings->names_used] = x->id;
	if (x->sign.kind == SHM_P2P && x->peer != s->base.job->rank) { /* others are counted at their start */
		if (x->send)
			c->bytes_sent += x->bytes;
		else
			c->bytes_received += x->bytes;
	}
	--*x->pending;
}

void shm_send(struct shm *s, struct shm_transfer *x)
{
	name_take(s, x);
	x->send = true;
	x->state = SHM_OFFER;
	list_append(&s->rings->head, x);
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

enum status shm_compare(struct shm *s, const struct shm_sign *own, int64_t own_bytes, bool send, int peer,
                        const struct shm_sign *other, int64_t other_bytes)
{
	bool same = own->kind == other->kind && own->dtype == other->dtype && own->op == other->op &&
	            own->root == other->root && own->count == other->count;
	if (same && own_bytes == other_bytes)
		return STATUS_OK;
	struct buf b = {0};
	describe(s, s->base.job->rank, own, send, &b);
	if (same)
		buf_printf(&b, " (a block of %lld bytes)", (long long)own_bytes);
	buf_printf(&b, ", but rank %d has  ", peer);
	describe(s, peer, other, !send, &b);
	if (same)
		buf_printf(&b, " (a block of %lld bytes)", (long long)other_bytes);
	rt_job_error(s->base.job, "ranks disagree: rank %d has  %s", s->base.job->rank, b.at);
	buf_free(&b);
	return rt_job_fail(s->base.job, STATUS_DIAGNOSTICS);
}

/* An offer meets its receive. */
static enum status match(struct shm *s, struct shm_transfer *x, const struct slot *offer, const char *payload)
{
	enum status status = shm_compare(s, &x->sign, x->bytes, x->send, x->peer, &offer->sign, offer->total);
	if (status != STATUS_OK)
		return status;
	x->peer_id = offer->sender_id;
	if (offer->type == SLOT_PLACE) {
		int64_t place;
		memcpy(&place, payload, sizeof place);
		x->from = rt_memory_at(&s->base, place);
		x->state = SHM_GET;
	} else {
		if (offer->bytes)
			memcpy(x->data, payload, offer->bytes);
		x->moved = offer->bytes;
		x->state = SHM_ACCEPT;
	}
	list_append(&s->rings->head, x);
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
	for (struct offer **at = &s->rings->offers[x->peer], *o; (o = *at); at = &o->next)
		if (same_key(&o->slot.key, &x->key)) {
			*at = o->next;
			o->next = s->rings->unused;
			s->rings->unused = o;
			return match(s, x, &o->slot, o->payload);
		}
	x->state = SHM_POSTED;
	list_append(&s->rings->posted[x->peer], x);
	return STATUS_OK;
}

static enum status take_offer(struct shm *s, int from, const struct slot *slot)
{
	struct shm_transfer *posted = &s->rings->posted[from];
	for (struct shm_transfer *x = posted->next; x != posted; x = x->next)
		if (same_key(&x->key, &slot->key))
			return match(s, x, slot, slot->payload);
	struct offer *o = s->rings->unused, **at = &s->rings->offers[from];
	if (o)
		s->rings->unused = o->next;
	else
		o = mem_alloc(sizeof *o + offer_bytes(s->rings));
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
	case SLOT_PLACE:
		return take_offer(s, from, slot);
	case SLOT_ACCEPT:
		x = s->rings->named[slot->sender_id];
		assert(x && x->state == SHM_OFFERED);
		x->peer_id = slot->receiver_id;
		if (x->moved == x->bytes) {
			transfer_done(s, x);
		} else {
			x->state = SHM_STREAM;
			list_append(&s->rings->head, x);
		}
		return STATUS_OK;
	case SLOT_DATA:
		x = s->rings->named[slot->receiver_id];
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
			shm_tell(s, from);
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
		size_t most = offer_bytes(s->rings);
		slot->type = SLOT_OFFER;
		slot->bytes = (uint64_t)rest < most ? (uint32_t)rest : (uint32_t)most;
		slot->sender_id = x->id;
		slot->total = x->bytes;
		slot->key = x->key;
		slot->sign = x->sign;
		x->state = SHM_OFFERED;
		int64_t place = (uint64_t)rest > most ? rt_memory_place(&s->base, x->data) : -1;
		if (place >= 0) { /* the receiver copies all of it before it accepts */
			slot->type = SLOT_PLACE;
			slot->bytes = sizeof place;
			memcpy(slot->payload, &place, sizeof place);
			x->moved = x->bytes;
			ring_publish(s, x->peer);
			return true;
		}
		break;
	}
	case SHM_STREAM:
		slot->type = SLOT_DATA;
		slot->bytes =
		    (uint64_t)rest < s->rings->payload ? (uint32_t)rest : (uint32_t)s->rings->payload;
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

/* Copies from the sender's memory. */
static void get_some(struct shm_transfer *x)
{
	int64_t rest = x->bytes - x->moved, n = rest < GET_AT_ONCE ? rest : GET_AT_ONCE;
	memcpy(x->data + x->moved, x->from + x->moved, (size_t)n);
	x->moved += n;
	if (n == rest)
		x->state = SHM_ACCEPT;
}

void shm_rings_fill(struct shm *s, bool *moved)
{
	struct shm_transfer *next;
	for (struct shm_transfer *x = s->rings->head.next; x != &s->rings->head; x = next) {
		next = x->next;
		if (x->state == SHM_GET) {
			get_some(x);
			*moved = true;
		}
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

enum status shm_rings_drain(struct shm *s, bool *moved)
{
	enum status status = STATUS_OK;
	for (int from = 0; from < s->base.job->size && status == STATUS_OK; from++)
		status = ring_drain(s, from, moved);
	return status;
}

/* Room in a ring that was full counts: whoever makes it rings. */
bool shm_rings_ready(struct shm *s)
{
	for (int from = 0; from < s->base.job->size; from++) {
		struct ring *r = ring_of(s, from, s->base.job->rank);
		if (atomic_load_explicit(&r->head, memory_order_relaxed) != atomic_load(&r->tail))
			return true;
	}
	return false;
}

static size_t ring_bytes(int ranks)
{
	return sizeof(struct ring) + SLOTS * (sizeof(struct slot) + payload_bytes(ranks));
}

size_t shm_rings_bytes(int ranks)
{
	return (size_t)ranks * (size_t)ranks * ring_bytes(ranks);
}

void shm_rings_open(struct shm *s, char *memory)
{
	int n = s->base.job->size;
	struct shm_rings *q = mem_zalloc(sizeof *q);
	q->memory = memory;
	q->payload = payload_bytes(n);
	q->ring_bytes = ring_bytes(n);
	q->posted = mem_zalloc((size_t)n * sizeof *q->posted);
	q->offers = mem_zalloc((size_t)n * sizeof(struct offer *));
	q->head.next = q->head.prev = &q->head;
	for (int r = 0; r < n; r++)
		q->posted[r].next = q->posted[r].prev = &q->posted[r];
	s->rings = q;
}

static void offers_free(struct offer *o)
{
	for (struct offer *next; o; o = next) {
		next = o->next;
		free(o);
	}
}

void shm_rings_close(struct shm *s)
{
	struct shm_rings *q = s->rings;
	for (int r = 0; r < s->base.job->size; r++)
		offers_free(q->offers[r]);
	offers_free(q->unused);
	free(q->posted);
	free(q->offers);
	free(q->named);
	free(q->free_names);
	free(q);
}
