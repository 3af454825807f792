/* bench_member: one rank's part in timing and checking collectives.
 *
 *     struct bench_member x = {.job = job, .c = c};
 *     bench_member_open(&x);                        transport, buffers
 *     bench_member_team(&x, ranks, n);              for each team, on all ranks
 *     bench_member_ready(&x);                       after the last team
 *     bench_member_shape(&x, kind, bytes, &s);
 *     bench_member_time(&x, &s, &us); …
 *     bench_member_close(&x);
 *
 * A time is measured five times, and the median counts: after a common start, n collectives run one after the
 * other, and their time is divided by n. All teams work at the same time. */
#ifndef HIRC_CLI_BENCH_MEMBER_H
#define HIRC_CLI_BENCH_MEMBER_H
#include "cli/bench_collective.h"
#include "rt/queue.h"

struct bench_member {
	struct rt_job *job;
	const struct bench_collectives *c;
	struct rt_transport *t;
	struct rt_device *device;
	struct rt_engine *engine; /* of a device that works asynchronously; NULL: the host does the work */
	struct rt_stream *stream;
	struct bench_data data;
	int team, members, index; /* the transport's team; index -1: the rank is in no team */
	const int *rank;          /* the ranks of the team */
	unsigned able;            /* bit set of the movers that device and library have */
	bool one_clock;
	bool apart; /* a barrier follows each collective, so that no rank runs ahead; the time includes the
	               barrier */
	/* Each rank writes the operand right before the collective, as in a program; the time of writing is
	 * not counted. */
	bool fresh;
	char *in, *out; /* buffers for the largest size */
	char *host;     /* host memory of both, if the device has its own memory */
	int64_t *counts, *offsets, *send_counts, *send_offsets; /* all_to_allv; by member */
	uint64_t rounds;                                        /* rounds of the ring so far */
};

/* One size of one kind on one rank. */
struct bench_shape {
	enum collective kind;
	int64_t block; /* elements of a member's block */
	int64_t count; /* elements of the larger buffer */
	bool in_place;
};

/* All functions that return a status are collective. */
enum status bench_member_open(struct bench_member *x);
/* Leaves the present team. */
void bench_member_leave(struct bench_member *x);
enum status bench_member_team(struct bench_member *x, const int *rank, int n);
/* Call it after the last team was entered. */
enum status bench_member_ready(struct bench_member *x);
/* Returns who moves the data; appends the reason. */
enum mover bench_member_mover(const struct bench_member *x, const struct bench_shape *s, struct buf *why);
struct bench_shape bench_member_shape(const struct bench_member *x, enum collective kind, int64_t bytes);
/* Returns the elements of a member's input. */
int64_t bench_member_input(const struct bench_member *x, const struct bench_shape *s);
/* Runs `times` collectives, one after the other, and waits until all are done. */
enum status bench_member_run(struct bench_member *x, const struct bench_shape *s,
                             const struct rt_collective *c, int64_t times);
/* Returns the nanoseconds that `fresh` adds to one collective. */
double bench_member_time_writing(const struct bench_member *x, const struct bench_shape *s,
                                 const struct rt_collective *c, int64_t times);
enum status bench_member_time(struct bench_member *x, const struct bench_shape *s, double *us);
/* *out becomes the number of wrong elements on all ranks. */
enum status bench_member_check(struct bench_member *x, const struct bench_shape *s, int64_t *out);
void bench_member_close(struct bench_member *x);

#endif
