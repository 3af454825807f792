/* bench_cluster: `hirc bench --collectives -o cluster.json`: measures the figures of this machine.
 *
 *     bench_cluster.c            the command; the programs to measure
 *     bench_cluster_rank.c       the work of a rank: statements, then collectives
 *     bench_cluster_results.c    the measured times, from rank 0 to the command
 *     bench_contention.c         how products and collectives beside them slow each other
 *     bench_plausible.c          detects impossible figures and loaded machines
 *     bench_cluster_file.c       the cluster file
 *
 * Two programs with different numbers of a statement are timed, and the difference gives the time of the
 * statement without the constant time of a program. The time of a statement without work is the launch, which
 * is subtracted from all others. Contention compares products and allreduces beside each other with the
 * longer of both alone: it is the additional time divided by the time of the shorter. The cost of operands
 * that are not in caches comes from products that each have an operand and a result of their own, compared
 * with as many products that share them. Collectives are timed as `hirc bench` times them, out of place. All
 * ranks do the same at the same time, except that on GPUs rank 0 alone times the driver's calls. Each of several transports has its own collectives and contention;
 * everything else is measured with the first transport that this machine has. */
#ifndef HIRC_CLI_BENCH_CLUSTER_H
#define HIRC_CLI_BENCH_CLUSTER_H
#include "cli/bench_member.h"
#include "cost/cluster.h"
#include "cuda/open.h"

enum {
	BENCH_PROGRAMS = 3, /* most programs of a probe */
	BENCH_WORKS = 0,    /* programs of a contention probe: products alone, allreduces alone, both */
	BENCH_SENDS = 1,
	BENCH_BOTH = 2,
};

/* A statement to measure. op set: `op` on n elements; k 0: a negation of n elements; otherwise a product
 * [m, k] x [k, n]. Its programs have different numbers of the statement. For contention the programs are
 * products, allreduces of n elements, and both beside each other. */
struct bench_probe {
	const char *op; /* name in the concise surface; NULL: none */
	enum op_kind kind;
	enum dtype dtype;
	int64_t m, n, k;
	bool in_grid; /* a product of its dtype's grid; they come in the order of the grid */
	bool beside;  /* contention: the result is per mille of the time of each alone */
	bool traced;  /* contention of `collective`, see bench_contention.h; `beside` is set, too */
	enum collective collective;
	int64_t far; /* number of products with operands and results of their own; 0: another kind of probe */
	int64_t count[2]; /* number of statements in the two programs; the first has fewer */
	unsigned programs;
	char *text[BENCH_PROGRAMS];
	struct run run[BENCH_PROGRAMS];
};

/* Extents of the grids of products. */
struct bench_extents {
	const int64_t *m, *n; /* n: extents of n and of k */
	uint32_t m_n, n_n;
};

struct bench_cluster {
	struct bench_collectives collectives; /* least, most, dtype, …; kinds and teams are empty */
	const char *output;                   /* the file; `-`: standard output */
	bool quick;
	bool beside_matmul; /* measures the contention of each collective */
	bool gpu;           /* uses sizes that keep a GPU busy */
	bool network_alone; /* measures only the times that depend on the transport */
	struct bench_extents extents;
	VEC(struct bench_probe) probe; /* the first one has no work */
};

struct bench_points {
	VEC(struct cluster_point) point;
};

/* The times of collectives of one team. */
struct bench_team_points {
	int64_t ranks, span; /* see struct cluster_table */
	struct bench_points of[COLLECTIVE_COUNT];
};

/* The measurements; the same on every rank. */
struct bench_measured {
	char transport[16], model[96]; /* model: of the device; "": not known */
	double *probe; /* by probe: ns of a statement or of `far` operands; contention in per mille; owned */
	struct cluster_contention contention[COLLECTIVE_COUNT]; /* of traced probes; else 0 */
	struct cuda_call_times calls;                           /* of rank 0's GPU; else 0 */
	VEC(struct bench_team_points) team;
	int64_t ranks;
	int64_t memory;           /* bytes of rank 0's device */
	int64_t sharers, devices; /* ranks on this device, devices of its host; 0: it is no GPU */
	int64_t inner; /* ranks of a host, if all hosts have the same number, in a row; else all ranks */
};

/* Measures the machine. b, o: the command line, without kinds and files. */
enum status bench_cluster(struct bench *b, struct bench_cluster *o);
int bench_cluster_rank(struct rt_job *job, void *cluster);
/* Return true if figure k, or the figures of all collectives, are possible. barriers: the times still include
 * barriers. */
bool bench_probe_is_plausible(const struct bench_cluster *o, const struct bench_measured *x, uint32_t k);
bool bench_teams_are_plausible(const struct bench_cluster *o, const struct bench_measured *x, bool barriers);
/* Makes the times of impossible collectives so long that any later measurement replaces them. */
void bench_forget_implausible(const struct bench_cluster *o, struct bench_measured *x);
/* Returns true if the root does not wait for the others, or the others do not wait for the root. A barrier
 * then keeps them together, and its time is subtracted at the end. */
bool bench_is_apart(enum collective kind);
/* Returns the time of a collective without its barrier. */
int64_t bench_point_time(const struct bench_team_points *team, enum collective kind, uint32_t i);
/* Returns true after reporting impossible figures. network_alone: see struct bench_cluster. */
bool bench_report_implausible(const struct bench_cluster *o, const struct bench_measured *x,
                              bool network_alone);
/* Collective. Reports on rank 0 that other programs run, if ranks do not get their cores. */
enum status bench_note_load(struct rt_job *job, const struct bench *b);
/* Writes the measurements for the process that started the ranks; rank 0 only. */
enum status bench_measured_write(struct rt_job *job, const struct bench_cluster *o,
                                 const struct bench_measured *x);
/* Reads the measurements that bench_measured_write wrote; false: some are missing. Free them in any case. */
bool bench_measured_read(FILE *f, const struct bench_cluster *o, struct bench_measured *out);
void bench_measured_free(struct bench_measured *x);
/* Prints the collectives of n transports side by side, unless the file goes to standard output; also the
 * transports that were not measured, and why. */
void bench_cluster_beside(const struct bench_cluster *o, const struct bench_outcome *of,
                          const struct bench_measured *x, uint32_t n);
/* Writes the cluster file for n transports; all but the first were measured with network_alone. */
enum status bench_cluster_file(const struct bench_cluster *o, const struct bench_measured *x, uint32_t n);

#endif
