/* volume: how much a change of layout sends. */
#ifndef HIRC_PASS_VOLUME_H
#define HIRC_PASS_VOLUME_H
#include "pass/reshard.h"

/* The most bytes that one rank sends, all steps of a loop together; a reduction as by a ring (Patarasu and
 * Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). False: an extent has
 * no value, a layout has other transforms than placements, or there are more than VOLUME_MAX_DEVICES. */
enum { VOLUME_MAX_DEVICES = 64 };
bool volume_sent(struct module *m, type_id from, type_id to, const struct reshard *r, int64_t *most);

/* The bytes from each device to each other, all steps of a loop together. */
struct volume_pairs {
	uint32_t n, *device; /* the devices of both meshes */
	int64_t *bytes;      /* n × n, by giver, then taker */
};
/* In the shares of Communications: for an allreduce those of a ring, for a reduction whose result is in
 * blocks the part given to whoever ends with the block. Memory is from the arena. False as of volume_sent. */
bool volume_pairs(struct module *m, type_id from, type_id to, const struct reshard *r, struct arena *a,
                  struct volume_pairs *out);

#endif
