/* mixed_split: splits a collective into parts on two transports; see transport_mixed.c.
 *
 *     Allreduce, 2 hosts of 2 ranks, rank 0:   ReduceScatter near (0 1), then Allreduce far (0 2), then
 *                                              Allgather near (0 1) */
#include "base/arena.h"
#include "rt/mixed.h"
#include <stdlib.h>

static char *stage_memory(struct rt_request *r, size_t bytes)
{
	if (bytes > r->staged_bytes) {
		free(r->staged);
		r->staged = mem_alloc(bytes);
		r->staged_bytes = bytes;
	}
	return r->staged;
}

/* Adds a part: the same collective on another transport; the caller sets its team and buffers. */
static struct rt_collective *part_new(struct rt_request *r, struct rt_transport *on, int team, int stage)
{
	struct part *p = &r->part[r->parts++];
	*p = (struct part){.on = on, .c = r->c, .stage = stage};
	p->c.team = team;
	p->c.counted = (uint8_t)(1 + rt_collective_counted(&r->c));
	p->c.counts = p->c.offsets = NULL;
	r->stages = stage + 1 > r->stages ? stage + 1 : r->stages;
	return &p->c;
}

static void part_blocks(struct rt_collective *c, const int64_t *counts, const int64_t *offsets)
{
	c->counts = counts;
	c->offsets = offsets;
}

/* The blocks of the whole collective, by host and place; in staged memory, followed by `more` bytes. */
struct blocks {
	int64_t *count, *offset;           /* by host * each + place */
	int64_t *rail_count, *rail_offset; /* blocks of this rank's rail, by host */
	char *more;
};

static struct blocks blocks_of(struct rt_request *r, const struct mixed_team *t, size_t more)
{
	size_t n = (size_t)t->hosts * (size_t)t->each, lists = 2 * n + 2 * (size_t)t->hosts;
	struct blocks b;
	b.count = (int64_t *)stage_memory(r, lists * sizeof *b.count + more);
	b.offset = b.count + n;
	b.rail_count = b.offset + n;
	b.rail_offset = b.rail_count + t->hosts;
	b.more = (char *)(b.rail_offset + t->hosts);
	for (int h = 0; h < t->hosts; h++)
		for (int k = 0; k < t->each; k++) {
			size_t i = (size_t)(h * t->each + k);
			struct rt_block x = rt_collective_block(&r->c, t->member[i]);
			b.count[i] = x.count, b.offset[i] = x.offset;
			if (k == t->place)
				b.rail_count[h] = x.count, b.rail_offset[h] = x.offset;
		}
	return b;
}

static void *get_buffer_element(const struct rt_collective *c, const void *buffer, int64_t i)
{
	return (char *)buffer + (size_t)i * dtype_bytes(c->dtype);
}

static void split_allgather(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	struct blocks b = blocks_of(r, t, 0);
	struct rt_collective *c = part_new(r, m->far, t->rail_id, 0);
	part_blocks(c, b.rail_count, b.rail_offset);
	for (int k = 0; k < t->hosts; k++) {
		int h = (t->host + k) % t->hosts, first = h * t->each;
		c = part_new(r, m->near, t->near_id, k != 0);
		part_blocks(c, b.count + first, b.offset + first);
		if (k)
			c->in = get_buffer_element(c, c->out, b.offset[first + t->place]);
	}
}

static void split_broadcast(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	int root = 0;
	while (t->member[root] != r->c.root)
		root++;
	bool on_rail = t->place == root % t->each, own = on_rail && t->host == root / t->each;
	if (on_rail)
		part_new(r, m->far, t->rail_id, 0)->root = root / t->each;
	struct rt_collective *c = part_new(r, m->near, t->near_id, on_rail && !own);
	c->root = root % t->each;
	if (on_rail && !own)
		c->in = c->out;
}

/* Returns true if a reduction needs its wide type: the type differs from the buffers', or a mean is to
 * end. */
static bool is_wide(const struct rt_collective *c)
{
	return c->dtype != dtype_wide(c->dtype) || c->op == REDUCE_AVG;
}

static void split_reduce_scatter(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	enum dtype type = r->c.dtype, wide = dtype_wide(type);
	size_t size = dtype_bytes(wide);
	bool widen = is_wide(&r->c);
	int n = t->hosts * t->each;
	int64_t rail = 0, total = rt_collective_total(&r->c, n);
	for (int h = 0; h < t->hosts; h++)
		rail += rt_collective_block(&r->c, t->member[h * t->each + t->place]).count;
	int64_t own = rt_collective_block(&r->c, t->member[t->host * t->each + t->place]).count;
	int64_t more = rail + (widen ? total + own : 0);
	struct blocks b = blocks_of(r, t, (size_t)more * size);
	char *sums = b.more;
	const char *in = r->c.in;
	if (widen) { /* one block after the other */
		char *to = sums + (size_t)rail * size;
		int64_t at = 0;
		for (int i = 0; i < n; i++) {
			rt_convert(wide, to + (size_t)at * size, type,
			           get_buffer_element(&r->c, in, b.offset[i]), (size_t)b.count[i]);
			b.offset[i] = at;
			at += b.count[i];
		}
		in = to;
	}
	rail = 0;
	for (int h = 0; h < t->hosts; h++) {
		struct rt_collective *c = part_new(r, m->near, t->near_id, 0);
		part_blocks(c, b.count + h * t->each, b.offset + h * t->each);
		c->in = in;
		c->out = sums + (size_t)rail * size;
		b.rail_offset[h] = rail;
		rail += b.rail_count[h];
	}
	struct rt_collective *c = part_new(r, m->far, t->rail_id, 1);
	part_blocks(c, b.rail_count, b.rail_offset);
	c->in = sums;
	if (widen) {
		c->out = r->wide = sums + (size_t)(rail + total) * size;
		r->round_after = 1;
		r->round_to = r->c.out;
		r->round_n = own;
	}
}

static void split_allreduce(struct mixed *m, struct rt_request *r, const struct mixed_team *t)
{
	enum dtype type = r->c.dtype, wide = dtype_wide(type);
	size_t size = dtype_bytes(wide);
	bool widen = is_wide(&r->c);
	struct rt_block own = rt_even_block(r->c.count, t->each, t->place);
	size_t lists = 2 * (size_t)t->each * sizeof(int64_t);
	int64_t *counts =
	    (int64_t *)stage_memory(r, lists + (widen ? (size_t)(r->c.count + own.count) * size : 0));
	int64_t *offsets = counts + t->each;
	for (int k = 0; k < t->each; k++) {
		struct rt_block x = rt_even_block(r->c.count, t->each, k);
		counts[k] = x.count, offsets[k] = x.offset;
	}
	void *piece = get_buffer_element(&r->c, r->c.out, own.offset), *sum = piece;
	const void *in = r->c.in;
	if (widen) {
		char *all = (char *)(offsets + t->each);
		rt_convert(wide, all, type, in, (size_t)r->c.count);
		in = all;
		sum = r->wide = all + (size_t)r->c.count * size;
		r->round_after = 1;
		r->round_to = piece;
		r->round_n = own.count;
	}
	struct rt_collective *c = part_new(r, m->near, t->near_id, 0);
	c->kind = COLLECTIVE_REDUCE_SCATTER;
	part_blocks(c, counts, offsets);
	c->in = in, c->out = sum;
	c = part_new(r, m->far, t->rail_id, 1);
	c->count = own.count;
	c->in = sum, c->out = sum;
	c = part_new(r, m->near, t->near_id, 2);
	c->kind = COLLECTIVE_ALLGATHER;
	part_blocks(c, counts, offsets);
	c->in = piece;
}

/* Makes the parts before the rounding use the wide type, with a sum in place of a mean. */
static void widen_parts(struct rt_request *r)
{
	for (int i = 0; i < r->parts; i++)
		if (r->round_after >= 0 && r->part[i].stage <= r->round_after) {
			struct rt_collective *c = &r->part[i].c;
			c->op = c->op == REDUCE_AVG ? REDUCE_SUM : c->op;
			c->dtype = dtype_wide(c->dtype);
		}
}

void mixed_split(struct mixed *m, struct rt_request *r)
{
	const struct mixed_team *t = r->team;
	bool rails = t->hosts > 1 && t->each > 1;
	switch (t->hosts == 1 || !rails ? COLLECTIVE_BARRIER : r->c.kind) {
	case COLLECTIVE_ALLGATHER:
		split_allgather(m, r, t);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		split_reduce_scatter(m, r, t);
		break;
	case COLLECTIVE_ALLREDUCE:
		split_allreduce(m, r, t);
		break;
	case COLLECTIVE_BROADCAST:
		split_broadcast(m, r, t);
		break;
	default: {
		bool near = t->hosts == 1;
		struct rt_collective *c =
		    part_new(r, near ? m->near : m->far, near ? t->near_id : t->far_id, 0);
		part_blocks(c, r->c.counts, r->c.offsets);
		break;
	}
	}
	widen_parts(r);
}
