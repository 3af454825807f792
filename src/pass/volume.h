/* volume: counts the bytes that a change of layout sends. */
#ifndef HIRC_PASS_VOLUME_H
#define HIRC_PASS_VOLUME_H
#include "pass/reshard.h"

/* Finds the most bytes that one rank sends, over all steps of a loop; for a reduction as in a ring
 * (Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
 * Returns false if an extent has no value, a layout has transforms that are no placements, or there are
 * more than VOLUME_MAX_DEVICES. */
enum { VOLUME_MAX_DEVICES = 64 };
bool volume_sent(struct module *m, type_id from, type_id to, const struct reshard *r, int64_t *most);

/* The bytes that each device sends to each other one, over all steps of a loop. */
struct volume_pairs {
	uint32_t n, *device; /* the devices of both meshes */
	int64_t *bytes;      /* n × n, by sender, then receiver */
};
/* Counts as Communications do: an allreduce sends the parts of a ring; a reduction to blocks sends each
 * part to the rank that ends with the block. Memory is from the arena. Returns false as volume_sent
 * does. */
bool volume_pairs(struct module *m, type_id from, type_id to, const struct reshard *r, struct arena *a,
                  struct volume_pairs *out);

#endif
