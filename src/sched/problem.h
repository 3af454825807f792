/* problem: defines the nodes to schedule, with their time and memory.
 *
 * A schedule is an order of the nodes, each after those that it needs. The host issues them one after
 * the other, and each takes `launch` of its time. A comm then runs on its lane, which runs one comm at a
 * time in the order of issue. A wait holds the host until its comm is over. All other nodes run on the
 * host's own lane. A storage is live from the node that makes it to its last user. Nodes are numbered in
 * the original order, which is a schedule. Times are in ns, sizes in bytes; comms and work that run at the
 * same time take longer by the rule of contention.h. */
#ifndef HIRC_SCHED_PROBLEM_H
#define HIRC_SCHED_PROBLEM_H
#include "base/arena.h"
#include "sched/contention.h"
#include <stdbool.h>
#include <stdint.h>

enum { SCHED_NONE = UINT32_MAX, SCHED_MAX_LANES = 64, SCHED_MAX_NODES = 1 << 28 };

enum sched_kind { SCHED_COMPUTE, SCHED_COMM, SCHED_WAIT };

struct sched_node {
	int64_t time; /* without launch, which is less for some: not below -launch, no time at all */
	union {
		uint32_t comm;     /* wait: the awaited comm, or SCHED_NONE; compute: SCHED_NONE */
		uint32_t transfer; /* comm: see sched_transfer */
	};
	uint8_t kind;       /* enum sched_kind */
	uint8_t lane;       /* comm: its lane */
	uint8_t contention; /* comm: its rule, an index into the problem's */
};

_Static_assert(sizeof(struct sched_node) == 16, "problems of a million nodes should stay small");

/* The bytes and the family of a comm. They are not in its node, since few nodes are comms. Each comm has a transfer of
 * its own, whose number also tells its bucket (bucket.h). */
struct sched_transfer {
	int64_t in, out; /* bytes of the operand and the result */
	uint32_t family; /* comms of one family may share a bucket; SCHED_NONE: none */
};

struct sched_storage {
	int64_t bytes;
	uint32_t def; /* the node that makes it; SCHED_NONE: it is live all the time */
	bool kept;    /* live to the end */
};

enum sched_collective { SCHED_ALLGATHER, SCHED_REDUCE_SCATTER, SCHED_ALLREDUCE };

struct sched_point {
	double bytes, time;
};

/* The comms of one lane, collective and dtype, and their times by the size of the operand. */
struct sched_family {
	uint32_t lane;
	enum sched_collective collective;
	bool stepped; /* a point at a whole MiB holds up to the next whole MiB; the first also below itself */
	const struct sched_point *point; /* ascending, at least one */
	unsigned n;
};

/* n lists, one for each thing: item[at[k]] … item[end[k] - 1], ascending. */
struct sched_lists {
	uint32_t *at, *end, *item; /* end: at + 1, unless a list has room behind it (rebucket.h) */
};

struct sched_problem {
	int64_t launch;
	double bytes_per_ns; /* memory rate; a pack or unpack reads and writes each byte */
	bool copies;         /* results of reductions are also copied out of the bucket's buffer */
	bool grouped;        /* members of a bucket start together; nothing is packed */
	uint32_t n, transfer_n, storage_n, family_n, lane_n;
	uint32_t
	    numbers; /* nodes are numbered below it: n, or more if some are in no schedule (rebucket.h) */
	struct sched_node *node;
	struct sched_transfer *transfer;
	struct sched_storage *storage;
	const struct sched_family *family;
	/* The rules by which comms and work slow each other; the first slows nothing. contention_n 0: no comm
	 * slows anything, and contention is NULL. */
	const struct sched_contention *contention;
	uint32_t contention_n;
	/* The lists below, and `numbers`, are made by sched_problem_finish. */
	struct sched_lists pred, succ; /* by node */
	struct sched_lists makes;      /* by node: its results; those without bytes are left out */
	struct sched_lists uses; /* by node: storages that it reads and that are freed after their last use */
	struct sched_lists users; /* by storage */
	int64_t fixed;            /* bytes that are live all the time */
};

struct sched_pair {
	uint32_t from, to;
};

/* Returns the reason why a problem is too large to be scheduled, for a message: "more than 64 lanes".
 * NULL: it is not too large. The problem needs no lists yet. */
const char *sched_problem_excess(const struct sched_problem *p);

/* Makes the lists. edge: node `to` needs node `from`. use: node `from` reads storage `to`. Pairs may
 * repeat. Storages that no node reads are kept to the end. */
void sched_problem_finish(struct sched_problem *p, struct arena *a, const struct sched_pair *edge,
                          uint32_t edge_n, const struct sched_pair *use, uint32_t use_n);
/* Makes the other lists from `pred` and `users`, which ascend without duplicates. */
void sched_problem_complete(struct sched_problem *p, struct arena *a);

/* Makes room for n lists of `items` numbers in all. */
struct sched_lists sched_lists_new(struct arena *a, uint32_t n, uint32_t items);
/* Lists, for each of n things, the `from` of its pairs, in the order of the pairs. */
struct sched_lists sched_lists_to(struct arena *a, const struct sched_pair *pair, uint32_t pair_n,
                                  uint32_t n);

/* Makes n numbers ascending, without duplicates. Returns how many are left. */
uint32_t sched_list_tidy(uint32_t *item, uint32_t n);

/* Returns the time of a comm with an operand of so many bytes: linear between points, the first time
 * below the first point, the last slope above the last. */
int64_t sched_family_time(const struct sched_family *f, int64_t bytes);
/* Likewise, by a search from a point near the size: at least 1, and below the number of points if these are more than
 * one. near: receives the point for the next search. */
int64_t sched_family_time_near(const struct sched_family *f, int64_t bytes, unsigned *near);
/* Returns the least ns a byte of a comm with an operand of 1 … most bytes. */
double sched_family_least(const struct sched_family *f, int64_t most);
/* Returns the least time of a comm with an operand of `from` … `most` bytes. */
int64_t sched_family_floor(const struct sched_family *f, int64_t from, int64_t most);
/* Returns the most time of such a comm. */
int64_t sched_family_ceiling(const struct sched_family *f, int64_t from, int64_t most);
/* Returns the time of a pack or unpack; 0 if nothing is packed. */
int64_t sched_copy_time(const struct sched_problem *p, int64_t bytes);

/* Returns the sizes and the family of a comm. Other nodes move nothing, and are in no family. */
static inline const struct sched_transfer *sched_transfer(const struct sched_problem *p, uint32_t node)
{
	static const struct sched_transfer none = {.family = SCHED_NONE};
	const struct sched_node *n = &p->node[node];
	return n->kind == SCHED_COMM ? &p->transfer[n->transfer] : &none;
}

/* Returns the comm that a node waits for; SCHED_NONE: none. */
static inline uint32_t sched_awaited(const struct sched_node *n)
{
	return n->kind == SCHED_WAIT ? n->comm : SCHED_NONE;
}

/* Returns the time that a node takes of the host, without waiting. */
static inline int64_t sched_host_time(const struct sched_problem *p, uint32_t node)
{
	return p->launch + (p->node[node].kind == SCHED_COMM ? 0 : p->node[node].time);
}

/* Returns the bytes of a node's results. */
static inline int64_t sched_made(const struct sched_problem *p, uint32_t node)
{
	int64_t bytes = 0;
	for (uint32_t i = p->makes.at[node]; i < p->makes.end[node]; i++)
		bytes += p->storage[p->makes.item[i]].bytes;
	return bytes;
}

#endif
