/* printed: pairs printed ids, and finds the default allocation. */
#include "ir/printed.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/print_order.h"
#include <string.h>

static bool is_visible(const struct axis *a)
{
	return a->kind == AXIS_ITER || a->kind == AXIS_BROADCAST;
}

/* Returns the id that is the inner half of id i, or -1. */
static int inner_half(const struct printed_tensor *t, unsigned i)
{
	const struct printed_id *outer = &t->id[i];
	unsigned kind = outer->axis.kind;
	if (outer->axis.place == PLACE_NONE || (kind != AXIS_ITER && kind != AXIS_REDUCE) || outer->named ||
	    outer->number < 0)
		return -1;
	for (unsigned k = 0; k < t->id_n; k++) {
		const struct printed_id *x = &t->id[k];
		if (x->number - 1 == outer->number && x->axis.place == PLACE_NONE && x->axis.kind == kind &&
		    !x->named)
			return (int)k;
	}
	return -1;
}

/* Returns the extent of the axis that a split by `outer` turned into `inner`. */
static expr_id split_extent(struct module *m, expr_id outer, expr_id inner)
{
	const struct expr *x = &m->expr.at[inner];
	if (x->kind == EXPR_CEIL_DIV && x->b == outer)
		return x->a;
	expr_id product = expr_mul(m, outer, inner);
	return product ? expr_canon(m, product) : 0;
}

static unsigned find_loop_position(const struct domain_builder *b, unsigned axis)
{
	unsigned p = 0;
	while (b->loop[p] != axis)
		p++;
	return p;
}

static const char *parallelize_axis(struct module *m, struct domain_builder *b, unsigned axis,
                                    const struct axis *as, mesh_id mesh)
{
	if (as->place == PLACE_NONE)
		return NULL;
	return domain_parallelize(m, b, find_loop_position(b, axis), (enum axis_place)as->place,
	                          mesh ? &m->mesh.at[mesh] : NULL, as->mesh_axis);
}

domain_id printed_domain(struct module *m, const struct printed_tensor *t, const char **why)
{
	struct domain_builder b;
	int outer_of[IR_MAX_AXES]; /* by id: the id of its outer half; -1: it is no inner half */
	uint8_t axis[IR_MAX_AXES]; /* by id: the axis of the domain */
	bool is_outer[IR_MAX_AXES] = {false};
	domain_begin(&b);
	memset(outer_of, -1, sizeof outer_of);
	for (unsigned i = 0; i < t->id_n; i++) {
		int k = inner_half(t, i);
		if (k >= 0 && outer_of[k] < 0) {
			outer_of[k] = (int)i;
			is_outer[i] = true;
		}
	}
	static const uint8_t group[] = {
	    [AXIS_ITER] = 0, [AXIS_BROADCAST] = 0, [AXIS_PARTIAL] = 1, [AXIS_REDUCE] = 2};
	for (unsigned g = 0; g < 3; g++)
		for (unsigned i = 0; i < t->id_n; i++) {
			const struct axis *x = &t->id[i].axis;
			if (group[x->kind] != g || is_outer[i])
				continue;
			expr_id extent = outer_of[i] < 0
			                     ? x->extent
			                     : split_extent(m, t->id[outer_of[i]].axis.extent, x->extent);
			int a = extent ? domain_add_axis(&b, (enum axis_kind)x->kind, extent) : -1;
			*why = extent ? "it has more than 16 logical axes" : "an extent overflows 64 bits";
			if (a < 0)
				return 0;
			b.axis[a].rf = x->rf;
			b.axis[a].reduce = x->reduce;
			axis[i] = (uint8_t)a;
		}
	for (unsigned l = 0; l < b.logical_n; l++)
		for (unsigned i = 0; i < t->id_n; i++) {
			if (is_outer[i] || axis[i] != l || outer_of[i] < 0)
				continue;
			*why = domain_split(m, &b, find_loop_position(&b, l), t->id[outer_of[i]].axis.extent,
			                    false);
			if (*why)
				return 0;
			axis[outer_of[i]] = (uint8_t)(b.axis_n - 2);
			axis[i] = (uint8_t)(b.axis_n - 1);
			*why = "the halves of a split have other extents";
			if (b.axis[axis[i]].extent != t->id[i].axis.extent)
				return 0;
			break;
		}
	for (unsigned i = 0; i < t->id_n; i++) {
		*why = parallelize_axis(m, &b, axis[i], &t->id[i].axis, t->mesh);
		if (*why)
			return 0;
	}
	memcpy(b.loop, axis, t->id_n);
	printed_allocate(m, &b, t->io, t->size);
	return domain_finish(m, &b);
}

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

/* Returns true if a domain has only plain logical axes in order. */
static bool is_plain(const struct domain *d)
{
	if (d->xform_n || d->loop_n != d->logical_n || d->alloc_n != d->logical_n)
		return false;
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->loop[i] != i || d->alloc[i] != i || !d->contiguous[i] ||
		    d->axis[i].place != PLACE_NONE || !is_visible(&d->axis[i]))
			return false;
	return true;
}

static bool is_allocated(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && m->op.at[def].kind == OP_ALLOCATE;
}

static bool is_io(const struct module *m, value_id v)
{
	return m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT);
}

static bool needs_block(struct module *m, uint64_t selected, value_id v)
{
	const struct type *type = value_type(m, v);
	domain_id id = type->domain;
	const struct domain d = *ir_domain(m, id);
	struct printed_tensor t = {.id_n = d.loop_n, .mesh = type->mesh};
	uint64_t in_loop = 0;
	for (unsigned i = 0; i < d.loop_n; i++) {
		unsigned a = d.loop[i];
		in_loop |= (uint64_t)1 << a;
		t.id[i] = (struct printed_id){
		    .axis = d.axis[a], .number = ir_axis_number(m, v, a), .named = selected >> a & 1};
	}
	if (selected & ~in_loop)
		return true; /* the select names an axis that only a block prints */
	t.io = is_io(m, v);
	if (is_allocated(m, v))
		t.size = printed_size(m, &d);
	const char *why;
	return printed_domain(m, &t, &why) != id;
}

bool printed_needs_block(struct module *m, struct print_order *o, value_id v)
{
	if (is_plain(value_domain(m, v)))
		return false;
	if (o->selected[v] || !number_axes_are_in_a_row(m, v))
		return needs_block(m, o->selected[v], v);
	/* the answer depends on the type and these two flags */
	enum { NO = 1, YES };
	uint32_t key = m->value.at[v].type * 4 + is_io(m, v) * 2 + is_allocated(m, v);
	while (o->block.n <= key)
		vec_push(&o->block, 0);
	if (!o->block.at[key])
		o->block.at[key] = needs_block(m, 0, v) ? YES : NO;
	return o->block.at[key] == YES;
}
