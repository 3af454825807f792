/* memory_order: see memory_order.h. */
#include "ir/memory_order.h"
#include "base/collective.h"
#include "ir/edit.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

/* Returns the tensor axis along which the devices' blocks of two tensors differ; MEMORY_NO_AXIS: none, or several. */
static int block_axis(const struct module *m, type_id large, type_id small)
{
	const struct domain *d = ir_domain(m, ir_type(m, large)->domain);
	int found = -1;
	if (ir_domain(m, ir_type(m, small)->domain)->rank != d->rank)
		return -1;
	for (unsigned a = 0; a < d->rank; a++) {
		if (layout_mesh_axes(m, large, a) == layout_mesh_axes(m, small, a))
			continue;
		if (found >= 0)
			return -1;
		found = (int)a;
	}
	return found;
}

/* Returns true if an allocated axis has a place in the order of a device's memory. */
static bool is_ordered(const struct module *m, const struct domain *d, unsigned axis, unsigned selected)
{
	int64_t n;
	const struct axis *x = &d->axis[axis];
	int logical = layout_logical_of(d, axis);
	return x->place == PLACE_NONE && x->kind != AXIS_REDUCE &&
	       !(logical >= 0 && selected >> logical & 1) && !(expr_is_const(m, x->extent, &n) && n == 1);
}

/* Returns the type with the block of each iteration in one place of the memory. */
static type_id with_streams(struct module *m, type_id t)
{
	struct domain_builder b;
	domain_edit(&b, ir_domain(m, ir_type(m, t)->domain));
	domain_allocate_default(&b, false);
	return type_with_domain(m, t, domain_finish(m, &b));
}

/* Returns true if the block of an iteration is in several places of the memory, which has no axis for the streams. */
static bool has_scattered_blocks(const struct module *m, const struct domain *d, unsigned selected)
{
	int streamed = MEMORY_NO_AXIS;
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_STREAM)
			streamed = layout_logical_of(d, d->loop[i]);
	for (unsigned i = 0; i < d->alloc_n; i++)
		if (is_ordered(m, d, d->alloc[i], selected))
			return streamed >= 0 && layout_logical_of(d, d->alloc[i]) != streamed;
	return false;
}

type_id memory_order_type(struct module *m, type_id t, struct memory_order o)
{
	struct domain d = *ir_domain(m, ir_type(m, t)->domain);
	uint8_t old[IR_MAX_AXES], perm[IR_MAX_AXES], place[IR_MAX_AXES];
	unsigned places = 0, n = 0;
	bool unstreamed, same = true;
	if (!domain_allocation_order(&d, &unstreamed, old))
		return 0;
	if (o.axis == MEMORY_NO_AXIS)
		return o.streamed && unstreamed && has_scattered_blocks(m, &d, o.selected)
		           ? with_streams(m, t)
		           : t;
	if (o.streamed && unstreamed) {
		t = with_streams(m, t);
		d = *ir_domain(m, ir_type(m, t)->domain);
		domain_allocation_order(&d, &unstreamed, old);
	}
	memcpy(perm, old, d.alloc_n);
	for (unsigned i = 0; i < d.alloc_n; i++)
		if (is_ordered(m, &d, d.alloc[i], o.selected))
			place[places++] = (uint8_t)i;
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned k = 0; k < places; k++)
			if ((layout_logical_of(&d, d.alloc[place[k]]) == o.axis) == !turn) {
				same &= k == n;
				perm[place[n++]] = old[place[k]];
			}
	struct domain_builder b;
	domain_edit(&b, &d);
	if (same)
		return t;
	return domain_allocate(&b, unstreamed, perm, d.alloc_n)
	           ? 0
	           : type_with_domain(m, t, domain_finish(m, &b));
}

/* Returns true if a statement is a reduction along an axis of which each device has one index. */
static bool is_device_sum(const struct module *m, op_id op, int axis)
{
	const struct domain *d = value_domain(m, op_read(m, op, 0));
	return op_traits(m, op) & TRAIT_REDUCTION && axis < d->rank && d->axis[axis].place == PLACE_MESH &&
	       !domain_consumer(d, (unsigned)axis);
}

value_id memory_order_shown(const struct module *m, value_id v, struct memory_order *o)
{
	op_id def = m->value.at[v].def;
	enum op_kind kind = def ? (enum op_kind)m->op.at[def].kind : OP_NONE;
	int axis = def ? (int)op_attr_int(m, def, "axis", -1) : -1;
	if (kind == OP_SHARD_BY_STREAM) {
		o->streamed = true;
		return op_read(m, def, 0);
	}
	if (axis < 0 || (kind != OP_SELECT && !is_device_sum(m, def, axis)))
		return 0;
	unsigned inner = (1u << axis) - 1;
	o->axis += o->axis >= axis;
	o->selected = (o->selected & inner) | (o->selected & ~inner) << 1 | 1u << axis;
	return op_read(m, def, 0);
}

bool memory_order_needed(const struct module *m, op_id op, int *axis)
{
	enum collective c;
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	if (!op_collective((enum op_kind)m->op.at[op].kind, &c) || !from || !to)
		return false;
	bool cuts = collective_in(c) == PART_EACH && collective_out(c) == PART_OWN;
	bool joins = collective_in(c) == PART_OWN && collective_out(c) == PART_EACH;
	*axis = cuts || joins ? block_axis(m, m->value.at[from].type, m->value.at[to].type) : MEMORY_NO_AXIS;
	return true;
}
