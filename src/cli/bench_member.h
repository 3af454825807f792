/* bench_member: a rank that takes part in collectives which are timed and checked.
 *
 *     struct bench_member x = {.job = job, .c = c};
 *     bench_member_open(&x);                        transport, buffers
 *     bench_member_team(&x, ranks, n);              of each team, on all ranks
 *     bench_member_ready(&x);                       in its own, the one that it is in
 *     bench_member_shape(&x, kind, bytes, &s);
 *     bench_member_time(&x, &s, &us); …
 *     bench_member_close(&x);
 *
 * A time is that of n collectives one after the other, divided by n, after a common start; five times, the
 * median. Teams work at the same time. */
#ifndef HIRC_CLI_BENCH_MEMBER_H
#define HIRC_CLI_BENCH_MEMBER_H
#include "cli/bench_collective.h"
#include "rt/queue.h"

struct bench_member {
	struct rt_job *job;
	const struct bench_collectives *c;
	struct rt_transport *t;
	struct rt_device *device;
	struct rt_engine *engine; /* of a device that works on its own; NULL: the host does it */
	struct rt_stream *stream;
	struct bench_data data;
	int team, members, index; /* the transport's team; index -1: of none */
	const int *rank;          /* of the team */
	bool one_clock;
	bool apart; /* a barrier follows each collective, and is in its time: none runs ahead of the others */
	/* The rank wrote the operand of a collective right before, as in a program; the time of writing alone
	 * is not counted. */
	bool fresh;
	char *in, *out; /* room for the largest size */
	char *host;     /* of both, where the device has its own memory */
	int64_t *counts, *offsets, *send_counts, *send_offsets; /* all_to_allv; by member */
	uint64_t rounds;                                        /* of the ring */
};

/* One size of one kind on one rank. */
struct bench_shape {
	enum collective kind;
	int64_t block; /* elements of a member's block */
	int64_t count; /* of the larger buffer */
	bool in_place;
};

/* All of them are collective. */
enum status bench_member_open(struct bench_member *x);
/* Leaves the team it is in. */
void bench_member_leave(struct bench_member *x);
enum status bench_member_team(struct bench_member *x, const int *rank, int n);
/* After the last of the teams. */
enum status bench_member_ready(struct bench_member *x);
struct bench_shape bench_member_shape(const struct bench_member *x, enum collective kind, int64_t bytes);
/* Elements of a member's input. */
int64_t bench_member_input(const struct bench_member *x, const struct bench_shape *s);
/* So many collectives, one after the other, until all are done. */
enum status bench_member_run(struct bench_member *x, const struct bench_shape *s,
                             const struct rt_collective *c, int64_t times);
/* Nanoseconds that `fresh` adds to one. */
double bench_member_time_writing(const struct bench_member *x, const struct bench_shape *s,
                                 const struct rt_collective *c, int64_t times);
enum status bench_member_time(struct bench_member *x, const struct bench_shape *s, double *us);
/* Elements that are wrong on all ranks. */
enum status bench_member_check(struct bench_member *x, const struct bench_shape *s, int64_t *out);
void bench_member_close(struct bench_member *x);

#endif
