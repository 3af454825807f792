/* bench_cluster: `hirc bench --collectives -o cluster.json`: the figures of the machine that it runs on.
 *
 *     bench_cluster.c            the command; the programs that are measured
 *     bench_cluster_rank.c       the work of a rank: statements, then collectives
 *     bench_cluster_results.c    the measured times, from rank 0 to the command
 *     bench_plausible.c          figures that cannot be, and machines that are loaded
 *     bench_cluster_file.c       from there to a cluster file
 *
 * The time of a statement is the difference of two programs with different numbers of it, which leaves the
 * constant time of a program out; the time of a statement without work is the launch, which is taken off all
 * others. Contention is the additional time of products and allreduces beside each other, over the longer of
 * both alone, divided by the shorter. Products that each have an operand and a result of their own, against
 * as many that have the same, give the cost of operands that are not in caches. Collectives are timed as
 * `hirc bench` times them, out of place. All ranks do the same at the same time. Each of several transports
 * has collectives and contention of its own; all else is measured with the first that this machine has. */
#ifndef HIRC_CLI_BENCH_CLUSTER_H
#define HIRC_CLI_BENCH_CLUSTER_H
#include "cli/bench_member.h"
#include "cost/cluster.h"

enum {
	BENCH_PROGRAMS = 3, /* of a probe, at most */
	BENCH_WORKS = 0,    /* of one that measures contention */
	BENCH_SENDS = 1,
	BENCH_BOTH = 2,
};

/* A statement that is measured: `op` of n elements; else k 0: a negation of n elements; else a product
 * [m, k] x [k, n]. It is measured by programs with different numbers of it; contention by products,
 * allreduces of n elements, and both beside each other. */
struct bench_probe {
	const char *op; /* of the concise surface; NULL: none */
	enum op_kind kind;
	enum dtype dtype;
	int64_t m, n, k;
	bool in_grid; /* the products of a dtype are in the order of its grid */
	bool beside;  /* contention: in 1000 of the time of each alone */
	int64_t far;  /* products with so many operands and results of their own; 0: it is no such probe */
	int64_t count[2]; /* statements of the two programs; the first has fewer */
	unsigned programs;
	char *text[BENCH_PROGRAMS];
	struct run run[BENCH_PROGRAMS];
};

/* Extents of the grids of products. */
struct bench_extents {
	const int64_t *m, *n; /* n: also of k */
	uint32_t m_n, n_n;
};

struct bench_cluster {
	struct bench_collectives collectives; /* least, most, dtype, …; no kinds and teams */
	const char *output;                   /* file; `-`: standard output */
	bool quick;
	bool gpu;           /* sizes that keep one busy */
	bool network_alone; /* of this transport only times that depend on it are measured */
	struct bench_extents extents;
	VEC(struct bench_probe) probe; /* the first is that without work */
};

struct bench_points {
	VEC(struct cluster_point) point;
};

/* Collectives of one team. */
struct bench_team_points {
	int64_t ranks, span; /* see struct cluster_table */
	struct bench_points of[COLLECTIVE_COUNT];
};

/* The measurements, on every rank. */
struct bench_measured {
	char transport[16], model[96]; /* of the device; "": not known */
	double *probe; /* by probe: ns of a statement or of `far` operands, per mille of contention; owned */
	VEC(struct bench_team_points) team;
	int64_t ranks;
	int64_t memory; /* bytes of rank 0's device */
	int64_t inner;  /* ranks of a host, if all have as many and in a row; else all */
};

/* Measures the machine as b and o say, which hold the command line; kinds and files are none. */
enum status bench_cluster(struct bench *b, struct bench_cluster *o);
int bench_cluster_rank(struct rt_job *job, void *cluster);
/* Returns true if a machine can have measured figure k, or those of all collectives; barriers: theirs are
 * still to be taken off. */
bool bench_probe_is_plausible(const struct bench_cluster *o, const struct bench_measured *x, uint32_t k);
bool bench_teams_are_plausible(const struct bench_cluster *o, const struct bench_measured *x, bool barriers);
/* Returns true if a root does not wait for the others, or they not for it: a barrier keeps them together,
 * whose time is taken off in the end. */
bool bench_is_apart(enum collective kind);
/* Returns the time of a collective without that of its barrier. */
int64_t bench_point_time(const struct bench_team_points *team, enum collective kind, uint32_t i);
/* Returns true after reporting figures that no machine has. network_alone: see struct bench_cluster. */
bool bench_report_implausible(const struct bench_cluster *o, const struct bench_measured *x,
                              bool network_alone);
/* Collective: says on rank 0 that other programs run, if ranks do not get their cores. */
enum status bench_note_load(struct rt_job *job, const struct bench *b);
/* On rank 0: for the command that has started it. */
enum status bench_measured_write(struct rt_job *job, const struct bench_cluster *o,
                                 const struct bench_measured *x);
/* Reads the measurements that bench_measured_write wrote; false: not all of them are there. Free them in any
 * case. */
bool bench_measured_read(FILE *f, const struct bench_cluster *o, struct bench_measured *out);
void bench_measured_free(struct bench_measured *x);
/* The collectives of n transports side by side, where the file is not on standard output; which transports
 * were not measured, and why. */
void bench_cluster_beside(const struct bench_cluster *o, const struct bench_outcome *of,
                          const struct bench_measured *x, uint32_t n);
/* Writes the cluster file of n transports, all but the first with network_alone. */
enum status bench_cluster_file(const struct bench_cluster *o, const struct bench_measured *x, uint32_t n);

#endif
