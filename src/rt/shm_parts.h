/* shm_parts: which elements a member of a collective gives to which other. */
#ifndef HIRC_RT_SHM_PARTS_H
#define HIRC_RT_SHM_PARTS_H
#include "rt/shm.h"
#include <string.h>

int64_t shm_element_bytes(const struct rt_request *r);
bool shm_is_root(const struct rt_request *r, int member);
/* Returns true if member `from` has something for member `to`. */
bool shm_gives(const struct rt_request *r, int from, int to);
/* Returns true if a member of a team of n gives anything. */
bool shm_gives_any(const struct rt_request *r, int from);
/* An Allreduce of which each member reduces all. */
bool shm_reduces_all(const struct rt_request *r);
/* A Reduce that may be split. It is if all see the root's result and each other's operands. */
bool shm_may_split(const struct rt_request *r);
/* Each reader has a block of its own in `in`; else all read the same. */
bool shm_has_blocks(const struct rt_request *r);
/* Returns the part of an Allreduce that a member reduces. */
struct rt_block shm_part(const struct rt_request *r, int member);
/* Returns the block that this member gives to member `to`, in elements of in. */
struct rt_block shm_given(const struct rt_request *r, int to);
/* Returns the block that member `from` gives to this one, in elements of out (reductions: of the part that is
 * reduced here). */
struct rt_block shm_taken(const struct rt_request *r, int from);

/* Copies bytes; where there are none, there may be no memory. */
static inline void shm_copy(void *to, const void *from, int64_t bytes)
{
	if (bytes)
		memcpy(to, from, (size_t)bytes);
}

#endif
