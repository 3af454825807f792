/* shm_small: collectives whose payloads all stand in slots, done while they are started.
 *
 *     the own slot is published ── all others are looked at, for about 0.3 µs ──> all are there: the end
 *                                                                            └──> else a request goes on
 *
 * One line of a slot holds its stamp, its sign and 16 bytes of payload: a small collective costs the lines of
 * its members, each written by one and read by the others. Nothing waits for a store to be seen: whom it may
 * concern is woken at the end. Whatever is not usual (other signs, lists of blocks) is left to the request.
 */
#include "rt/shm.h"
#include <string.h>

enum {
	MOST_MEMBERS = 16 /* of a team whose small collectives end at once */
};

/* What stands where, in bytes. */
struct shape {
	size_t block;
	int given;   /* blocks that this member has in its slot */
	bool spread; /* one for each reader, else the same for all */
	bool takes;  /* something from each other member, or from the root */
};

static bool shape_of(const struct rt_collective *c, int n, int own, struct shape *x)
{
	bool root = own == c->root;
	if (c->counts || c->offsets || c->send_counts || c->send_offsets || n > MOST_MEMBERS)
		return false;
	*x = (struct shape){.block = (size_t)c->count * rt_dtype_size(c->dtype), .given = 1, .takes = true};
	switch (c->kind) {
	case RT_ALLGATHER:
	case RT_ALLREDUCE:
		break;
	case RT_REDUCE_SCATTER:
	case RT_ALL_TO_ALL:
	case RT_ALL_TO_ALLV:
		x->given = n;
		x->spread = true;
		break;
	case RT_BROADCAST:
	case RT_SEND_RECV:
		x->given = root;
		x->takes = !root;
		break;
	case RT_SCATTER:
		x->given = root ? n : 0;
		x->spread = true;
		x->takes = !root;
		break;
	case RT_REDUCE:
	case RT_GATHER:
		x->given = !root;
		x->takes = root;
		break;
	case RT_BARRIER:
	case RT_COLLECTIVE_COUNT:
		x->given = 0;
		x->takes = false;
		break;
	}
	return (x->spread ? (size_t)n : 1) * x->block <= SHM_INLINE_BYTES;
}

static void copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8) /* the case that this is for */
		memcpy(to, from, 8);
	else if (bytes && to != from)
		memmove(to, from, bytes);
}

bool shm_small_publish(struct shm *s, const struct rt_collective *c, struct shm_sign *sign)
{
	struct shm_team *t = &s->team[c->team];
	struct shape x;
	if (t->published != t->next || !shape_of(c, t->n, t->index, &x) || !shm_team_free(t, t->next))
		return false;
	struct shm_slot *slot = shm_team_slot(t, t->index, t->next);
	sign->how = SHM_INLINE;
	slot->sign = *sign;
	slot->bytes = x.given ? (int64_t)x.block : 0;
	copy(shm_slot_payload(slot), c->in, (size_t)x.given * x.block);
	atomic_store_explicit(&slot->stamp, t->next + 1, memory_order_release);
	t->published++;
	for (int m = 0; m < t->n; m++)
		if (m != t->index)
			shm_tell(s, s->base.team[c->team].rank[m]);
	return true;
}

/* Whether all others have published, and what fits. */
static bool all_there(const struct shm *s, struct shm_team *t, const struct rt_collective *c,
                      const struct shape *x, const struct shm_sign *sign)
{
	int looks = s->looks;
	for (int m = 0; m < t->n; m++) {
		if (m == t->index)
			continue;
		struct shm_slot *slot = shm_team_slot(t, m, t->next);
		while (atomic_load_explicit(&slot->stamp, memory_order_acquire) != t->next + 1)
			if (--looks < 0)
				return false;
			else
				rt_pause();
		bool gives =
		    x->takes && (!rt_collective_is_rooted(c->kind) || m == c->root || t->index == c->root);
		if (slot->sign.kind != sign->kind || slot->sign.dtype != sign->dtype ||
		    slot->sign.op != sign->op || slot->sign.how != SHM_INLINE ||
		    slot->sign.root != sign->root || slot->sign.count != sign->count ||
		    (gives && slot->bytes != (int64_t)x->block))
			return false;
	}
	return true;
}

static void take_blocks(struct shm_team *t, const struct rt_collective *c, const struct shape *x)
{
	bool one = c->kind == RT_BROADCAST || c->kind == RT_SEND_RECV || c->kind == RT_SCATTER;
	size_t own = (size_t)t->index * x->block;
	for (int m = 0; m < t->n; m++) {
		if (m == t->index || (one && m != c->root))
			continue;
		const char *from = shm_slot_payload(shm_team_slot(t, m, t->next));
		copy((char *)c->out + (one ? 0 : (size_t)m * x->block), from + (x->spread ? own : 0),
		     x->block);
	}
}

/* Its own slot holds what a member gives to itself. */
static void take_own(struct shm_team *t, const struct rt_collective *c, const struct shape *x)
{
	size_t at = (size_t)t->index * x->block;
	char *out = c->out;
	const char *in = c->in;
	switch (c->kind) {
	case RT_ALLGATHER:
		copy(out + at, in, x->block);
		break;
	case RT_ALL_TO_ALL:
	case RT_ALL_TO_ALLV:
		copy(out + at, in + at, x->block);
		break;
	case RT_GATHER:
		if (t->index == c->root)
			copy(out + at, in, x->block);
		break;
	case RT_SCATTER:
		if (t->index == c->root)
			copy(out, in + at, x->block);
		break;
	case RT_BROADCAST:
		if (t->index == c->root)
			copy(out, in, x->block);
		break;
	default:
		break;
	}
}

/* In team order. */
static void reduce(struct shm_team *t, const struct rt_collective *c, const struct shape *x)
{
	const void *in[MOST_MEMBERS];
	size_t at = x->spread ? (size_t)t->index * x->block : 0;
	int terms = 0;
	for (int m = 0; m < t->n; m++) {
		if (m != t->index)
			in[terms++] = shm_slot_payload(shm_team_slot(t, m, t->next)) + at;
		else if (c->in)
			in[terms++] = (const char *)c->in + at;
	}
	if (c->count)
		rt_reduce_arrays(c->op, c->dtype, c->out, in, terms, (size_t)c->count);
}

bool shm_small_end(struct shm *s, const struct rt_collective *c, const struct shm_sign *sign)
{
	struct shm_team *t = &s->team[c->team];
	struct shape x;
	if (!shape_of(c, t->n, t->index, &x) || !all_there(s, t, c, &x, sign))
		return false;
	if (rt_collective_reduces(c->kind)) {
		if (x.takes)
			reduce(t, c, &x);
	} else {
		take_own(t, c, &x);
		if (x.takes)
			take_blocks(t, c, &x);
	}
	shm_team_finish(t, t->next++, SHM_HAS_READ | SHM_HAS_COMPARED);
	return true;
}
