/* bucket_parts: the nodes that stand for a bucket: pack, comm, wait and unpack.
 *
 * A node in no bucket keeps its number. The parts of bucket k have the four numbers from p->n + 4 * k on. */
#ifndef HIRC_SCHED_BUCKET_PARTS_H
#define HIRC_SCHED_BUCKET_PARTS_H
#include "sched/problem.h"

enum sched_part { SCHED_PACK, SCHED_BUCKET_COMM, SCHED_BUCKET_WAIT, SCHED_UNPACK, SCHED_PARTS };

struct sched_group {
	uint32_t first;        /* its first member; SCHED_NONE: it has none */
	uint32_t comms, waits; /* members */
	int64_t in, out;       /* sums over the members */
	int64_t wait_time;     /* of the bucket's wait */
	bool packs, unpacks;
};

struct sched_parts {
	const struct sched_problem *p;
	const uint32_t *bucket;    /* by transfer; SCHED_NONE: in no bucket */
	struct sched_group *group; /* by bucket */
	uint32_t *number;          /* by node of p: itself, or the part that it is a member of */
	uint32_t *result;          /* by node of p: the node that nodes outside its bucket need */
};

static inline uint32_t sched_part(const struct sched_parts *t, uint32_t bucket, enum sched_part which)
{
	return t->p->n + SCHED_PARTS * bucket + which;
}

/* Returns the bucket of a comm, or of the comm that a wait waits for. */
static inline uint32_t sched_parts_bucket(const struct sched_parts *t, uint32_t x)
{
	const struct sched_node *n = &t->p->node[x];
	if (n->kind == SCHED_COMM)
		return t->bucket[n->transfer];
	return n->comm != SCHED_NONE ? t->bucket[t->p->node[n->comm].transfer] : SCHED_NONE;
}

/* Returns the first and the last part of a bucket that exist. */
static inline enum sched_part sched_parts_first(const struct sched_group *g)
{
	return g->packs ? SCHED_PACK : SCHED_BUCKET_COMM;
}
static inline enum sched_part sched_parts_last(const struct sched_group *g)
{
	return g->unpacks ? SCHED_UNPACK : SCHED_BUCKET_WAIT;
}

/* Makes the group of a bucket empty. */
void sched_parts_clear(struct sched_group *g);
/* Numbers node x: a comm or wait joins its bucket. A comm comes before its waits. */
void sched_parts_join(struct sched_parts *t, uint32_t x);
/* Returns the node that x is a member of for those which it needs: a member comm needs nothing itself, its pack does. */
uint32_t sched_parts_needing(const struct sched_parts *t, uint32_t x);
/* Returns the node for a part. A wait has the number of its comm; the comm still needs the number of a transfer, and
 * moved receives its sizes. */
struct sched_node sched_parts_node(const struct sched_parts *t, uint32_t bucket, enum sched_part which,
                                   struct sched_transfer *moved);
/* Returns the node that makes a storage of p. */
uint32_t sched_parts_maker(const struct sched_parts *t, uint32_t storage);
/* Returns the node that uses a storage of p where node x does. The comm and the wait of a bucket do not use its
 * unpacked result, since it does not exist yet. */
uint32_t sched_parts_user(const struct sched_parts *t, uint32_t x, uint32_t storage);
/* Returns the buffers of a bucket: the packed operand, and the gathered result. Those that it does not have have no
 * bytes and no maker. */
struct sched_storage sched_parts_packed(const struct sched_parts *t, uint32_t bucket);
struct sched_storage sched_parts_gathered(const struct sched_parts *t, uint32_t bucket);

#endif
