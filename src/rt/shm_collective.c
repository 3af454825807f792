/* shm_collective: does collectives by reading the slots and memory of the other members.
 *
 * A member publishes its slot, which contains the payload if it is small, and otherwise its place in
 * memory. Each member then reads its inputs from the others, and is done when the others have read
 * theirs from it.
 *
 *     Allgather, Broadcast, SendRecv, Gather, Scatter, AllToAll, AllToAllv
 *                    blocks are copied to their places in the result
 *     ReduceScatter  the own block is reduced, read from all members
 *     Allreduce      small: each member reduces all; large: a ReduceScatter of even blocks, each put into all
 *                    members' memory or, if not all see that, copied from the member that has it
 *     Reduce         the root reduces; large: each member reduces a block into the root's memory
 *     Barrier        there is nothing to read
 *
 * Operands are always combined in team order, whichever member comes first. Data in memory that the
 * others do not see is sent as messages (phase 0; the reduced blocks of Allreduce: phase 1). */
#include "base/arena.h"
#include "rt/memory.h"
#include "rt/shm.h"
#include "rt/shm_parts.h"
#include "rt/shm_publish.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	REDUCE_AT_ONCE = 256 << 10, /* elements at once, before other requests are advanced */
	COPY_AT_ONCE = 16 << 20,    /* bytes at once */
	PUT_AT_ONCE = 16 << 10,     /* bytes at once, which fit in the nearest cache */
};

/* ---- messages */

static enum status receive_part(struct shm *s, struct rt_request *r, int from, uint32_t phase, void *data,
                                int64_t bytes)
{
	if (bytes == 0)
		return STATUS_OK;
	return shm_receive(s, shm_part_transfer(r, from, phase, data, bytes, &r->receiving));
}

/* Copies the block that this member gives to itself; it is not sent as a message. */
static void copy_own(struct rt_request *r)
{
	const struct rt_collective *c = &r->c;
	int64_t size = shm_element_bytes(r);
	int own = r->team->index;
	struct rt_block to = shm_taken(r, own), from = shm_given(r, own);
	bool both = !collective_reduces(c->kind) && rt_collective_gives(c, own, own);
	char *out = (char *)c->out + to.offset * size;
	const char *in = (const char *)c->in + from.offset * size;
	if (both && out != in && to.count)
		memmove(out, in, (size_t)(to.count * size));
}

/* ---- looking at the others' slots */

/* Returns the block that member `from` has for this one, from its slot. */
static struct shm_entry offered(const struct rt_request *r, int from, struct shm_slot *slot)
{
	int own = r->team->index;
	if (slot->sign.how & SHM_TABLE)
		return shm_slot_table(slot)[own];
	if (r->c.kind == COLLECTIVE_ALLREDUCE) { /* even blocks may differ in size */
		struct rt_block b = shm_part(r, own);
		return (struct shm_entry){.offset = b.offset * shm_element_bytes(r),
		                          .bytes = b.count * shm_element_bytes(r)};
	}
	bool in_slot = slot->sign.how & SHM_INLINE;
	int index = !shm_has_blocks(r) ? 0 : in_slot ? shm_slot_index(from, own) : own;
	int64_t bytes = in_slot ? slot->sign.given : slot->bytes;
	return (struct shm_entry){.offset = index * bytes, .bytes = bytes};
}

/* Finds the parts that a member gives to this one. */
static enum status find_member_data(struct shm *s, struct rt_request *r, int from, struct shm_slot *slot)
{
	struct shm_source *x = &r->source[from];
	struct shm_entry e = offered(r, from, slot);
	struct rt_block b = shm_taken(r, from);
	bool reduces = collective_reduces(r->c.kind);
	int64_t bytes = b.count * shm_element_bytes(r);
	if (e.bytes != bytes)
		return shm_compare(s, &r->sign, bytes, false, r->team->rank[from], &slot->sign, e.bytes);
	if (bytes == 0) {
		r->unread--;
		return STATUS_OK;
	}
	char *to = reduces ? NULL : (char *)r->c.out + b.offset * shm_element_bytes(r);
	if (slot->sign.how & SHM_INLINE)
		x->at = shm_slot_payload(slot) + e.offset;
	else if (slot->sign.how & SHM_IN)
		x->at = rt_memory_at(&s->base, slot->in) + e.offset;
	if (x->at && !reduces) {
		x->to = to;
		x->bytes = bytes;
		return STATUS_OK;
	}
	r->unread--;
	if (x->at)
		return STATUS_OK;
	if (reduces) {
		if (!r->staged)
			r->staged = mem_alloc((size_t)r->team->n * (size_t)bytes + 1);
		x->at = to = r->staged + from * bytes;
	}
	return receive_part(s, r, from, 0, to, bytes);
}

static enum status compare_slots(struct shm *s, struct rt_request *r, bool *moved)
{
	int own = r->team->index;
	for (int m = 0; m < r->team->n; m++) {
		if (r->source[m].compared)
			continue;
		struct shm_slot *slot = shm_team_slot(r->slots, m, r->sequence);
		if (atomic_load(&slot->stamp) != r->sequence + 1)
			continue;
		enum status status =
		    shm_compare(s, &r->sign, 0, shm_gives(r, own, m), r->team->rank[m], &slot->sign, 0);
		if (status == STATUS_OK && shm_gives(r, m, own))
			status = find_member_data(s, r, m, slot);
		if (status != STATUS_OK)
			return status;
		r->source[m].compared = true;
		r->uncompared--;
		*moved = true;
	}
	return STATUS_OK;
}

/* ---- reading */

/* Copies the parts that were found. */
static void copy_found(struct rt_request *r, bool *moved)
{
	for (int i = 1; i < r->team->n; i++) { /* each member starts at another one */
		struct shm_source *x = &r->source[(r->team->index + i) % r->team->n];
		if (!x->to)
			continue;
		int64_t n = x->bytes < COPY_AT_ONCE ? x->bytes : COPY_AT_ONCE;
		shm_copy(x->to, x->at, n);
		x->to += n;
		x->at += n;
		x->bytes -= n;
		*moved = true;
		if (x->bytes > 0)
			return;
		x->to = NULL;
		r->unread--;
	}
}

/* Returns the elements that this member reduces, and their begin in `in`; for reductions to a root, all
 * of it. */
static struct rt_block reduced_here(const struct rt_request *r)
{
	const struct rt_collective *c = &r->c;
	int own = r->team->index;
	if (r->split)
		return rt_even_block(c->count, r->team->n, own);
	if (c->kind == COLLECTIVE_REDUCE)
		return (struct rt_block){.count = own == c->root ? c->count : 0};
	return c->kind == COLLECTIVE_ALLREDUCE ? shm_part(r, own) : rt_collective_block(c, own);
}

/* Reduces one block at a time, which is still in the nearest cache when it is copied to the others. */
static void reduce_and_put(struct rt_request *r, char *out, int64_t at, const void **in, int terms, int64_t n)
{
	int64_t size = shm_element_bytes(r), step = PUT_AT_ONCE / size;
	for (int64_t k = 0, m; k < n; k += m) {
		m = n - k < step ? n - k : step;
		rt_reduce_arrays(r->c.op, r->c.dtype, out + k * size, in, terms, (size_t)m);
		for (int i = 0; i < terms; i++)
			in[i] = (const char *)in[i] + m * size;
		for (int i = 1; i < r->team->n; i++)
			shm_copy(r->source[(r->team->index + i) % r->team->n].put + at + k * size,
			         out + k * size, m * size);
	}
}

static void reduce_some(struct rt_request *r)
{
	const void *fixed[16], **in = r->team->n <= 16 ? fixed : mem_alloc((size_t)r->team->n * sizeof *in);
	const struct rt_collective *c = &r->c;
	struct rt_block b = reduced_here(r);
	int64_t size = shm_element_bytes(r), at = r->reduced * size, n = b.count - r->reduced;
	n = n < REDUCE_AT_ONCE ? n : REDUCE_AT_ONCE;
	char *out =
	    r->split ? r->result : (char *)c->out + (c->kind == COLLECTIVE_ALLREDUCE ? b.offset * size : 0);
	int terms = 0;
	for (int m = 0; m < r->team->n; m++) { /* in team order */
		if (m == r->team->index && c->in)
			in[terms++] = (const char *)c->in + b.offset * size + at;
		else if (m != r->team->index && r->source[m].at)
			in[terms++] = r->source[m].at + at;
	}
	if (n > 0 && r->push)
		reduce_and_put(r, out + at, at, in, terms, n);
	else if (n > 0)
		rt_reduce_arrays(c->op, c->dtype, out + at, in, terms, (size_t)n);
	r->reduced += n;
	if (in != fixed)
		free(in);
}

/* Called when all slots of a Reduce are written: decides if it is split, then finds the part that this
 * member reduces. */
static bool find_reduce_split(struct shm *s, struct rt_request *r)
{
	int own = r->team->index;
	struct shm_slot *root = shm_team_slot(r->slots, r->c.root, r->sequence);
	for (int m = 0; m < r->team->n; m++)
		if (!(shm_team_slot(r->slots, m, r->sequence)->sign.how &
		      (m == r->c.root ? SHM_OUT : SHM_IN)))
			return false;
	struct rt_block b = rt_even_block(r->c.count, r->team->n, own);
	int64_t offset = b.offset * shm_element_bytes(r);
	for (int m = 0; m < r->team->n; m++) {
		int64_t in = shm_team_slot(r->slots, m, r->sequence)->in;
		r->source[m].at = m != own && in >= 0 ? rt_memory_at(&s->base, in) + offset : NULL;
	}
	r->result = rt_memory_at(&s->base, root->out) + offset;
	return true;
}

/* Called when all slots of an Allreduce are written: decides if all members see each other's results,
 * then finds the places of this member's block in them. */
static bool find_push_targets(struct shm *s, struct rt_request *r)
{
	int64_t offset = shm_part(r, r->team->index).offset * shm_element_bytes(r);
	if (r->c.kind != COLLECTIVE_ALLREDUCE || shm_reduces_all(r))
		return false;
	for (int m = 0; m < r->team->n; m++)
		if (!(shm_team_slot(r->slots, m, r->sequence)->sign.how & SHM_OUT))
			return false;
	for (int m = 0; m < r->team->n; m++)
		r->source[m].put =
		    (char *)rt_memory_at(&s->base, shm_team_slot(r->slots, m, r->sequence)->out) + offset;
	return true;
}

/* Publishes the own block of a large Allreduce, which is reduced now. */
static void show_reduced(struct shm *s, struct rt_request *r)
{
	int own = r->team->index, n = r->team->n;
	struct rt_block b = shm_part(r, own);
	if (!(r->sign.how & SHM_OUT) && !r->split)
		for (int i = 1; i < n; i++)
			shm_send_part(s, r, (own + i) % n, 1,
			              (const char *)r->c.out + b.offset * shm_element_bytes(r),
			              b.count * shm_element_bytes(r));
	atomic_store_explicit(&shm_team_slot(r->slots, own, r->sequence)->reduced, r->sequence + 1,
	                      memory_order_release);
	shm_tell_others(s, r);
	r->unread = n - 1;
}

static bool is_reduced(struct rt_request *r, int member)
{
	struct shm_slot *slot = shm_team_slot(r->slots, member, r->sequence);
	return atomic_load(&slot->reduced) == r->sequence + 1;
}

static enum status look_reduced(struct shm *s, struct rt_request *r, bool *moved)
{
	for (int m = 0; m < r->team->n; m++) {
		struct shm_source *x = &r->source[m];
		if (m == r->team->index || x->reduced || !is_reduced(r, m))
			continue;
		struct shm_slot *slot = shm_team_slot(r->slots, m, r->sequence);
		struct rt_block b = shm_part(r, m);
		int64_t offset = b.offset * shm_element_bytes(r), bytes = b.count * shm_element_bytes(r);
		x->reduced = *moved = true;
		if (r->split || r->push) { /* it is in its place already */
			r->unread--;
			continue;
		}
		if (slot->sign.how & SHM_OUT) {
			x->at = rt_memory_at(&s->base, slot->out) + offset;
			x->to = (char *)r->c.out + offset;
			x->bytes = bytes;
			continue;
		}
		r->unread--;
		enum status status = receive_part(s, r, m, 1, (char *)r->c.out + offset, bytes);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

/* ---- the whole */

static struct shm_sign sign_of(const struct rt_collective *c, int members)
{
	return (struct shm_sign){.kind = (uint8_t)c->kind,
	                         .dtype = (uint8_t)c->dtype,
	                         .label = c->at.label,
	                         .op = collective_reduces(c->kind) ? (uint8_t)c->op : 0,
	                         .root = collective_is_rooted(c->kind) ? c->root : 0,
	                         .count = rt_collective_common_total(c, members)};
}

static struct rt_request *request_new(struct shm *s, const struct rt_collective *c,
                                      const struct shm_sign *sign)
{
	struct shm_team *t = &s->team[c->team];
	size_t bytes = sizeof(struct rt_request) + (size_t)t->n * sizeof(struct shm_source);
	struct rt_request *r = t->unused;
	if (r)
		t->unused = r->next;
	else
		r = mem_alloc(bytes);
	memset(r, 0, bytes);
	r->c = *c;
	r->team = &s->base.team[c->team];
	r->slots = t;
	r->sequence = t->next++;
	r->sign = *sign;
	r->uncompared = t->n - 1;
	r->source[t->index].compared = true;
	for (int m = 0; m < t->n; m++)
		r->unread += shm_gives(r, m, t->index);
	return r;
}

void shm_request_free(struct rt_request *r)
{
	struct shm_team *t = r->slots;
	free(r->staged);
	free(r->transfer);
	r->next = t->unused;
	t->unused = r;
}

static void finish_slot(struct shm *s, struct rt_request *r, enum shm_finished what)
{
	if (shm_team_finish(r->slots, r->sequence, what))
		shm_tell_others(s, r);
}

static bool can_publish(struct rt_request *r)
{
	return r->slots->published == r->sequence && shm_team_free(r->slots, r->sequence);
}

static bool has_all(const struct rt_request *r)
{
	bool all = r->c.kind == COLLECTIVE_BARRIER || shm_may_split(r); /* all of them must be seen */
	return r->unread == 0 && r->receiving == 0 && (!all || r->uncompared == 0);
}

static bool reduces_here(const struct rt_request *r)
{
	return collective_reduces(r->c.kind) &&
	       (r->c.kind != COLLECTIVE_REDUCE || r->split || shm_is_root(r, r->team->index));
}

static void advance_reduction(struct shm *s, struct rt_request *r)
{
	reduce_some(r);
	if (r->reduced < reduced_here(r).count)
		return;
	bool large = r->c.kind == COLLECTIVE_ALLREDUCE && !shm_reduces_all(r);
	r->phase = large || (r->split && shm_is_root(r, r->team->index)) ? SHM_GATHERING : SHM_READ;
	if (large || r->split)
		show_reduced(s, r);
	if (r->phase == SHM_READ)
		finish_slot(s, r, SHM_HAS_READ);
}

enum status shm_collective_advance(struct shm *s, struct rt_request *r, bool *moved)
{
	enum status status = STATUS_OK;
	if (r->phase == SHM_UNPUBLISHED) {
		if (!can_publish(r))
			return STATUS_OK;
		shm_publish(s, r);
		copy_own(r);
		r->phase = SHM_READING;
		*moved = true;
	}
	if (r->uncompared > 0) {
		status = compare_slots(s, r, moved);
		if (status == STATUS_OK && r->uncompared == 0)
			finish_slot(s, r, SHM_HAS_COMPARED);
	}
	if (r->phase == SHM_GATHERING && status == STATUS_OK)
		status = look_reduced(s, r, moved);
	if (status != STATUS_OK)
		return status;
	if (r->phase == SHM_READING || r->phase == SHM_GATHERING) {
		copy_found(r, moved);
		if (!has_all(r))
			return STATUS_OK;
		*moved = true;
		if (r->phase == SHM_READING) {
			r->split = shm_may_split(r) && find_reduce_split(s, r);
			r->push = find_push_targets(s, r);
		}
		if (r->phase == SHM_READING && reduces_here(r)) {
			r->phase = SHM_REDUCING;
		} else {
			r->phase = SHM_READ;
			finish_slot(s, r, SHM_HAS_READ);
		}
	}
	if (r->phase == SHM_REDUCING) {
		*moved = true;
		advance_reduction(s, r);
	}
	return STATUS_OK;
}

bool shm_collective_done(const struct rt_request *r)
{
	if (r->phase != SHM_READ || r->sending > 0)
		return false;
	if (!(r->sign.how & SHM_INLINE) && r->sign.how & (SHM_IN | SHM_OUT))
		for (int m = 0; m < r->team->n; m++)
			if ((shm_gives(r, r->team->index, m) || (r->split && m != r->team->index)) &&
			    !shm_team_has_read(r->slots, m, r->sequence))
				return false;
	return true;
}

bool shm_collective_ready(struct rt_request *r)
{
	if (r->phase == SHM_UNPUBLISHED)
		return can_publish(r);
	for (int m = 0; r->uncompared > 0 && m < r->team->n; m++)
		if (!r->source[m].compared &&
		    atomic_load(&shm_team_slot(r->slots, m, r->sequence)->stamp) == r->sequence + 1)
			return true;
	switch (r->phase) {
	case SHM_UNPUBLISHED:
		break;
	case SHM_GATHERING:
		for (int m = 0; m < r->team->n; m++)
			if (m != r->team->index && !r->source[m].reduced && is_reduced(r, m))
				return true;
		return has_all(r);
	case SHM_READING:
		return has_all(r);
	case SHM_REDUCING:
		return true;
	case SHM_READ:
		return !r->ended && shm_collective_done(r);
	}
	return false;
}

enum status shm_collective_start(struct shm *s, const struct rt_collective *c, struct rt_request **out)
{
	bool moved, done = false;
	struct shm_sign sign = sign_of(c, s->team[c->team].n);
	bool published = shm_small_publish(s, c, &sign);
	rt_transport_count(&s->base, c);
	shm_ring_bells(s); /* by now the others' slots are on their way */
	enum status status = published ? shm_small_end(s, c, &sign, &done) : STATUS_OK;
	*out = NULL;
	if (done || status != STATUS_OK)
		return status;
	struct rt_request *r = *out = request_new(s, c, &sign);
	if (published) {
		copy_own(r);
		r->phase = SHM_READING;
	}
	return shm_collective_advance(s, r, &moved);
}
