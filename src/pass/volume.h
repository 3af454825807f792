/* volume: how much a change of layout sends. */
#ifndef HIRC_PASS_VOLUME_H
#define HIRC_PASS_VOLUME_H
#include "pass/reshard.h"

/* The most bytes that one rank sends, all steps of a loop together; a reduction as by a ring (Patarasu and
 * Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009). False: an extent has
 * no value, a layout has other transforms than placements, or there are more than VOLUME_MAX_DEVICES. */
enum { VOLUME_MAX_DEVICES = 64 };
bool volume_sent(struct module *m, type_id from, type_id to, const struct reshard *r, int64_t *most);

#endif
