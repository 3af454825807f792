/* printed: finds the domain for a tensor's printed ids if no TransformPrinter block states it.
 *
 *     T0[istreamIdx7{3}, ideviceIdx.x9{2}, iS8{( ceilDiv(i0, 3) )}, iS10{4}]
 *       logical [i0, 8]; split i0 outer 3; split 8 outer 2
 *
 * A stream, serial-loop or device id numbered n and a plain id numbered n+1 are the halves of one
 * logical axis. Its extent is e if the inner half is ceilDiv(e, k), otherwise the product. It takes the
 * place of the plain half. A reduction over devices and a plain reduction form an axis in the same way.
 * An id that a HirAliasSelect names is a logical axis of its own. Device ids with rf are partial.
 * Visible axes come first, then partial ones, then reductions. Printer and parser both call this: a
 * block is printed iff the result differs from the domain.
 *
 * This is the rule of listings that hirc prints. nvFuser also makes an axis parallel without a split, and
 * then says so by numbers alone (printed_numbers.h): `by_number`. */
#ifndef HIRC_IR_PRINTED_H
#define HIRC_IR_PRINTED_H
#include "ir/domain.h"
#include "ir/printed_numbers.h"

struct printed_choice;
struct printed_id {
	struct axis axis; /* the axis as printed */
	int32_t number;
	bool named;     /* a HirAliasSelect names it */
	bool broadcast; /* it is printed as one; else an axis like any other */
	bool product;   /* its extent is a product: a parallel axis can be a merge */
	bool made;      /* a reshape, slice or pad made it: it is no half of a split */
};

struct printed_tensor {
	unsigned id_n;
	struct printed_id id[IR_MAX_AXES];
	mesh_id mesh;
	bool
	    permuted; /* a permute makes it, and its numbers tell the order: all axes stand where they are printed */
	bool reshaped; /* a view makes it: some of its axes are none of its root axes */
	bool io;       /* program input or output: by default its allocation has no stream splits */
	expr_id size;  /* in its ALLOCATE, canonical; 0: none. Selects the default allocation */
	const struct printed_numbers *by_number; /* NULL: the rule of hirc's listings */
	bool other_way; /* it is read as own axes where the listing has halves, and as halves otherwise */
	const struct printed_choice
	    *choice; /* its reading (ir/printed_cover.h); NULL: it is read by itself */
};

/* Returns the domain, or 0 with the reason in *why. */
domain_id printed_domain(struct module *m, const struct printed_tensor *t, const char **why);
/* Adds the default allocation to a domain that lacks only that. */
void printed_allocate(struct module *m, struct domain_builder *b, bool io, expr_id size);
/* Returns the size that ALLOCATE prints: the product of the allocation domain's extents without
 * reductions. 0 on overflow. */
expr_id printed_size(struct module *m, const struct domain *d);

/* Lists the logical axes that are reductions, as positions among all logical axes in nvFuser's order. Returns their
 * number. */
unsigned printed_reduced(struct module *m, const struct printed_tensor *t, uint8_t *axis);
/* Returns the ways in which the ids can be read, as bits of enum printed_way. */
unsigned printed_ways(struct module *m, const struct printed_tensor *t);

struct print_order;
/* Sets the rule by which the program is printed, once the loop axes have numbers. */
void printed_rule_set(struct module *m, struct print_order *o);
/* Returns true for a collective of which nvFuser prints the slice of one device in a listing without a section Hirc. */
bool printed_team_is_slice(enum op_kind kind);
/* Calls printed_reduced for the ids that value v prints; a shard by stream prints no reductions, but its operand does. */
unsigned printed_reduced_of(struct module *m, const struct print_order *o, value_id v, uint8_t *axis);
/* Returns true if the numbers of the result's axes tell the permutation, as nvFuser numbers them. numbers: of the listing;
 * NULL: it is not read by number, and no axis may be split. */
bool printed_permutation(const struct module *m, const struct printed_numbers *numbers, op_id op);
/* Returns true for a reshape that is printed as a view, not as a broadcast or squeeze. */
bool printed_is_view(const struct module *m, op_id op);
/* Returns true if value v needs a TransformPrinter block. Its loop axes must have numbers. */
bool printed_needs_block(struct module *m, struct print_order *o, value_id v);

#endif
