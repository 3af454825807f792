/* pace_places: divides the host's work into blocks, between which buckets are issued. */
#ifndef HIRC_SCHED_PACE_PLACES_H
#define HIRC_SCHED_PACE_PLACES_H
#include "sched/pace.h"

/* Returns the number of blocks, at least one. place: receives the first node of each block, and at the end the number of
 * nodes. A block ends
 *
 *   - in a valley, where little is live: there the host can wait, and buckets have room;
 *   - before the first use of a source;
 *   - before a node that would not fit in memory beside what the block's sources and sinks hold. */
uint32_t sched_pace_places(const struct sched_problem *p, const struct sched_pace_options *o, struct arena *a,
                           uint32_t **place);

#endif
