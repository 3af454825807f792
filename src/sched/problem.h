/* problem: the nodes to schedule, with their time and memory.
 *
 * A schedule is an order of the nodes, each after those that it needs. The host issues them one after the
 * other, which takes `launch` of its time for each. A comm then runs on its lane, which runs one at a time in
 * the order of issue; a wait holds the host until its comm is over; all else runs on the host's own lane.
 * A storage lives from the node that makes it to its last user. Nodes are numbered in the original order,
 * which is a schedule. Times are in ns, sizes in bytes. */
#ifndef HIRC_SCHED_PROBLEM_H
#define HIRC_SCHED_PROBLEM_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

enum { SCHED_NONE = UINT32_MAX, SCHED_MAX_LANES = 64, SCHED_MAX_NODES = 1 << 28 };

enum sched_kind { SCHED_COMPUTE, SCHED_COMM, SCHED_WAIT };

struct sched_node {
	int64_t time;    /* without launch; -launch: it takes nothing */
	int64_t in, out; /* of a comm: bytes of its operand and its result */
	uint32_t comm;   /* of a wait: the awaited comm, SCHED_NONE: nothing; of others SCHED_NONE */
	uint32_t lane;   /* of a comm */
	uint32_t family; /* of a comm: those of one family may share a bucket; SCHED_NONE: with no other */
	uint8_t kind;
};

struct sched_storage {
	int64_t bytes;
	uint32_t def; /* the node that makes it; SCHED_NONE: there from the beginning, for ever */
	bool kept;    /* lives to the end */
};

enum sched_collective { SCHED_ALLGATHER, SCHED_REDUCE_SCATTER, SCHED_ALLREDUCE };

struct sched_point {
	double bytes, time;
};

/* Comms of one lane, collective and dtype, and their times by the size of their operand. */
struct sched_family {
	uint32_t lane;
	enum sched_collective collective;
	bool stepped; /* a point at a whole MiB holds up to the next whole MiB, the first below itself too */
	const struct sched_point *point; /* ascending, at least one */
	unsigned n;
};

/* For each of n things a list: item[at[k]] … item[at[k + 1] - 1], ascending. */
struct sched_lists {
	uint32_t *at, *item;
};

struct sched_problem {
	int64_t launch;
	double bytes_per_ns; /* of memory; a pack or unpack reads and writes each byte */
	bool copies;         /* results of reductions are copied out of a bucket's, too */
	bool grouped;        /* buckets are members that start together: nothing is packed */
	uint32_t n, storage_n, family_n, lane_n;
	struct sched_node *node;
	struct sched_storage *storage;
	const struct sched_family *family;
	/* Made by sched_problem_finish. */
	struct sched_lists pred, succ; /* by node */
	struct sched_lists makes;      /* by node: storages; those without bytes are left out */
	struct sched_lists uses;       /* by node: storages that this reads and that die after a last use */
	struct sched_lists users;      /* by storage */
	int64_t fixed;                 /* bytes that are there all the time */
};

struct sched_pair {
	uint32_t from, to;
};

/* Returns the count of a problem, of which no lists are made yet, that is too large to be scheduled, for a
 * message: "more than 64 lanes"; NULL: none is. */
const char *sched_problem_excess(const struct sched_problem *p);

/* edge: node `to` needs node `from`. use: node `from` reads storage `to`. Both may repeat themselves.
 * Storages that no node reads are kept. */
void sched_problem_finish(struct sched_problem *p, struct arena *a, const struct sched_pair *edge,
                          uint32_t edge_n, const struct sched_pair *use, uint32_t use_n);

/* Lists, for each of n things, the `from` of its pairs, in the order of the pairs. */
struct sched_lists sched_lists_to(struct arena *a, const struct sched_pair *pair, uint32_t pair_n,
                                  uint32_t n);

/* Returns the time of a comm with an operand of so many bytes: linear between points, the least below the
 * first, the last slope above the last. */
int64_t sched_family_time(const struct sched_family *f, int64_t bytes);
/* ns for a byte that a comm with an operand of 1 … most bytes takes at least. */
double sched_family_least(const struct sched_family *f, int64_t most);
/* Returns the time of a pack or unpack; 0 where nothing is packed. */
int64_t sched_copy_time(const struct sched_problem *p, int64_t bytes);

/* Host time of a node: its own time on the host, without waiting. */
static inline int64_t sched_host_time(const struct sched_problem *p, uint32_t node)
{
	return p->launch + (p->node[node].kind == SCHED_COMM ? 0 : p->node[node].time);
}

#endif
