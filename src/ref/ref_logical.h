/* ref_logical: the functions shared by the files that evaluate programs on logical tensors. */
#ifndef HIRC_REF_REF_LOGICAL_H
#define HIRC_REF_REF_LOGICAL_H
#include "ref/ref_host.h"

/* The tensor of a value: its own elements, or a part of another value's. */
struct ref_place {
	bool made;              /* it has a value */
	bool dead;              /* its buffer was deallocated */
	struct ref_array array; /* if it is not a view: its elements */
	value_id of;            /* if it is a view: the viewed value; otherwise 0 */
	bool selects;           /* a select; otherwise a shard_by_stream */
	unsigned axis;          /* SELECT: of the operand; SHARD: the bound axis of the result's domain */
	int64_t index;
};
struct ref_logical {
	struct ref_context *c;
	struct ref_locals *locals;
	struct ref_place *place; /* by value_id */
	struct expr_env env;     /* has no rank, and the indices of the current loops */
	int64_t *index;          /* by index_id: env's */
};

/* ---- ref_logical_view.c; all report before they return false */
bool ref_logical_select(struct ref_logical *l, op_id op);
bool ref_logical_shard(struct ref_logical *l, op_id op);
/* Loads the elements of a value. Elements outside its views are absent. *owned: the caller frees them. */
bool ref_logical_load(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *out, bool *owned);
/* Stores the elements that are not absent. Takes ownership of `from`. */
bool ref_logical_store(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *from);
/* Clears the flags of elements outside the views of a value. */
bool ref_logical_clear(struct ref_logical *l, value_id v, uint32_t at, uint8_t *flag);

/* ---- ref_parts.c */
/* Returns the number of ranks that may store rounded parts of a sum before they are added up; 0: none. */
int64_t ref_ranks_of_parts(const struct ref_context *c, op_id op);
/* Returns the number of elements of a summed axis that a rank holds, if all ranks hold intervals of one
 * length; otherwise 0. */
int64_t ref_block_of_parts(const struct ref_context *c, op_id op);
/* Returns the number of equal tensors that a functional collective reduces. The value of a partial operand is
 * already reduced over the partial mesh axes; over the other axes of the team all ranks hold the same.
 * Returns 0 if the operand is sharded over an axis of the team: that has no meaning on logical tensors. */
int64_t ref_reduced_copies(struct module *m, op_id op);
bool ref_logical_collective(struct ref_context *c, op_id op, const struct ref_array *in,
                            struct ref_array *out);
/* Adds the error of a pending result: the run computes it on each rank's part and rounds there. The error
 * that a pending value has had from its start is at least twice that. */
void ref_add_parts_error(const struct module *m, value_id result, struct ref_array *out);

#endif
