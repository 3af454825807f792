/* transport_mixed: a transport of two others; for src/rt and its tests. */
#ifndef HIRC_RT_TRANSPORT_MIXED_H
#define HIRC_RT_TRANSPORT_MIXED_H
#include "rt/transport.h"

/* host: by rank, the number of the host that it is on, from 0; must live as long. far: moves data between
 * hosts; taken over, also on failure. Collective. */
enum status rt_mixed_open(struct rt_job *job, const int *host, struct rt_transport *far,
                          struct rt_transport **out);

#endif
