/* test_rt_mixed: opens transports by name, also mixed ones on hosts that are made up. */
#ifndef HIRC_TESTS_TEST_RT_MIXED_H
#define HIRC_TESTS_TEST_RT_MIXED_H
#include "rt/transport_mixed.h"
#include <string.h>

enum { TEST_MOST_RANKS = 16 };

/* name: as rt_transport_open, or `mixed-rows`, `mixed-turns`, `mixed-uneven`: shm twice, with ranks on hosts
 * of two each; on two hosts in turns; on two hosts, all but one on the first. host: of each rank, room for
 * TEST_MOST_RANKS; it must live as long as the transport. */
static inline enum status test_transport_open(struct rt_job *job, const char *name, int *host,
                                              struct rt_transport **out)
{
	if (strncmp(name, "mixed-", 6) != 0)
		return rt_transport_open(job, name, out);
	for (int r = 0; r < job->size; r++)
		host[r] = !strcmp(name, "mixed-rows")    ? r / 2
		          : !strcmp(name, "mixed-turns") ? r % 2
		                                         : r == job->size - 1;
	if (job->size == 1)
		host[0] = 0;
	struct rt_transport *far;
	enum status status = rt_shm_open(job, &far);
	return status == STATUS_OK ? rt_mixed_open(job, host, far, out) : status;
}

#endif
