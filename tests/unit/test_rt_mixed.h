/* test_rt_mixed: opens transports by name, also mixed ones on simulated hosts; tests sleeping in them. */
#ifndef HIRC_TESTS_TEST_RT_MIXED_H
#define HIRC_TESTS_TEST_RT_MIXED_H
#include "rt/bell.h"
#include "rt/transport_mixed.h"
#include <string.h>

enum { TEST_MOST_RANKS = 16 };

/* name: as rt_transport_open, or a mixed transport: `mixed-rows`: two ranks on each host; `mixed-turns`:
 * ranks alternate between two hosts; `mixed-uneven`: all but one on the first host. host: of each rank,
 * TEST_MOST_RANKS entries; must exist as long as the transport. */
static inline enum status test_transport_open(struct rt_job *job, const char *name, int *host,
                                              struct rt_transport **out)
{
	if (strncmp(name, "mixed-", 6) != 0)
		return rt_transport_open(job, transport_kind_find(name), out);
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

/* While it sleeps, a rank is woken by the event that it waits for. */
static inline int sleeps_main(struct rt_job *job, void *arg)
{
	enum { ROUNDS = 100, LONG_US = 10000000 };
	static const int all[] = {0, 1, 2, 3};
	struct rt_transport *t;
	int host[TEST_MOST_RANKS], team, wrong = 0;
	float x[8] = {0};
	if (test_transport_open(job, arg, host, &t) != STATUS_OK ||
	    rt_transport_team(t, all, 4, &team) != STATUS_OK)
		return rt_job_status(job);
	for (int k = 0; k < ROUNDS && !wrong && rt_job_status(job) == STATUS_OK; k++) {
		struct rt_collective c = {.kind = COLLECTIVE_ALLREDUCE,
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .in = x,
		                          .out = x,
		                          .count = 8};
		struct rt_request *r;
		bool done = rt_transport_start(t, &c, &r) != STATUS_OK || !r;
		while (!done && !wrong) {
			bool moved = false;
			uint32_t seen = t->ops->read(t);
			if (t->ops->progress(t, &moved) != STATUS_OK ||
			    t->ops->test(t, r, &done) != STATUS_OK)
				break;
			int64_t start = rt_clock_us();
			if (!done && !moved)
				t->ops->wait(t, seen, LONG_US);
			wrong = rt_clock_us() - start >= LONG_US;
		}
	}
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

#endif
