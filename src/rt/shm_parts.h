/* shm_parts: finds the elements that members of a collective give to each other. */
#ifndef HIRC_RT_SHM_PARTS_H
#define HIRC_RT_SHM_PARTS_H
#include "rt/shm.h"
#include <string.h>

int64_t shm_element_bytes(const struct rt_request *r);
bool shm_is_root(const struct rt_request *r, int member);
/* Returns true if member `from` gives anything to member `to`. */
bool shm_gives(const struct rt_request *r, int from, int to);
/* Returns true if a member gives anything. */
bool shm_gives_any(const struct rt_request *r, int from);
/* Returns true for an Allreduce in which each member reduces everything. */
bool shm_reduces_all(const struct rt_request *r);
/* Returns true for a Reduce that may be split. It is split if all members see the root's result and each
 * other's operands. */
bool shm_may_split(const struct rt_request *r);
/* Returns true if each reader has a block of its own in `in`; otherwise all read the same. */
bool shm_has_blocks(const struct rt_request *r);
/* Returns the part of an Allreduce that a member reduces. */
struct rt_block shm_part(const struct rt_request *r, int member);
/* Returns the block that this member gives to member `to`, in elements of in. */
struct rt_block shm_given(const struct rt_request *r, int to);
/* Returns the block that member `from` gives to this one, in elements of out; for reductions, of the
 * part that this member reduces. */
struct rt_block shm_taken(const struct rt_request *r, int from);

/* Copies bytes. If there are none, the pointers may be NULL. */
static inline void shm_copy(void *to, const void *from, int64_t bytes)
{
	if (bytes)
		memcpy(to, from, (size_t)bytes);
}

#endif
