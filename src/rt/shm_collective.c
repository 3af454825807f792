/* shm_collective: collectives made of messages; every block goes directly to each rank that needs it.
 *
 *     Allgather      own block to each other member
 *     Broadcast      root to each; SendRecv: root to the other
 *     ReduceScatter  block j to member j, which reduces all it has got in team order
 *     Allreduce      both of them, on even blocks: phase 0 scatters, phase 1 gathers
 *     Gather         own block to the root; Scatter: the root's blocks to each
 *     Barrier        nothing to each other member
 *     Reduce         all to the root, which reduces; AllToAll, AllToAllv: blocks that are not empty */
#include "base/arena.h"
#include "rt/shm.h"
#include <stdlib.h>
#include <string.h>

enum { REDUCE_AT_ONCE = 64 << 10 /* elements, before other messages have their turn */ };

struct maker {
	struct shm *s;
	struct rt_request *r;
	uint64_t sequence;
	struct shm_sign sign;
	enum status status; /* of the first failure */
};

/* Adds a transfer with member j, and starts it if now. */
static struct shm_transfer *transfer(struct maker *m, bool send, int j, uint32_t phase, const void *data,
                                     int64_t elements, bool now)
{
	struct rt_request *r = m->r;
	struct shm_transfer *x = &r->transfer[r->transfers++];
	*x = (struct shm_transfer){
	    .send = send,
	    .peer = r->team->rank[j],
	    .key = {.channel = SHM_TEAM + (uint32_t)r->c.team, .phase = phase, .sequence = m->sequence},
	    .sign = m->sign,
	    .data = (char *)data, /* a send only reads it */
	    .bytes = elements * (int64_t)rt_dtype_size(r->c.dtype),
	    .pending = &r->pending,
	};
	r->pending++;
	if (now && m->status == STATUS_OK)
		m->status = send ? shm_send(m->s, x) : shm_receive(m->s, x);
	return x;
}

static const char *element(const struct rt_request *r, const void *base, int64_t i)
{
	return (const char *)base + i * (int64_t)rt_dtype_size(r->c.dtype);
}

/* Transfers of the reducing kinds are first the receives of phase 0, in the order of peers(). */
static int nth_peer(const struct rt_request *r, int i)
{
	return (r->team->index + 1 + i) % r->team->n;
}

static void scatter(struct maker *m)
{
	struct rt_request *r = m->r;
	int n = r->team->n;
	struct rt_block own = r->block[r->team->index];
	size_t bytes = (size_t)own.count * rt_dtype_size(r->c.dtype);
	r->staged = mem_alloc((size_t)(n - 1) * bytes);
	for (int i = 0; i < n - 1; i++)
		transfer(m, false, nth_peer(r, i), 0, r->staged + (size_t)i * bytes, own.count, true);
	for (int i = 0; i < n - 1; i++) {
		struct rt_block b = r->block[nth_peer(r, i)];
		transfer(m, true, nth_peer(r, i), 0, element(r, r->c.in, b.offset), b.count, true);
	}
}

static void gather(struct maker *m, uint32_t phase, const void *own_block, bool send_now)
{
	struct rt_request *r = m->r;
	int n = r->team->n;
	for (int i = 0; i < n - 1; i++) {
		struct rt_block b = r->block[nth_peer(r, i)];
		transfer(m, false, nth_peer(r, i), phase, element(r, r->c.out, b.offset), b.count, true);
	}
	for (int i = 0; i < n - 1; i++)
		transfer(m, true, nth_peer(r, i), phase, own_block, r->block[r->team->index].count, send_now);
}

/* Every other member's whole buffer goes to the root. */
static void to_root(struct maker *m)
{
	struct rt_request *r = m->r;
	const struct rt_collective *c = &r->c;
	size_t bytes = (size_t)c->count * rt_dtype_size(c->dtype);
	if (r->team->index != c->root) {
		transfer(m, true, c->root, 0, c->in, c->count, true);
		return;
	}
	r->staged = mem_alloc((size_t)(r->team->n - 1) * bytes);
	for (int i = 0; i < r->team->n - 1; i++)
		transfer(m, false, nth_peer(r, i), 0, r->staged + (size_t)i * bytes, c->count, true);
}

static void copy_own(struct rt_request *r, char *to, const char *from, int64_t n)
{
	if (to != from && n)
		memmove(to, from, (size_t)n * rt_dtype_size(r->c.dtype));
}

/* Gather and Scatter: blocks between the root and the others. */
static void blocks_of_root(struct maker *m)
{
	struct rt_request *r = m->r;
	const struct rt_collective *c = &r->c;
	bool gathers = c->kind == RT_GATHER;
	struct rt_block own = r->block[r->team->index];
	if (r->team->index != c->root) {
		transfer(m, gathers, c->root, 0, gathers ? c->in : c->out, own.count, true);
		return;
	}
	for (int i = 0; i < r->team->n - 1; i++) {
		struct rt_block b = r->block[nth_peer(r, i)];
		transfer(m, !gathers, nth_peer(r, i), 0, element(r, gathers ? c->out : c->in, b.offset),
		         b.count, true);
	}
	if (gathers)
		copy_own(r, (char *)element(r, c->out, own.offset), c->in, own.count);
	else
		copy_own(r, c->out, element(r, c->in, own.offset), own.count);
}

static void exchange(struct maker *m)
{
	struct rt_request *r = m->r;
	const struct rt_collective *c = &r->c;
	for (int i = 0; i < r->team->n - 1; i++) {
		struct rt_block b = r->block[nth_peer(r, i)];
		if (b.count)
			transfer(m, false, nth_peer(r, i), 0, element(r, c->out, b.offset), b.count, true);
	}
	for (int i = 0; i < r->team->n - 1; i++) {
		struct rt_block b = rt_collective_send_block(c, nth_peer(r, i));
		if (b.count)
			transfer(m, true, nth_peer(r, i), 0, element(r, c->in, b.offset), b.count, true);
	}
	struct rt_block to = r->block[r->team->index], from = rt_collective_send_block(c, r->team->index);
	copy_own(r, (char *)element(r, c->out, to.offset), element(r, c->in, from.offset), to.count);
}

/* What a member reduces of a Reduce: all, on the root. */
static struct rt_block reduced_block(const struct rt_collective *c, int index)
{
	return (struct rt_block){.count = index == c->root ? c->count : 0};
}

static void from_root(struct maker *m)
{
	struct rt_request *r = m->r;
	const struct rt_collective *c = &r->c;
	if (r->team->index != c->root) {
		transfer(m, false, c->root, 0, c->out, c->count, true);
		return;
	}
	for (int i = 0; i < r->team->n - 1; i++)
		transfer(m, true, nth_peer(r, i), 0, c->in, c->count, true);
	if (c->kind == RT_BROADCAST && c->out != c->in && c->count)
		memcpy(c->out, c->in, (size_t)c->count * rt_dtype_size(c->dtype));
}

/* Elements of the whole, where all members know it. */
static int64_t common_count(const struct rt_collective *c, int members)
{
	bool known = c->kind != RT_GATHER && c->kind != RT_SCATTER && !rt_collective_exchanges(c->kind);
	return known ? rt_collective_total(c, members) : 0;
}

enum status shm_collective_start(struct shm *s, const struct rt_team *team, const struct rt_collective *c,
                                 uint64_t sequence, struct rt_request **out)
{
	size_t most = 4 * (size_t)team->n; /* of transfers */
	struct rt_request *r = mem_zalloc(sizeof *r + most * sizeof r->transfer[0]);
	r->c = *c;
	r->team = team;
	r->block = mem_alloc((size_t)team->n * sizeof *r->block);
	for (int i = 0; i < team->n; i++)
		r->block[i] = rt_collective_has_blocks(c->kind) ? rt_collective_block(c, i)
		              : c->kind == RT_REDUCE            ? reduced_block(c, i)
		                                                : rt_even_block(c->count, team->n, i);
	struct maker m = {.s = s, .r = r, .sequence = sequence};
	m.sign = (struct shm_sign){.kind = (uint8_t)c->kind,
	                           .counted = (uint8_t)rt_collective_counted(c),
	                           .dtype = (uint8_t)c->dtype,
	                           .label = c->at.label,
	                           .op = rt_collective_reduces(c->kind) ? (uint8_t)c->op : 0,
	                           .root = rt_collective_is_rooted(c->kind) ? c->root : 0,
	                           .count = common_count(c, team->n)};
	struct rt_block own = r->block[team->index];
	switch (c->kind) {
	case RT_ALLGATHER: {
		char *place = (char *)element(r, c->out, own.offset);
		if (place != c->in && own.count)
			memmove(place, c->in, (size_t)own.count * rt_dtype_size(c->dtype));
		gather(&m, 0, c->in, true);
		break;
	}
	case RT_BARRIER:
		gather(&m, 0, NULL, true);
		break;
	case RT_REDUCE_SCATTER:
		scatter(&m);
		break;
	case RT_ALLREDUCE:
		scatter(&m);
		gather(&m, 1, element(r, c->out, own.offset), false);
		break;
	case RT_REDUCE:
		to_root(&m);
		break;
	case RT_GATHER:
	case RT_SCATTER:
		blocks_of_root(&m);
		break;
	case RT_ALL_TO_ALL:
	case RT_ALL_TO_ALLV:
		exchange(&m);
		break;
	default:
		from_root(&m);
		break;
	}
	*out = r;
	return m.status;
}

/* Elements of the own block that all others have sent. */
static int64_t available(const struct rt_request *r)
{
	int64_t least = r->block[r->team->index].count;
	for (int i = 0; i < r->team->n - 1; i++) {
		int64_t n = r->transfer[i].moved / (int64_t)rt_dtype_size(r->c.dtype);
		least = n < least ? n : least;
	}
	return least;
}

static void reduce_some(struct rt_request *r, int64_t n)
{
	const void *fixed[16], **in = r->team->n <= 16 ? fixed : mem_alloc((size_t)r->team->n * sizeof *in);
	int terms = 0;
	struct rt_block own = r->block[r->team->index];
	char *out = r->c.kind == RT_ALLREDUCE ? (char *)element(r, r->c.out, own.offset) : r->c.out;
	for (int k = 0; k < r->team->n; k++) { /* in team order */
		int peer = (k - r->team->index - 1 + r->team->n) % r->team->n;
		if (k != r->team->index)
			in[terms++] = element(r, r->transfer[peer].data, r->reduced);
		else if (r->c.in)
			in[terms++] = element(r, r->c.in, own.offset + r->reduced);
	}
	rt_reduce_arrays(r->c.op, r->c.dtype, (char *)element(r, out, r->reduced), in, terms, (size_t)n);
	r->reduced += n;
	if (in != fixed)
		free(in);
}

enum status shm_collective_advance(struct shm *s, struct rt_request *r, bool *moved)
{
	if (!rt_collective_reduces(r->c.kind))
		return STATUS_OK;
	int64_t own = r->block[r->team->index].count;
	if (r->reduced < own) {
		int64_t n = available(r) - r->reduced;
		if (n > 0) {
			reduce_some(r, n < REDUCE_AT_ONCE ? n : REDUCE_AT_ONCE);
			*moved = true;
		}
	}
	if (r->c.kind != RT_ALLREDUCE || r->gathering || r->reduced < own)
		return STATUS_OK;
	r->gathering = true;
	for (int i = 0; i < r->transfers; i++)
		if (r->transfer[i].state == SHM_NEW) {
			enum status status = shm_send(s, &r->transfer[i]);
			if (status != STATUS_OK)
				return status;
		}
	*moved = true;
	return STATUS_OK;
}

bool shm_collective_done(const struct rt_request *r)
{
	return r->pending == 0 &&
	       (!rt_collective_reduces(r->c.kind) || r->reduced == r->block[r->team->index].count);
}

void shm_request_free(struct rt_request *r)
{
	free(r->block);
	free(r->staged);
	free(r);
}
