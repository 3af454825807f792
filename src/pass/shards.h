/* shards: splits an allreduce in two halves, with work on the shards between them.
 *
 *     Y: f32[64, 32] = set(P)                   T3: f32[64@x, 32] = set(P)            reduce-scatter
 *     Z = Y + R                            →    T4: f32[64@x, 32] = set(R)            a local cut
 *     output V = tanh(Z)                        T5: f32[64@x, 32] = add(T3, T4)
 *                                               T6: f32[64@x, 32] = tanh(T5)
 *                                               output V = set(T6)                    allgather
 *
 * Work is moved to the shards as far as every rank can compute its shard alone. Values that later
 * statements need whole are gathered. */
#ifndef HIRC_PASS_SHARDS_H
#define HIRC_PASS_SHARDS_H
#include "ir/ir.h"

enum shards_reach {
	SHARDS_NONE,  /* no work: the allgather follows directly */
	SHARDS_CHAIN, /* work that is the only reader of its operand */
	SHARDS_ALL,   /* as much work as possible */
	SHARDS_REACHES
};

struct shards {
	op_id op;      /* the allreduce */
	unsigned axis; /* the axis of its result that is cut */
	enum shards_reach reach;
};

/* Makes the change. Returns false if the axis cannot be cut; the program may then be half changed. */
bool shards_make(struct module *m, const struct shards *s);

#endif
