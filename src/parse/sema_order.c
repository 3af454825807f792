/* sema_order: the order in memory that nvFuser has given the tensors of a Communication.
 *
 *     T1_g_float[iS2{3}, iS3{8}] = Allgather of T0_g_float[ideviceIdx.x4{2}, iS0{3}, iS5{4}]
 *
 * An allgather writes the blocks of the devices one after the other, so axis 1 is outermost in the memory
 * of both tensors. nvFuser gives them that order before it makes the Communication, but a container shows
 * no order in memory. Any Communication in a loop over streams needs the block of an iteration in one place. A tensor
 * with a TransformPrinter keeps the order that is stated there. */
#include "base/arena.h"
#include "base/collective.h"
#include "ir/edit.h"
#include "ir/layout.h"
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/print.h"
#include "parse/nvfuser.h"
#include <stdlib.h>
#include <string.h>

/* Returns the tensor axis along which the devices' blocks of two tensors differ; NO_AXIS: none, or several. */
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

enum { NO_AXIS = -1 };

/* A tensor axis of a value or NO_AXIS, and the tensor axes of which a view of the value shows one element, as a bit set. streamed: a
 * view shows the block of one iteration of a loop over streams. */
struct ordered {
	int axis;
	unsigned selected;
	bool streamed;
};

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
	int streamed = NO_AXIS;
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_STREAM)
			streamed = layout_logical_of(d, d->loop[i]);
	for (unsigned i = 0; i < d->alloc_n; i++)
		if (is_ordered(m, d, d->alloc[i], selected))
			return streamed >= 0 && layout_logical_of(d, d->alloc[i]) != streamed;
	return false;
}

/* Returns the type with a tensor axis outermost in the memory that the view shows; the type itself if it is, 0 if its memory is no
 * permutation of its loops. */
static type_id with_outermost(struct module *m, type_id t, struct ordered o)
{
	struct domain d = *ir_domain(m, ir_type(m, t)->domain);
	uint8_t old[IR_MAX_AXES], perm[IR_MAX_AXES], place[IR_MAX_AXES];
	unsigned places = 0, n = 0;
	bool unstreamed, same = true;
	if (!domain_allocation_order(&d, &unstreamed, old))
		return 0;
	if (o.axis == NO_AXIS)
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

/* Returns the operand whose memory a view or a sum along a device axis shows, with the axes in it; 0: the value has
 * memory of its own, or its axes are others. */
static value_id shown(const struct module *m, value_id v, struct ordered *o)
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

/* Returns the tensor of the listing that a value is, or NULL. */
static const struct nv_tensor *find_printed(const struct nv_reader *r, value_id v)
{
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (r->tensor.at[i].value == v)
			return &r->tensor.at[i];
	return NULL;
}

/* Gives a value a type that has the same axes. */
static void set_type(struct module *m, value_id v, type_id t)
{
	int32_t number[IR_MAX_AXES];
	const int32_t *list = number_axis_list(m, v);
	if (list)
		memcpy(number, list, sizeof *list * value_domain(m, v)->axis_n);
	m->value.at[v].type = t;
	if (list)
		ir_set_axis_numbers(m, v, number);
}

/* Makes the axis, if it is one, outermost in the memory of v and of the tensors that it shows, unless an earlier Communication
 * has set another order: `set` is by value_id. A tensor that states this order states it for the others, too. Returns the
 * first tensor of the listing that has another order now and states none, or NULL. */
static const struct nv_tensor *reorder(struct nv_reader *r, value_id v, int axis, bool *set)
{
	struct module *m = r->s->m;
	const struct nv_tensor *changed = NULL;
	bool stated = false;
	for (struct ordered o = {.axis = axis}; v; v = shown(m, v, &o)) {
		const struct nv_tensor *printed = find_printed(r, v);
		type_id before = m->value.at[v].type, t = set[v] ? 0 : with_outermost(m, before, o);
		set[v] |= axis != NO_AXIS || t != before;
		if (!t || (printed && printed->block && t != before))
			break;
		stated |= printed && printed->block;
		if (!changed && t != before)
			changed = printed;
		set_type(m, v, t);
	}
	return stated ? NULL : changed;
}

static void warn_order(struct nv_reader *r, op_id op, const struct nv_tensor *t, int axis)
{
	const struct module *m = r->s->m;
	const char *name = names_text(m->names, t->name);
	if (axis == NO_AXIS)
		diag_warning(
		    r->s->d, W_PRINTED_ORDER, m->op.at[op].at,
		    "'%s' is read with each stream's block in one place of the memory, as this %s needs it",
		    name, op_info[m->op.at[op].kind].hir);
	else
		diag_warning(r->s->d, W_PRINTED_ORDER, m->op.at[op].at,
		             "'%s' is read with axis %d outermost in memory, as this %s needs it", name, axis,
		             op_info[m->op.at[op].kind].hir);
	diag_note(r->s->d, DIAG_NOWHERE,
	          "nvFuser prints no order in memory in a container; TransformPrinter shows it");
}

void nv_orders(struct nv_reader *r)
{
	struct module *m = r->s->m;
	bool *set = mem_zalloc(m->value.n);
	for (op_id o = ir_walk_first(m); o; o = ir_walk(m, o)) {
		enum collective c;
		value_id from = op_read(m, o, 0), to = op_result(m, o, 0);
		if (!op_collective((enum op_kind)m->op.at[o].kind, &c) || !from || !to)
			continue;
		bool cuts = collective_in(c) == PART_EACH && collective_out(c) == PART_OWN;
		bool joins = collective_in(c) == PART_OWN && collective_out(c) == PART_EACH;
		int axis =
		    cuts || joins ? block_axis(m, m->value.at[from].type, m->value.at[to].type) : NO_AXIS;
		const struct nv_tensor *first = reorder(r, from, axis, set),
		                       *second = reorder(r, to, axis, set);
		if (first || second)
			warn_order(r, o, second ? second : first, axis);
	}
	free(set);
}
