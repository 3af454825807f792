/* bench_cluster: `hirc bench --collectives -o cluster.json`: the figures of the machine that it runs on.
 *
 *     bench_cluster.c            the command; the programs that are measured
 *     bench_cluster_rank.c       what a rank does: statements, then collectives
 *     bench_cluster_file.c       from what was measured to a cluster file
 *
 * What a statement takes is the difference of two programs with different numbers of it, so that what a
 * program takes as a whole is not in it; that of a statement without work is the launch, which is taken off
 * all others. Collectives are timed as `hirc bench` times them, out of place. All ranks do the same at the
 * same time. */
#ifndef HIRC_CLI_BENCH_CLUSTER_H
#define HIRC_CLI_BENCH_CLUSTER_H
#include "cli/bench_member.h"
#include "cost/cluster.h"

/* A statement that is measured: `op` of n elements; else k 0: a negation of n elements; else a product
 * [m, k] x [k, n]. */
struct bench_probe {
	const char *op; /* of the concise surface; NULL: none */
	enum op_kind kind;
	enum dtype dtype;
	int64_t m, n, k;
	int64_t count[2]; /* statements of the two programs; the first has fewer */
	char *text[2];
	struct run run[2];
};

struct bench_cluster {
	struct bench_collectives collectives; /* least, most, dtype, …; no kinds and teams */
	const char *output;                   /* file; `-`: standard output */
	bool quick;
	VEC(struct bench_probe) probe; /* the first is that without work */
};

struct bench_points {
	VEC(struct cluster_point) point;
};

/* Collectives of one team. */
struct bench_team_points {
	int64_t ranks, span; /* see struct cluster_table */
	struct bench_points of[CLUSTER_COLLECTIVE_COUNT];
};

/* What was measured, on every rank. */
struct bench_measured {
	double *probe; /* ns of a statement, by probe; owned */
	VEC(struct bench_team_points) team;
	int64_t ranks;
	int64_t inner; /* ranks of a host, if all have as many and in a row; else all */
};

/* What the command line says is in b and o; kinds and files are none. */
enum status bench_cluster(struct bench *b, struct bench_cluster *o);
int bench_cluster_rank(struct rt_job *job, void *cluster);
/* On rank 0, which prints what cannot be written. */
enum status bench_cluster_file(struct rt_job *job, const struct bench_cluster *o,
                               const struct bench_measured *x);

#endif
