/* shards: an allreduce in two halves, with work between them on the shards.
 *
 *     Y: f32[64, 32] = set(P)                   T3: f32[64@x, 32] = set(P)            reduce-scatter
 *     Z = Y + R                            →    T4: f32[64@x, 32] = set(R)            a local cut
 *     output V = tanh(Z)                        T5: f32[64@x, 32] = add(T3, T4)
 *                                               T6: f32[64@x, 32] = tanh(T5)
 *                                               output V = set(T6)                    allgather
 *
 * Work follows as far as every rank can do its shard alone. Each value that is needed whole behind it is
 * gathered. */
#ifndef HIRC_PASS_SHARDS_H
#define HIRC_PASS_SHARDS_H
#include "ir/ir.h"

enum shards_reach {
	SHARDS_NONE,  /* no work: the allgather follows at once */
	SHARDS_CHAIN, /* work that alone reads its operand */
	SHARDS_ALL,   /* all work that can be */
	SHARDS_REACHES
};

struct shards {
	op_id op;      /* the allreduce */
	unsigned axis; /* of its result, that is cut */
	enum shards_reach reach;
};

/* Makes the change. False: the axis cannot be cut; then something may have been changed. */
bool shards_make(struct module *m, const struct shards *s);

#endif
