/* shm_small: does collectives whose payloads are all in slots, while they are started.
 *
 *     the own slot is published ── looks at all others for about 0.3 µs ──> all are published: the end
 *                                                                   └──> otherwise a request goes on
 *
 * A member that only gives is done when it has published its slot. It compares the others' signs later:
 * at every OWED-th such collective, when there is nothing else to do, and at the end. To look at once
 * would take the cache line away from the member that is about to write it.
 *
 * One cache line of a slot contains its stamp, its sign and 32 bytes of payload. So a small collective
 * costs one line a member, which one rank writes and the others read. Nothing waits until a store is
 * seen; ranks that may sleep are woken at the end. Unusual cases (other signs, lists of blocks) are left
 * to the request. */
#include "rt/shm.h"
#include <string.h>

enum {
	MOST_MEMBERS = 16, /* members of a team whose small collectives end at once */
	OWED = 8,          /* collectives whose signs are compared together */
	AHEAD_BYTES = 256, /* bytes of payload whose lines are fetched before they are written */
};

/* The layout of a member's slot in bytes. */
struct shape {
	size_t block;
	int given;   /* number of blocks in this member's slot */
	bool spread; /* one block for each reader; otherwise the same for all */
	bool takes;  /* receives from each other member, or from the root */
};

static bool shape_of(const struct rt_collective *c, int n, int own, struct shape *x)
{
	if (c->counts || c->offsets || c->send_counts || c->send_offsets || n > MOST_MEMBERS)
		return false;
	bool spread = collective_in(c->kind) == PART_EACH;
	int other = collective_is_rooted(c->kind) && own != c->root ? c->root : (own + 1) % n;
	*x = (struct shape){.block = (size_t)c->count * dtype_bytes(c->dtype),
	                    .given = !rt_collective_gives(c, own, other) ? 0
	                             : spread                            ? n - 1
	                                                                 : 1,
	                    .spread = spread,
	                    .takes = rt_collective_gives(c, other, own)};
	return (x->spread ? (size_t)n - 1 : 1) * x->block <= SHM_INLINE_BYTES;
}

static void copy_payload_bytes(void *to, const void *from, size_t bytes)
{
	if (bytes == 8) /* the most frequent case */
		memcpy(to, from, 8);
	else if (bytes && to != from)
		memmove(to, from, bytes);
}

static void tell_others(struct shm *s, int id)
{
	const struct rt_team *team = &s->base.team[id];
	for (int m = 0; m < team->n; m++)
		if (m != team->index)
			shm_tell(s, team->rank[m]);
}

static void put_contribution(struct shm_slot *slot, int own, const char *in, const struct shape *x)
{
	size_t before = x->spread ? (size_t)own * x->block : 0, all = (size_t)x->given * x->block;
	if (!x->spread || before >= all) {
		copy_payload_bytes(shm_slot_payload(slot), in, all);
	} else if (all) {
		copy_payload_bytes(shm_slot_payload(slot), in, before);
		copy_payload_bytes(shm_slot_payload(slot) + before, in + before + x->block, all - before);
	}
}

/* Fetches the lines of a slot that others have read, in order to write them. Not for few lines if all
 * members wait for each other: the first member that looks would take them away again. */
static void own_soon(struct shm_slot *slot, size_t bytes)
{
#if defined(__x86_64__)
	for (size_t at = 0; at < offsetof(struct shm_slot, payload) + bytes; at += SHM_LINE)
		__asm__ volatile("prefetchw %0" : : "m"(((char *)slot)[at]));
#else
	for (size_t at = 0; at < offsetof(struct shm_slot, payload) + bytes; at += SHM_LINE)
		__builtin_prefetch((char *)slot + at, 1);
#endif
}

bool shm_small_publish(struct shm *s, const struct rt_collective *c, struct shm_sign *sign)
{
	struct shm_team *t = &s->team[c->team];
	struct shape x;
	if (t->published != t->next || !shape_of(c, t->n, t->index, &x))
		return false;
	for (int looks = s->looks; !shm_team_free(t, t->next); rt_pause())
		if (--looks < 0)
			return false;
	struct shm_slot *slot = shm_team_slot(t, t->index, t->next);
	sign->how = SHM_INLINE;
	sign->given = x.given ? (uint32_t)x.block : 0;
	slot->sign = *sign;
	put_contribution(slot, t->index, c->in, &x);
	atomic_store_explicit(&slot->stamp, t->next + 1, memory_order_release);
	t->published++;
	if (collective_is_rooted(c->kind) || (size_t)x.given * x.block >= AHEAD_BYTES)
		own_soon(shm_team_slot(t, t->index, t->published), (size_t)x.given * x.block);
	tell_others(s, c->team);
	return true;
}

/* Returns true if a member is done only when it has seen all others. Otherwise it needs only the root,
 * or nobody. */
static bool needs_all(const struct shm_team *t, const struct rt_collective *c)
{
	bool to_root = collective_is_to_root(c->kind), root = t->index == c->root;
	return !collective_is_rooted(c->kind) || (to_root ? root : t->n == 2 && !root);
}

/* Returns true if all members that this one needs have published the same collective. */
static bool all_there(const struct shm *s, struct shm_team *t, const struct rt_collective *c,
                      const struct shape *x, const struct shm_sign *sign)
{
	int looks = s->looks;
	bool all = needs_all(t, c);
	for (int m = 0; m < t->n; m++) {
		if (m == t->index || !(all || (x->takes && m == c->root)))
			continue;
		struct shm_slot *slot = shm_team_slot(t, m, t->next);
		while (atomic_load_explicit(&slot->stamp, memory_order_acquire) != t->next + 1)
			if (--looks < 0)
				return false;
			else
				rt_pause();
		bool gives =
		    x->takes && (!collective_is_rooted(c->kind) || m == c->root || t->index == c->root);
		if (slot->sign.kind != sign->kind || slot->sign.dtype != sign->dtype ||
		    slot->sign.op != sign->op || slot->sign.how != SHM_INLINE ||
		    slot->sign.root != sign->root || slot->sign.count != sign->count ||
		    (gives && slot->sign.given != x->block))
			return false;
	}
	return true;
}

static void take_blocks(struct shm_team *t, const struct rt_collective *c, const struct shape *x)
{
	bool one = collective_is_rooted(c->kind) && !collective_is_to_root(c->kind);
	for (int m = 0; m < t->n; m++) {
		if (m == t->index || (one && m != c->root))
			continue;
		const char *from = shm_slot_payload(shm_team_slot(t, m, t->next));
		copy_payload_bytes((char *)c->out + (one ? 0 : (size_t)m * x->block),
		                   from + (x->spread ? (size_t)shm_slot_index(m, t->index) * x->block : 0),
		                   x->block);
	}
}

/* Copies the payload that a member gives to itself; it is in its own slot. */
static void take_own(struct shm_team *t, const struct rt_collective *c, const struct shape *x)
{
	size_t size = dtype_bytes(c->dtype);
	struct rt_block from = rt_collective_given(c, t->index, t->index),
	                to = rt_collective_taken(c, t->index, t->index);
	if (rt_collective_gives(c, t->index, t->index))
		copy_payload_bytes((char *)c->out + (size_t)to.offset * size,
		                   (const char *)c->in + (size_t)from.offset * size, x->block);
}

/* Reduces the payloads in team order. */
static void reduce_payloads(struct shm_team *t, const struct rt_collective *c, const struct shape *x)
{
	const void *in[MOST_MEMBERS];
	int terms = 0;
	for (int m = 0; m < t->n; m++) {
		if (m != t->index)
			in[terms++] = shm_slot_payload(shm_team_slot(t, m, t->next)) +
			              (x->spread ? (size_t)shm_slot_index(m, t->index) * x->block : 0);
		else if (c->in)
			in[terms++] = (const char *)c->in + (x->spread ? (size_t)t->index * x->block : 0);
	}
	if (c->count)
		rt_reduce_arrays(c->op, c->dtype, c->out, in, terms, (size_t)c->count);
}

/* ---- comparing later */

/* Returns true if all members have published this collective. */
static bool all_published(const struct shm_team *t, uint64_t sequence)
{
	for (int m = 0; m < t->n; m++)
		if (m != t->index && atomic_load_explicit(&shm_team_slot(t, m, sequence)->stamp,
		                                          memory_order_acquire) != sequence + 1)
			return false;
	return true;
}

/* Finds the first collective whose signs this member has not compared yet. Returns false if there is
 * none. */
static bool first_owed(const struct shm_team *t, uint64_t *sequence)
{
	for (*sequence = t->done; t->owed > 0 && *sequence < t->published; ++*sequence)
		if (t->finished[*sequence % SHM_DEPTH] & SHM_OWES)
			return true;
	return false;
}

/* Compares all signs published so far. */
static enum status compare_published(struct shm *s, int id)
{
	struct shm_team *t = &s->team[id];
	const struct rt_team *team = &s->base.team[id];
	uint64_t sequence;
	while (first_owed(t, &sequence) && all_published(t, sequence)) {
		const struct shm_sign *own = &shm_team_slot(t, t->index, sequence)->sign;
		for (int m = 0; m < t->n; m++) {
			const struct shm_sign *other = &shm_team_slot(t, m, sequence)->sign;
			enum status status =
			    m == t->index ? STATUS_OK : shm_compare(s, own, 0, true, team->rank[m], other, 0);
			if (status != STATUS_OK)
				return status;
		}
		t->owed--;
		s->owed--;
		t->finished[sequence % SHM_DEPTH] &= (uint8_t)~SHM_OWES;
		if (shm_team_finish(t, sequence, SHM_HAS_COMPARED))
			tell_others(s, id);
	}
	return STATUS_OK;
}

enum status shm_small_settle(struct shm *s)
{
	enum status status = STATUS_OK;
	for (int id = 0; s->owed > 0 && id < s->teams && status == STATUS_OK; id++)
		status = compare_published(s, id);
	return status;
}

bool shm_small_ready(const struct shm *s)
{
	uint64_t sequence;
	for (int id = 0; s->owed > 0 && id < s->teams; id++)
		if (first_owed(&s->team[id], &sequence) && all_published(&s->team[id], sequence))
			return true;
	return false;
}

/* ---- the end */

enum status shm_small_end(struct shm *s, const struct rt_collective *c, const struct shm_sign *sign,
                          bool *done)
{
	struct shm_team *t = &s->team[c->team];
	struct shape x;
	*done = shape_of(c, t->n, t->index, &x) && all_there(s, t, c, &x, sign);
	if (!*done)
		return STATUS_OK;
	if (!collective_reduces(c->kind))
		take_own(t, c, &x);
	if (x.takes && collective_reduces(c->kind))
		reduce_payloads(t, c, &x);
	else if (x.takes)
		take_blocks(t, c, &x);
	if (needs_all(t, c)) {
		shm_team_finish(t, t->next++, SHM_HAS_READ | SHM_HAS_COMPARED);
		return STATUS_OK;
	}
	t->finished[t->next % SHM_DEPTH] |= SHM_OWES;
	t->owed++;
	s->owed++;
	shm_team_finish(t, t->next++, SHM_HAS_READ);
	return t->owed >= OWED ? compare_published(s, c->team) : STATUS_OK;
}
