/* mixed: the structures that the files of the transport `mixed` share; see transport_mixed.c. */
#ifndef HIRC_RT_MIXED_H
#define HIRC_RT_MIXED_H
#include "rt/bootstrap_shared.h"
#include "rt/transport.h"

struct mixed_team {
	int hosts;                       /* number of hosts of its members */
	int each;                        /* ranks on each host; 0: the numbers differ */
	int *member;                     /* if `each` is known: index in the team by host and place; owned */
	int host, place;                 /* of this rank */
	int near_id;                     /* team of the ranks of this host; -1: not declared */
	int far_id;                      /* team of all ranks; -1: not declared */
	int rail_id;                     /* team of the ranks at this rank's place; -1: not declared */
	struct rt_request *first, *last; /* started requests in order; the first one runs */
};

struct mixed {
	struct rt_transport base;
	struct rt_transport *near, *far; /* owned */
	struct rt_job near_job;          /* the same job, in which memory is shared on the host only */
	struct rt_bootstrap near_boot;
	const int *host; /* by rank: its host */
	struct mixed_team *team;
	int far_open; /* number of requests in flight on the far transport */
	int64_t sleep_us;
	struct rt_request *unused;
	int most_hosts; /* the parts of a request have room for so many hosts */
};

struct part {
	struct rt_transport *on;
	struct rt_collective c;
	struct rt_request *request; /* NULL: not started, or done */
	int stage;
};

struct rt_request {
	struct rt_request *next; /* next of its team, or next unused one */
	struct rt_collective c;
	struct mixed_team *team; /* NULL: a message */
	int stage;               /* the running stage; -1: none yet */
	int stages, parts, open;
	int round_after; /* the stage after which wide results are rounded; -1: none */
	void *wide;      /* wide results, in `staged` */
	void *round_to;
	int64_t round_n;
	char *staged; /* memory, kept for later requests */
	size_t staged_bytes;
	struct part part[];
};

/* Makes the parts of a new request. */
void mixed_split(struct mixed *m, struct rt_request *r);

#endif
