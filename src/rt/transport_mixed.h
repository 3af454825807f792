/* transport_mixed: a transport made of two others; for src/rt and its tests. */
#ifndef HIRC_RT_TRANSPORT_MIXED_H
#define HIRC_RT_TRANSPORT_MIXED_H
#include "rt/transport.h"

/* host: by rank, the number of its host, from 0; must be valid as long as the transport. far: moves data
 * between hosts; owned from now on, also on failure. Collective. */
enum status rt_mixed_open(struct rt_job *job, const int *host, struct rt_transport *far,
                          struct rt_transport **out);

#endif
