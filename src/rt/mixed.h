/* mixed: the shared parts of the files of the transport `mixed`; see transport_mixed.c. */
#ifndef HIRC_RT_MIXED_H
#define HIRC_RT_MIXED_H
#include "rt/bootstrap_shared.h"
#include "rt/transport.h"

struct mixed_team {
	int hosts;       /* on which it has ranks */
	int each;        /* ranks on each of them; 0: not as many on all */
	int *member;     /* each and hosts known: index in the team, by host and place; owned */
	int host, place; /* of this rank */
	int near_id;     /* the ranks of this host; -1: not declared */
	int far_id;      /* the whole; -1 */
	int rail_id;     /* those at this rank's place; -1 */
	struct rt_request *first, *last; /* started, in order; the first one runs */
};

struct mixed {
	struct rt_transport base;
	struct rt_transport *near, *far; /* owned */
	struct rt_job near_job;          /* the same job, in which memory is that of the host */
	struct rt_bootstrap near_boot;
	const int *host; /* by rank */
	struct mixed_team *team;
	int far_open; /* requests of the far transport */
	int64_t sleep_us;
	struct rt_request *unused;
	int most_hosts; /* parts of a request have room for as many */
};

struct part {
	struct rt_transport *on;
	struct rt_collective c;
	struct rt_request *request; /* NULL: not started, or done */
	int stage;
};

struct rt_request {
	struct rt_request *next; /* of a team, or unused */
	struct rt_collective c;
	struct mixed_team *team; /* NULL: a message */
	int stage;               /* that runs; -1: none yet */
	int stages, parts, open;
	int round_after; /* the stage after which wide results are rounded; -1: none */
	void *wide;      /* those; in staged */
	void *round_to;
	int64_t round_n;
	char *staged; /* kept for the next */
	size_t staged_bytes;
	struct part part[];
};

/* Fills a new request's parts. */
void mixed_split(struct mixed *m, struct rt_request *r);

#endif
