/* reshard: which communication takes a tensor from one layout to another.
 *
 *     one mesh                                     two meshes, nothing pending
 *       n@x → n                 allgather            the same layout      send_recv, pair by pair
 *       partial(x) → none       allreduce            on all → on all      broadcast
 *       partial(x) → n@x        reduce_scatter       n@x → n on one       gather
 *       n@x, m → n, m@x         all_to_all           n on one → n@x       scatter
 *       n → n@x, less           a local copy         partial(x) → on one  reduce
 *     and in a step of a loop
 *       n@x → n@stream(size(x)) broadcast
 *       n@x → n@swizzle1d(x)    collective_permute
 *       n@stream(size(x)) partial(x) → n@x   reduce
 *       n@swizzle1d(x) partial(x) → n@x      collective_permute, and a reduction of the received blocks
 *
 * All else in which no reduction ends is all_to_allv: whoever needs an element gets it from one rank that
 * holds it. The same if one of these would send data that ranks hold already. */
#ifndef HIRC_PASS_RESHARD_H
#define HIRC_PASS_RESHARD_H
#include "ir/ir.h"

enum reshard_kind {
#define RESHARD(id, ...) RESHARD_##id,
#include "pass/reshards.def"
#undef RESHARD
};

struct reshard {
	enum reshard_kind kind;
	const char *reason; /* ALL_TO_ALLV, NONE */
	mesh_id mesh, to;   /* of the operand; of the result */
	unsigned axis_n; /* mesh axes of the team, in placement order; of another mesh's: of the larger one */
	uint8_t axis[IR_MAX_MESH_AXES];
	int dim;  /* tensor axis that is gathered or scattered; -1: none */
	int step; /* STEP: axis of the result's (STEP_REDUCE: operand's) domain that is the loop */
	enum reduce_op reduce; /* of the kinds that reduce */
	uint32_t root;         /* BROADCAST, GATHER, SCATTER, REDUCE: a device */
	bool ring;             /* NONE: because in a step of a ring the ranks hold different blocks */
};

/* The operation of its Communication, OP_NONE if it is not one; a picture's text after the operation's
 * name; the reason for this one. */
enum op_kind reshard_operation(enum reshard_kind kind);
const char *reshard_note(enum reshard_kind kind);
const char *reshard_why(enum reshard_kind kind);

void reshard_classify(struct module *m, type_id from, type_id to, struct reshard *out);

/* The index of loop n of those around a statement that are as long as the loops of a domain. */
expr_id reshard_loop_index(struct module *m, op_id op, const struct domain *d, unsigned n);
/* The index of the loop that cuts the result (STEP_REDUCE: operand) of a step; 0: it stands in none. */
expr_id reshard_step_index(struct module *m, op_id op, const struct reshard *r);

/* Returns true if the change can be made slice by slice in the loop that cuts the result, or there is
 * none. */
bool reshard_in_slices(struct module *m, type_id from, type_id to);

/* Reports `cannot lower OP from 'TYPE' to 'TYPE': REASON` at a statement. */
void reshard_report(struct module *m, struct diag *d, op_id op, const char *verb, type_id from, type_id to,
                    const char *reason);

#endif
