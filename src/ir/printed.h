/* printed: the domain that a tensor's printed ids stand for when no TransformPrinter block says it.
 *
 *     T0[istreamIdx7{3}, ideviceIdx.x9{2}, iS8{( ceilDiv(i0, 3) )}, iS10{4}]
 *       logical [i0, 8]; split i0 outer 3; split 8 outer 2
 *
 * A stream, serial-loop or device id numbered n and a plain id numbered n+1 are the halves of one
 * logical axis (extent e when the inner half is ceilDiv(e, k), else the product), which stands where
 * the plain half stands; so are a reduction over devices and a plain reduction. An id that a
 * HirAliasSelect names is a logical axis of its own. Device ids with rf are partial; visible axes come
 * first, then partial ones, then reductions. Printer and
 * parser both call this: a block is printed iff the result is not the domain. */
#ifndef HIRC_IR_PRINTED_H
#define HIRC_IR_PRINTED_H
#include "ir/domain.h"

struct printed_id {
	struct axis axis; /* as printed */
	int32_t number;
	bool named; /* by a HirAliasSelect */
};

struct printed_tensor {
	unsigned id_n;
	struct printed_id id[IR_MAX_AXES];
	mesh_id mesh;
	bool io;      /* program input or output: its allocation has no stream splits by default */
	expr_id size; /* of its ALLOCATE, canonical; 0: none. Chooses between the two default allocations */
};

/* 0 when there is none, with the reason in *why. */
domain_id printed_domain(struct module *m, const struct printed_tensor *t, const char **why);
/* The default allocation of a domain that is complete but for it. */
void printed_allocate(struct module *m, struct domain_builder *b, bool io, expr_id size);
/* Product of the allocation domain's extents but for reductions, which ALLOCATE prints as size. 0 on
 * overflow. */
expr_id printed_size(struct module *m, const struct domain *d);

struct print_order;
/* Returns true if value v needs a TransformPrinter block. Its loop axes must have numbers. */
bool printed_needs_block(struct module *m, struct print_order *o, value_id v);

#endif
