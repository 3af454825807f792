/* bench_contention: how products and a collective beside them slow each other, for `--beside-matmul`.
 *
 * Three programs are traced: products, collectives, and both beside each other. In the last one the products take
 * longer by some time, and so do the collectives, over the time in which both run. The rule of sched/contention.h
 * then gives the two figures: if work takes D − W longer in the time O beside communication, it does O − (D − W) of
 * work in O, and each ns of work takes O / (O − (D − W)) there. */
#ifndef HIRC_CLI_BENCH_CONTENTION_H
#define HIRC_CLI_BENCH_CONTENTION_H
#include "cli/bench_cluster.h"
#include "exec/exec.h"
#include "exec/trace.h"

/* Lists the collectives that are measured: those in which all ranks do alike. Returns their number. */
unsigned bench_contention_kinds(enum collective out[COLLECTIVE_COUNT]);
/* Puts one of the programs of a probe: BENCH_WORKS, BENCH_SENDS or BENCH_BOTH. */
void bench_contention_put(struct buf *out, const struct bench_probe *p, unsigned which);

/* The times of one run, in ns. */
struct bench_traced {
	double work, comm, both; /* at least one product runs; at least one communication; both */
};
/* Returns the times of the events from number `from` on. */
struct bench_traced bench_traced_of(const struct trace *t, uint64_t from);
/* Returns both figures, from the programs in the order of bench_contention_put. No figure is below 1000. If too
 * little ran at the same time, both are 1000. */
struct cluster_contention bench_contention_of(const struct bench_traced of[BENCH_PROGRAMS]);

#endif
