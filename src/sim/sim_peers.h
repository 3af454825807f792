/* sim_peers: the peers of a rank's messages, for outputs that name them.
 *
 * One rank stands for a class, but ranks of a class have different peers, and most outputs need none. So a rank is
 * walked again for them: it has the tasks of its class. */
#ifndef HIRC_SIM_SIM_PEERS_H
#define HIRC_SIM_SIM_PEERS_H
#include "sim/sim_run.h"
#include "sim/timeline.h"

/* Sets the peers of a class to those of one of its ranks. Returns false after reporting. */
bool sim_peers_find(struct sim_simulation *s, uint32_t rank, struct timeline_class *c);

#endif
