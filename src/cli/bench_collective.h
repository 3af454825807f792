/* bench_collective: how long collectives take, in the columns of nccl-tests.
 *
 *     bench_collective.c         the kinds, their buffers, starting the ranks
 *     bench_collective_rank.c    the work of a rank, by bench_member….c: timing, then checking
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
	int64_t least, most, factor, step; /* bytes; step 0: by the factor */
	int64_t root, plant;               /* plant: byte of rank 0's result that is changed; -1: none */
	const char *dtype_name, *op_name, *average;
	enum dtype dtype;
	enum reduce_op op;
	VEC(struct bench_team) team; /* none: all ranks */
};

/* The collective of a name, `all_to_all` or `alltoall`; false: there is none. */
bool bench_collective_find(const char *name, enum collective *out);
bool bench_collective_in_place(enum collective k); /* true if there is such a form */
/* "(0 1)(2 3)"; false: it is not written so. */
bool bench_teams_parse(const char *text, struct bench_collectives *out);
enum status bench_collectives(struct bench_collectives *c);
void bench_collectives_free(struct bench_collectives *c);

/* All of --transport, one after the other. */
enum status bench_transports_beside(struct bench_collectives *c);
int bench_collective_rank(struct rt_job *job, void *collectives);

/* The measurements of one collective, of all ranks. */
struct bench_figure {
	double us;     /* of one collective */
	int64_t wrong; /* elements; -1: not checked */
	double ratio;  /* of the first transport's time to it; 0: only one was measured */
	bool there;    /* false: there is no such form */
};
struct bench_line {
	char transport[16];
	enum collective kind;
	int members;
	int64_t size, count; /* of the larger buffer: bytes, elements */
	struct bench_figure out_of_place, in_place;
	bool first; /* line of the run */
};
typedef VEC(struct bench_line) bench_lines;
double bench_line_bus(const struct bench_line *l, const struct bench_figure *f); /* GB/s */
/* transport: their names, with commas between them. */
void bench_collective_header(const struct bench_collectives *c, int ranks, const char *transport,
                             struct buf *out);
/* Appends the transports that were not measured, and why. CSV has no place for it. */
void bench_collective_absent(const struct bench_collectives *c, const struct bench_outcome *o,
                             struct buf *out);
/* Before the lines of each kind. members: those of its teams, where there are several sizes; else 0. */
void bench_collective_title(const struct bench_collectives *c, enum collective k, int members,
                            struct buf *out);
void bench_collective_line(const struct bench_collectives *c, const struct bench_line *l, struct buf *out);
/* of: outcomes of the transports, n of them; see bench_collective_absent. */
void bench_collective_footer(const struct bench_collectives *c, const struct bench_outcome *of, uint32_t n,
                             int64_t wrong, double bus, struct buf *out);
/* Lines of several transports, each the same sizes in the same order, one below the other, with ratios. */
void bench_collective_beside(const struct bench_collectives *c, bench_lines *line, uint32_t n,
                             struct buf *out);

#endif
