/* reshard: which communication takes a tensor from one layout to another.
 *
 *     n@x → n                      allgather over x
 *     partial(x) → none            allreduce over x
 *     partial(x) → n@x             reduce_scatter over x
 *     n → n@x, equal footprints    a local copy
 *     n@x → n@stream(size(x))      one step of a broadcast-based gather
 *     n@x → n@swizzle1d(x)         one step of a ring
 *     the same on another mesh     send_recv, pair by pair
 *     replicated, to another mesh  broadcast                                          */
#ifndef HIRC_PASS_RESHARD_H
#define HIRC_PASS_RESHARD_H
#include "ir/ir.h"

enum reshard_kind {
	RESHARD_LOCAL,
	RESHARD_ALLGATHER,
	RESHARD_ALLREDUCE,
	RESHARD_REDUCE_SCATTER,
	RESHARD_STEP_BROADCAST, /* root: the loop's index */
	RESHARD_STEP_PERMUTE,
	RESHARD_SEND_RECV, /* to another mesh */
	RESHARD_BROADCAST, /* to another mesh */
	RESHARD_NONE,      /* no single one: reason */
};

struct reshard {
	enum reshard_kind kind;
	const char *reason; /* RESHARD_NONE */
	mesh_id mesh, to;   /* of the operand; of the result */
	unsigned axis_n;    /* mesh axes of the team, outermost first */
	uint8_t axis[IR_MAX_MESH_AXES];
	int dim;                         /* tensor axis that is gathered or scattered; -1: none */
	int step;                        /* STEP: axis of the result's domain that is the loop */
	enum reduce_op reduce;           /* ALLREDUCE, REDUCE_SCATTER */
	bool gathers, scatters, reduces; /* RESHARD_NONE of two meshes: what the change of layout does */
};

void reshard_classify(struct module *m, type_id from, type_id to, struct reshard *out);

/* Whether the change can be made slice by slice in the loop that cuts the result, or there is none. */
bool reshard_in_slices(struct module *m, type_id from, type_id to);
/* Whether the operand may be made in the loop that cuts the result: it is cut alike. */
bool reshard_shares_loop(struct module *m, type_id from, type_id to);

/* Reports `cannot lower OP from 'TYPE' to 'TYPE': REASON` at a statement. */
void reshard_report(struct module *m, struct diag *d, op_id op, const char *verb, type_id from, type_id to,
                    const char *reason);

#endif
