/* printed_size: finds the default allocation of a printed tensor, and the size that its ALLOCATE states. */
#include "ir/expr.h"
#include "ir/printed.h"

static expr_id size_of(struct module *m, const struct axis *axis, const uint8_t *alloc, unsigned n)
{
	expr_id size = expr_const(m, 1);
	for (unsigned i = 0; i < n && size; i++)
		if (axis[alloc[i]].kind != AXIS_REDUCE)
			size = expr_mul(m, size, axis[alloc[i]].extent);
	return size ? expr_canon(m, size) : 0;
}

expr_id printed_size(struct module *m, const struct domain *d)
{
	return size_of(m, d->axis, d->alloc, d->alloc_n);
}

void printed_allocate(struct module *m, struct domain_builder *b, bool io, expr_id size)
{
	bool unstreamed = io;
	if (size) {
		domain_allocate_default(b, false);
		expr_id loop = size_of(m, b->axis, b->alloc, b->alloc_n);
		domain_allocate_default(b, true);
		expr_id whole = size_of(m, b->axis, b->alloc, b->alloc_n);
		if ((size == loop) != (size == whole))
			unstreamed = size == whole;
	}
	domain_allocate_default(b, unstreamed);
}
