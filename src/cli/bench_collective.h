/* bench_collective: measures collectives, and prints the columns of nccl-tests.
 *
 *     bench_collective.c         the kinds, their buffers, starting the ranks
 *     bench_collective_rank.c    the work of a rank, using bench_member….c: timing, then checking
 *     bench_collective_print.c   the table, CSV, JSON
 *     bench_beside.c             several transports side by side
 *     bench_data.c               the inputs, and the expected results */
#ifndef HIRC_CLI_BENCH_COLLECTIVE_H
#define HIRC_CLI_BENCH_COLLECTIVE_H
#include "cli/bench.h"
#include "cli/bench_data.h"
#include "rt/transport.h"

enum { BENCH_MAX_COLLECTIVES = 16 };

struct bench_team { /* ranks, in team order */
	VEC(int) rank;
};

struct bench_collectives {
	struct bench *b;
	enum collective kind[BENCH_MAX_COLLECTIVES];
	unsigned kinds;
	int64_t least, most, factor, step; /* bytes; step 0: sizes grow by the factor */
	int64_t root, plant;               /* plant: byte of rank 0's result to corrupt; -1: none */
	const char *dtype_name, *op_name, *average;
	enum dtype dtype;
	enum reduce_op op;
	VEC(struct bench_team) team; /* empty: one team of all ranks */
};

/* Finds a collective by name, `all_to_all` or `alltoall`; false: there is none. */
bool bench_collective_find(const char *name, enum collective *out);
bool bench_collective_in_place(enum collective k); /* true if k has an in-place form */
/* Parses "(0 1)(2 3)"; false: the text has another form. */
bool bench_teams_parse(const char *text, struct bench_collectives *out);
enum status bench_collectives(struct bench_collectives *c);
void bench_collectives_free(struct bench_collectives *c);

/* Measures with each value of --transport, one after the other. */
enum status bench_transports_beside(struct bench_collectives *c);
int bench_collective_rank(struct rt_job *job, void *collectives);

/* The measurements of one collective, over all ranks. */
struct bench_figure {
	double us;     /* time of one collective */
	int64_t wrong; /* number of wrong elements; -1: not checked */
	double ratio;  /* the first transport's time divided by `us`; 0: only one transport was measured */
	bool there;    /* false: the collective has no in-place form */
};
struct bench_line {
	char transport[16];
	enum collective kind;
	int members;
	int64_t size, count; /* bytes and elements of the larger buffer */
	struct bench_figure out_of_place, in_place;
	bool first; /* the first line of the run */
};
typedef VEC(struct bench_line) bench_lines;
double bench_line_bus(const struct bench_line *l, const struct bench_figure *f); /* GB/s */
/* transport: names of transports, with commas between them. */
void bench_collective_header(const struct bench_collectives *c, int ranks, const char *transport,
                             struct buf *out);
/* Appends the transports that were not measured, and why. CSV has no place for them. */
void bench_collective_absent(const struct bench_collectives *c, const struct bench_outcome *o,
                             struct buf *out);
/* Puts the title before the lines of each kind. members: ranks of a team, if teams have several sizes; else
 * 0. */
void bench_collective_title(const struct bench_collectives *c, enum collective k, int members,
                            struct buf *out);
void bench_collective_line(const struct bench_collectives *c, const struct bench_line *l, struct buf *out);
/* of: the outcomes of n transports, for bench_collective_absent. */
void bench_collective_footer(const struct bench_collectives *c, const struct bench_outcome *of, uint32_t n,
                             int64_t wrong, double bus, struct buf *out);
/* Puts the lines of several transports below each other, with ratios. All have the same sizes in the same
 * order. */
void bench_collective_beside(const struct bench_collectives *c, bench_lines *line, uint32_t n,
                             struct buf *out);

#endif
