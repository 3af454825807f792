/* memory: places in the ranks' memory (rt_transport_alloc) as numbers that all ranks read alike; for src/rt
 * only. */
#ifndef HIRC_RT_MEMORY_H
#define HIRC_RT_MEMORY_H
#include "rt/transport.h"

/* -1: not in this rank's memory, or peers do not see that. */
int64_t rt_memory_place(const struct rt_transport *t, const void *at);
/* The address of a place, of any rank. */
char *rt_memory_at(const struct rt_transport *t, int64_t place);

#endif
