/* ref_logical: the shared parts of the files that evaluate programs on logical tensors. */
#ifndef HIRC_REF_REF_LOGICAL_H
#define HIRC_REF_REF_LOGICAL_H
#include "ref/ref_host.h"

/* The tensor of a value: elements of its own, or a part of another value's. */
struct ref_place {
	bool made;              /* it has a value here */
	bool dead;              /* its buffer was deallocated */
	struct ref_array array; /* without a view: its elements */
	value_id of;            /* view: of this value; 0: none */
	bool selects;           /* a select, else a shard_by_stream */
	unsigned axis;          /* SELECT: of the operand; SHARD: the bound axis of the result's domain */
	int64_t index;
};
struct ref_logical {
	struct ref_context *c;
	struct ref_locals *locals;
	struct ref_place *place; /* by value_id */
	struct expr_env env;     /* no rank; the indices of the loops that are open */
	int64_t *index;          /* by index_id: env's */
};

/* ---- ref_logical_view.c; all report before they return false */
bool ref_logical_select(struct ref_logical *l, op_id op);
bool ref_logical_shard(struct ref_logical *l, op_id op);
/* The elements of a value. Those that its views leave out are absent. *owned: the caller frees them. */
bool ref_logical_load(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *out, bool *owned);
/* Stores the elements that are not absent. Takes `from` over. */
bool ref_logical_store(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *from);
/* Clears the flags of the elements that the views of a value leave out. */
bool ref_logical_clear(struct ref_logical *l, value_id v, uint32_t at, uint8_t *flag);

/* ---- ref_parts.c */
/* Returns the number of ranks that may store parts of a sum, rounded, before these are added up; 0: none
 * does. */
int64_t ref_ranks_of_parts(const struct ref_context *c, op_id op);
/* Returns the number of elements of a summed axis that a rank holds, if all ranks hold intervals of one
 * length; else 0. */
int64_t ref_block_of_parts(const struct ref_context *c, op_id op);
/* Returns the number of equal tensors that a functional collective reduces: a partial operand's value is its
 * reduction over the partial mesh axes already, over the other axes of the team all ranks hold the same. 0
 * when the team spans axes over which the operand is spread: that has no meaning on logical tensors. */
int64_t ref_reduced_copies(struct module *m, op_id op);
bool ref_logical_collective(struct ref_context *c, op_id op, const struct ref_array *in,
                            struct ref_array *out);
/* The run computes a pending result on each rank's part, whose rounding is that of the parts. Their error,
 * which a pending value has from where it began, is at least twice that. */
void ref_add_parts_error(const struct module *m, value_id result, struct ref_array *out);

#endif
