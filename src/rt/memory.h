/* memory: places in the ranks' memory (rt_transport_alloc), as numbers that have the same meaning on all
 * ranks; private to src/rt. */
#ifndef HIRC_RT_MEMORY_H
#define HIRC_RT_MEMORY_H
#include "rt/transport.h"

/* Returns the place of an address; -1: it is not in this rank's memory, or peers do not see it. */
int64_t rt_memory_place(const struct rt_transport *t, const void *at);
/* Returns the address of a place, of any rank. */
char *rt_memory_at(const struct rt_transport *t, int64_t place);

#endif
