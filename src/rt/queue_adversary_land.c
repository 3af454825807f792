/* queue_adversary_land: delivers results of communications late.
 *
 *     allgather c0, allgather c1     one after the other, as on any communicator
 *     wait(c1), use of c0's result   c0 has run, but nothing guarantees that its result was written
 *
 * A communication may write its result at any time before the end of its wait. So its result goes to a
 * shadow, memory of its own, which is copied to the result at a chosen time, possibly after later work
 * of the communicator. */
#include "base/arena.h"
#include "rt/queue_adversary.h"
#include <string.h>

/* Returns true if this member receives data into a buffer that is not also its input. */
static bool gets(const struct rt_collective *c, const struct rt_team *team)
{
	bool root = team->index == c->root;
	if (!c->out || c->out == c->in || c->kind == COLLECTIVE_BARRIER)
		return false;
	if (collective_is_to_root(c->kind))
		return root;
	return c->kind != COLLECTIVE_SEND_RECV || !root || team->n == 1;
}

/* Returns true if `out` is the larger of the two buffers. */
static bool gets_blocks(const struct rt_collective *c)
{
	return collective_out(c->kind) == PART_EACH;
}

/* Returns the number of blocks that `out` receives. */
static int block_count(const struct rt_collective *c, const struct rt_team *team)
{
	return gets_blocks(c) ? team->n : 1;
}

static struct rt_block block_of(const struct rt_collective *c, const struct rt_team *team, int k)
{
	return rt_collective_taken(c, team->index, k);
}

/* Returns the number of elements up to the end of the last block. */
static int64_t extent(const struct rt_collective *c, const struct rt_team *team)
{
	int64_t most = 0;
	if (c->late_counts)
		return c->late_room * c->late_unit;
	for (int k = 0; k < block_count(c, team); k++) {
		struct rt_block b = block_of(c, team, k);
		most = b.count && b.offset + b.count > most ? b.offset + b.count : most;
	}
	return most;
}

void adverse_shadow(struct adverse_engine *e, struct adverse_comm *c)
{
	struct rt_collective *r = &c->item.c;
	struct rt_p2p *p = &c->item.p;
	const struct rt_team *team = c->item.message ? NULL : &e->base.transport->team[r->team];
	if (c->item.message ? p->send || !p->data : !gets(r, team))
		return;
	size_t size = dtype_bytes(c->item.message ? p->dtype : r->dtype);
	int64_t n = c->item.message ? p->count : extent(r, team);
	if (n <= 0)
		return;
	c->out = c->item.message ? p->data : r->out;
	c->shadow = mem_alloc((size_t)n * size);
	memset(c->shadow, 0xff, (size_t)n * size);
	if (c->item.message)
		p->data = c->shadow;
	else
		r->out = c->shadow;
}

void adverse_land(struct adverse_engine *e, struct adverse_comm *c)
{
	const struct rt_collective *r = &c->item.c;
	if (c->item.message) {
		memcpy(c->out, c->shadow, (size_t)c->item.p.count * dtype_bytes(c->item.p.dtype));
		return;
	}
	const struct rt_team *team = &e->base.transport->team[r->team];
	int64_t size = (int64_t)dtype_bytes(r->dtype);
	for (int k = 0; k < block_count(r, team); k++) {
		struct rt_block b = block_of(r, team, k);
		memcpy(c->out + b.offset * size, c->shadow + b.offset * size, (size_t)(b.count * size));
	}
}
