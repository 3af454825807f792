/* shm_ring: sends messages through rings in shared memory; see shm.h. */
#include "base/arena.h"
#include "rt/memory.h"
#include "rt/shm.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOTS = 8,              /* slots of a ring; a power of two */
	INLINE_BYTES = 4096,    /* bytes of data that go with an offer */
	GET_AT_ONCE = 16 << 20, /* bytes copied at once, before other transfers are advanced */
};

enum slot_type {
	SLOT_WHOLE, /* payload: a small message */
	SLOT_OFFER, /* payload: the first bytes */
	SLOT_PLACE, /* an offer; payload: the place of the data, as an int64_t */
	SLOT_ACCEPT,
	SLOT_DATA,
};

struct slot {
	_Atomic uint32_t stamp;          /* number of slots written to the ring before + 1 */
	uint32_t type : 3, bytes : 29;   /* enum slot_type; bytes of payload */
	uint32_t sender_id, receiver_id; /* names of the transfer on the two sides */
	int64_t total;                   /* bytes of the message */
	struct shm_key key;              /* not for data and accepts */
	struct shm_sign sign;            /* likewise */
	char payload[];
};
_Static_assert(sizeof(struct slot) == SHM_LINE, "payloads are aligned to cache lines");

struct ring {
	alignas(SHM_LINE) _Atomic uint32_t head; /* number of slots read by the receiver */
	_Atomic uint32_t matched;                /* number of small messages that met their receive */
	alignas(SHM_LINE) char slots[];
};

/* This rank's ends of the rings to and from a peer. */
struct end {
	uint32_t written, room; /* slots written; slots below `room` are known to be free */
	uint32_t small;         /* small messages written */
	uint32_t read;          /* slots read */
};

/* An offer or a small message that came before its receive. */
struct offer {
	struct offer *next;
	struct slot slot; /* without its payload */
	char payload[];   /* offer_bytes */
};

struct shm_rings {
	char *memory;   /* rings [from][to] */
	size_t payload; /* bytes of payload in a slot */
	size_t ring_bytes;
	struct end *end;             /* by peer */
	struct shm_transfer head;    /* circular list of transfers with something to put into a ring */
	struct shm_transfer *posted; /* by peer: list head */
	struct offer **offers;       /* by peer, oldest first */
	struct offer *unused;        /* to use again */
	struct shm_transfer **named; /* by name; NULL: free */
	uint32_t names, names_used;
	uint32_t *free_names; /* stack */
};

static size_t payload_bytes(int ranks)
{
	return ranks <= 8 ? 32 << 10 : ranks <= 32 ? 8 << 10 : ranks <= 64 ? 4 << 10 : 1 << 10;
}

/* Returns the most bytes that go with an offer. */
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

/* Returns the next free slot to a peer; NULL if there is none. */
static struct slot *ring_claim(struct shm *s, int to)
{
	struct ring *r = ring_of(s, s->base.job->rank, to);
	struct end *e = &s->rings->end[to];
	if (e->written == e->room)
		e->room = atomic_load_explicit(&r->head, memory_order_acquire) + SLOTS;
	return e->written == e->room ? NULL : slot_of(s, r, e->written);
}

static void ring_publish(struct shm *s, int to, struct slot *slot)
{
#ifdef HIRC_TSAN_SELFTEST
	atomic_store_explicit(&slot->stamp, ++s->rings->end[to].written,
	                      memory_order_relaxed); /* wrong on purpose: the thread sanitizer must find it */
#else
	atomic_store_explicit(&slot->stamp, ++s->rings->end[to].written, memory_order_release);
#endif
	shm_tell(s, to);
}

/* Returns the next slot from a peer; NULL if it has written none. */
static struct slot *ring_next(struct shm *s, int from)
{
	uint32_t read = s->rings->end[from].read;
	struct slot *slot = slot_of(s, ring_of(s, from, s->base.job->rank), read);
	return atomic_load_explicit(&slot->stamp, memory_order_acquire) == read + 1 ? slot : NULL;
}

/* Frees a slot after reading, so that the peer may write it. */
static void ring_advance(struct shm *s, int from)
{
	atomic_store_explicit(&ring_of(s, from, s->base.job->rank)->head, ++s->rings->end[from].read,
	                      memory_order_release);
	shm_tell(s, from);
}

/* Counts a small message from a peer that has met its receive. */
static void ring_matched(struct shm *s, int from)
{
	struct ring *r = ring_of(s, from, s->base.job->rank);
	atomic_store_explicit(&r->matched, atomic_load_explicit(&r->matched, memory_order_relaxed) + 1,
	                      memory_order_relaxed);
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

static void count_p2p_bytes(struct shm *s, const struct shm_transfer *x)
{
	struct rt_counter *c = &s->base.counter[RT_COUNTER_P2P];
	if (x->sign.kind == SHM_P2P &&
	    x->peer != s->base.job->rank) /* other messages are counted at their start */
		*(x->send ? &c->bytes_sent : &c->bytes_received) += x->bytes;
}

static void transfer_done(struct shm *s, struct shm_transfer *x)
{
	list_remove(x);
	x->state = SHM_DONE;
	s->rings->named[x->id] = NULL;
	s->rings->free_names[--s->rings->names_used] = x->id;
	count_p2p_bytes(s, x);
	--*x->pending;
}

void shm_send(struct shm *s, struct shm_transfer *x)
{
	name_take(s, x);
	x->send = true;
	x->state = SHM_OFFER;
	list_append(&s->rings->head, x);
}

/* Handles an offer that meets its receive. */
static enum status match_offer(struct shm *s, struct shm_transfer *x, const struct slot *offer,
                               const char *payload)
{
	enum status status = shm_compare(s, &x->sign, x->bytes, x->send, x->peer, &offer->sign, offer->total);
	if (status != STATUS_OK)
		return status;
	x->peer_id = offer->sender_id;
	if (offer->type == SLOT_WHOLE) {
		if (offer->bytes)
			memcpy(x->data, payload, offer->bytes);
		ring_matched(s, x->peer);
		transfer_done(s, x);
		return STATUS_OK;
	}
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
			return match_offer(s, x, &o->slot, o->payload);
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
			return match_offer(s, x, slot, slot->payload);
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
	case SLOT_WHOLE:
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
	for (struct slot *slot; (slot = ring_next(s, from)); ring_advance(s, from)) {
		enum status status = take_slot(s, from, slot);
		if (status != STATUS_OK)
			return status;
		*moved = true;
	}
	return STATUS_OK;
}

static void put_message(const struct shm_transfer *x, enum slot_type type, size_t bytes, struct slot *slot)
{
	slot->type = type;
	slot->bytes = (uint32_t)bytes & 0x1fffffff;
	slot->sender_id = x->id;
	slot->total = x->bytes;
	slot->key = x->key;
	slot->sign = x->sign;
	if (bytes && type != SLOT_PLACE)
		memcpy(slot->payload, x->data, bytes);
}

/* Puts a message, or the offer of one, into a slot. */
static void put_offer(struct shm *s, struct shm_transfer *x, struct slot *slot)
{
	size_t most = offer_bytes(s->rings);
	int64_t place;
	x->state = SHM_OFFERED;
	x->moved = x->bytes;
	if ((uint64_t)x->bytes <= most) {
		put_message(x, SLOT_WHOLE, (size_t)x->bytes, slot);
		s->rings->end[x->peer].small++;
		x->state = SHM_SENT;
	} else if ((place = rt_memory_place(&s->base, x->data)) >= 0) {
		/* the receiver copies everything before it accepts */
		put_message(x, SLOT_PLACE, sizeof place, slot);
		memcpy(slot->payload, &place, sizeof place);
	} else {
		put_message(x, SLOT_OFFER, most, slot);
		x->moved = (int64_t)most;
	}
}

static void put_data(struct shm *s, struct shm_transfer *x, struct slot *slot)
{
	int64_t rest = x->bytes - x->moved, n = (int64_t)s->rings->payload;
	n = rest < n ? rest : n;
	slot->type = SLOT_DATA;
	slot->bytes = (uint32_t)n & 0x1fffffff;
	slot->receiver_id = x->peer_id;
	memcpy(slot->payload, x->data + x->moved, (size_t)n);
	x->moved += n;
}

/* Puts the next slot of x into its ring. Returns false if the ring is full. */
static bool put_slot(struct shm *s, struct shm_transfer *x)
{
	struct slot *slot = ring_claim(s, x->peer);
	if (!slot)
		return false;
	if (x->state == SHM_OFFER) {
		put_offer(s, x, slot);
	} else if (x->state == SHM_STREAM) {
		put_data(s, x, slot);
	} else {
		assert(x->state == SHM_ACCEPT);
		slot->type = SLOT_ACCEPT;
		slot->bytes = 0;
		slot->sender_id = x->peer_id;
		slot->receiver_id = x->id;
		x->state = SHM_FILL;
	}
	ring_publish(s, x->peer, slot);
	return true;
}

/* Copies a piece from the sender's memory. */
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
			    x->state == SHM_SENT ||
			    (x->moved == x->bytes && (x->state == SHM_STREAM || x->state == SHM_FILL));
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

bool shm_rings_ready(struct shm *s)
{
	for (int from = 0; from < s->base.job->size; from++)
		if (ring_next(s, from))
			return true;
	for (struct shm_transfer *x = s->rings->head.next; x != &s->rings->head; x = x->next)
		if (ring_claim(s, x->peer))
			return true;
	return false;
}

bool shm_send_at_once(struct shm *s, struct shm_transfer *x)
{
	struct slot *slot = (uint64_t)x->bytes <= offer_bytes(s->rings) ? ring_claim(s, x->peer) : NULL;
	if (!slot)
		return false;
	x->send = true;
	put_offer(s, x, slot);
	ring_publish(s, x->peer, slot);
	count_p2p_bytes(s, x);
	return true;
}

enum status shm_receive_at_once(struct shm *s, struct shm_transfer *x, bool *done)
{
	struct slot *slot;
	enum status status = STATUS_OK;
	*done = false;
	if ((uint64_t)x->bytes > offer_bytes(s->rings))
		return STATUS_OK;
	for (int looks = s->looks; looks > 0 && !s->rings->offers[x->peer] && status == STATUS_OK;) {
		if (!(slot = ring_next(s, x->peer))) {
			if (--looks > 0)
				rt_pause();
			continue;
		}
		bool ours = slot->type == SLOT_WHOLE && same_key(&slot->key, &x->key);
		if (!ours) {
			status = take_slot(s, x->peer, slot);
		} else {
			status = shm_compare(s, &x->sign, x->bytes, false, x->peer, &slot->sign, slot->total);
			if (status == STATUS_OK && x->bytes)
				memcpy(x->data, slot->payload, (size_t)x->bytes);
		}
		if (status != STATUS_OK)
			return status;
		ring_advance(s, x->peer);
		if (ours) {
			ring_matched(s, x->peer);
			count_p2p_bytes(s, x);
			*done = true;
			return STATUS_OK;
		}
	}
	return status;
}

int shm_unreceived(struct shm *s, uint32_t *messages)
{
	for (int to = 0; to < s->base.job->size; to++) {
		struct ring *r = ring_of(s, s->base.job->rank, to);
		*messages = s->rings->end[to].small - atomic_load_explicit(&r->matched, memory_order_relaxed);
		if (*messages)
			return to;
	}
	return -1;
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
	q->end = mem_zalloc((size_t)n * sizeof *q->end);
	for (int r = 0; r < n; r++)
		q->end[r].room = SLOTS;
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
	free(q->end);
	free(q->posted);
	free(q->offers);
	free(q->named);
	free(q->free_names);
	free(q);
}
