/* shm_publish: fills a member's slot with the payload or its place, or sends the payload as messages. */
#include "rt/shm_publish.h"
#include "base/arena.h"
#include "rt/memory.h"
#include "rt/shm_parts.h"
#include <string.h>

struct shm_transfer *shm_part_transfer(struct rt_request *r, int member, uint32_t phase, const void *data,
                                       int64_t bytes, int *pending)
{
	if (!r->transfer) /* for both directions and both phases */
		r->transfer = mem_alloc(4 * (size_t)r->team->n * sizeof *r->transfer);
	struct shm_transfer *x = &r->transfer[r->transfers++];
	*x = (struct shm_transfer){
	    .peer = r->team->rank[member],
	    .key = {.channel = SHM_TEAM + (uint32_t)r->c.team, .phase = phase, .sequence = r->sequence},
	    .sign = r->sign,
	    .data = (char *)data, /* a send only reads it */
	    .bytes = bytes,
	    .pending = pending,
	};
	++*pending;
	return x;
}

void shm_send_part(struct shm *s, struct rt_request *r, int to, uint32_t phase, const void *data,
                   int64_t bytes)
{
	if (bytes > 0)
		shm_send(s, shm_part_transfer(r, to, phase, data, bytes, &r->sending));
}

/* Returns true if the slot contains the block for this member, or for all. */
static bool is_put(const struct rt_request *r, int member)
{
	return !shm_has_blocks(r) || r->c.kind == COLLECTIVE_ALLREDUCE || member != r->team->index;
}

/* Returns the bytes that a slot must contain so that others need nothing else. */
static int64_t bytes_given(const struct rt_request *r)
{
	int64_t n = 0;
	int members = shm_has_blocks(r) ? r->team->n : 1;
	for (int m = 0; m < members; m++)
		n += is_put(r, m) ? shm_given(r, m).count : 0;
	return n * shm_element_bytes(r);
}

/* Returns true if the blocks are not of equal size and contiguous. */
static bool needs_table(const struct rt_request *r)
{
	const struct rt_collective *c = &r->c;
	if (!shm_has_blocks(r) || c->kind == COLLECTIVE_ALLREDUCE)
		return false;
	return collective_exchanges(c->kind) ? c->send_counts || c->send_offsets : c->counts || c->offsets;
}

/* Copies the payload into the slot, one block after the other. */
static void put_payload(const struct rt_request *r, struct shm_slot *slot)
{
	int64_t size = shm_element_bytes(r), at = 0;
	int members = shm_has_blocks(r) ? r->team->n : 1;
	for (int m = 0; m < members; m++) {
		struct rt_block b = shm_given(r, m);
		if (!is_put(r, m))
			continue;
		shm_copy(shm_slot_payload(slot) + at, (const char *)r->c.in + b.offset * size,
		         b.count * size);
		if (r->sign.how & SHM_TABLE)
			shm_slot_table(slot)[m] = (struct shm_entry){.offset = at, .bytes = b.count * size};
		at += b.count * size;
	}
}

/* Publishes the place of the payload, or sends the payload as messages. */
static void put_places(struct shm *s, struct rt_request *r, struct shm_slot *slot)
{
	int64_t size = shm_element_bytes(r);
	int own = r->team->index;
	slot->in = rt_memory_place(&s->base, r->c.in);
	slot->out = r->c.kind == COLLECTIVE_ALLREDUCE ? rt_memory_place(&s->base, r->c.out) : -1;
	r->sign.how |= (uint8_t)((slot->in >= 0 ? SHM_IN : 0) | (slot->out >= 0 ? SHM_OUT : 0));
	for (int m = 0; m < r->team->n; m++) {
		struct rt_block b = shm_given(r, m);
		if (r->sign.how & SHM_TABLE)
			shm_slot_table(slot)[m] =
			    (struct shm_entry){.offset = b.offset * size, .bytes = b.count * size};
		if (!(r->sign.how & SHM_IN) && shm_gives(r, own, m))
			shm_send_part(s, r, m, 0, (const char *)r->c.in + b.offset * size, b.count * size);
	}
}

/* Publishes the place of the root's result, for a Reduce that may be split. */
static void put_result(struct shm *s, struct rt_request *r, struct shm_slot *slot)
{
	atomic_store_explicit(&slot->reduced, 0, memory_order_relaxed);
	slot->in = r->c.in ? rt_memory_place(&s->base, r->c.in) : -1;
	slot->out = rt_memory_place(&s->base, r->c.out);
	if (slot->out >= 0 && (slot->in >= 0 || !r->c.in))
		r->sign.how |= SHM_OUT;
}

void shm_tell_others(struct shm *s, const struct rt_request *r)
{
	for (int m = 0; m < r->team->n; m++)
		if (m != r->team->index)
			shm_tell(s, r->team->rank[m]);
}

void shm_publish(struct shm *s, struct rt_request *r)
{
	struct shm_team *t = r->slots;
	struct shm_slot *slot = shm_team_slot(t, t->index, r->sequence);
	bool any = shm_gives_any(r, t->index);
	int64_t bytes = any ? shm_given(r, (t->index + 1) % t->n).count * shm_element_bytes(r) : 0;
	r->sign.how = (uint8_t)(any && needs_table(r) ? SHM_TABLE : 0);
	if (!any || bytes_given(r) <= SHM_INLINE_BYTES) {
		r->sign.how |= SHM_INLINE;
		r->sign.given = (uint32_t)bytes;
		if (any)
			put_payload(r, slot);
		else if (shm_may_split(r))
			put_result(s, r, slot);
	} else {
		slot->bytes = bytes;
		atomic_store_explicit(&slot->reduced, 0, memory_order_relaxed);
		put_places(s, r, slot);
	}
	slot->sign = r->sign;
	atomic_store_explicit(&slot->stamp, r->sequence + 1, memory_order_release);
	t->published++;
	shm_tell_others(s, r);
}
