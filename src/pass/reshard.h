/* reshard: finds the communication that takes a tensor from one layout to another.
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
 * If no reduction ends, all other changes are all_to_allv: each rank gets the elements that it needs
 * from one rank that has them. all_to_allv is also used if one of these would send data that ranks
 * already have. */
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
	const char *reason; /* for ALL_TO_ALLV, NONE */
	mesh_id mesh, to;   /* of the operand, and of the result */
	unsigned axis_n;    /* mesh axes of the team, in placement order; between meshes: of the larger one */
	uint8_t axis[IR_MAX_MESH_AXES];
	int dim;               /* the tensor axis that is gathered or scattered; -1: none */
	int step;              /* STEP: the loop's axis in the domain of the result (STEP_REDUCE: operand) */
	enum reduce_op reduce; /* for kinds that reduce */
	uint32_t root;         /* BROADCAST, GATHER, SCATTER, REDUCE: a device */
	bool ring;             /* NONE: reason is that ranks have different blocks in a step of a ring */
};

/* Return the operation of its Communication, OP_NONE if there is none; the text after its name in a
 * picture; and the reason for this kind. */
enum op_kind reshard_operation(enum reshard_kind kind);
const char *reshard_note(enum reshard_kind kind);
const char *reshard_why(enum reshard_kind kind);

/* Returns true if the types of a collective over mesh axes say all that it does. */
bool reshard_is_stated_by_types(enum op_kind kind);
/* Returns true if a statement moves elements by their places in memory, so that both sides need one order. */
bool reshard_is_by_place(const struct module *m, op_id op);

void reshard_classify(struct module *m, type_id from, type_id to, struct reshard *out);

/* Returns the index of the enclosing loop of a statement that goes with loop n of a domain. */
expr_id reshard_loop_index(struct module *m, op_id op, const struct domain *d, unsigned n);
/* Returns the index of the loop that cuts the result (STEP_REDUCE: operand) of a step; 0: it is in no
 * such loop. */
expr_id reshard_step_index(struct module *m, op_id op, const struct reshard *r);

/* Returns true if no loop cuts the result, or if the change can be made slice by slice in that loop. */
bool reshard_in_slices(struct module *m, type_id from, type_id to);

/* Reports `cannot lower OP from 'TYPE' to 'TYPE': REASON` at a statement. */
void reshard_report(struct module *m, struct diag *d, op_id op, const char *verb, type_id from, type_id to,
                    const char *reason);

#endif
