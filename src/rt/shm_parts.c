/* shm_parts: see shm_parts.h. */
#include "rt/shm_parts.h"

enum { SPLIT_BYTES = 16 << 10 /* size of a Reduce from which on all members reduce */ };

int64_t shm_element_bytes(const struct rt_request *r)
{
	return (int64_t)dtype_bytes(r->c.dtype);
}

bool shm_is_root(const struct rt_request *r, int member)
{
	return collective_is_rooted(r->c.kind) && member == r->c.root;
}

bool shm_gives(const struct rt_request *r, int from, int to)
{
	return from != to && rt_collective_gives(&r->c, from, to);
}

bool shm_gives_any(const struct rt_request *r, int from)
{
	return shm_gives(r, from,
	                 collective_is_rooted(r->c.kind) && from != r->c.root ? r->c.root
	                                                                      : (from + 1) % r->team->n);
}

bool shm_reduces_all(const struct rt_request *r)
{
	return r->c.kind == COLLECTIVE_ALLREDUCE && r->c.count * shm_element_bytes(r) <= SHM_INLINE_BYTES;
}

bool shm_may_split(const struct rt_request *r)
{
	return r->c.kind == COLLECTIVE_REDUCE && r->c.count * shm_element_bytes(r) >= SPLIT_BYTES;
}

bool shm_has_blocks(const struct rt_request *r)
{
	enum collective k = r->c.kind;
	return collective_in(k) == PART_EACH || (k == COLLECTIVE_ALLREDUCE && !shm_reduces_all(r));
}

struct rt_block shm_part(const struct rt_request *r, int member)
{
	return shm_reduces_all(r) ? (struct rt_block){.count = r->c.count}
	                          : rt_even_block(r->c.count, r->team->n, member);
}

struct rt_block shm_given(const struct rt_request *r, int to)
{
	return r->c.kind == COLLECTIVE_ALLREDUCE ? shm_part(r, to)
	                                         : rt_collective_given(&r->c, r->team->index, to);
}

struct rt_block shm_taken(const struct rt_request *r, int from)
{
	if (r->c.kind == COLLECTIVE_ALLREDUCE)
		return (struct rt_block){.count = shm_part(r, r->team->index).count};
	return rt_collective_taken(&r->c, r->team->index, from);
}
