/* plan_view: finds the views of values that statements make and use.
 *
 *     A: f32[8@stream(8), 128] = allocate()     storage of its own
 *     a = select(A, axis=0, index=i)            A's storage from element i * 128 on, without axis 0
 *     c = shard_by_stream(X, i)                 X's storage, the i-th block of the split axis
 *
 * A buffer allocated in a loop holds the chunk of the iteration: the j-th enclosing stream (serial) loop
 * binds the j-th stream (serial) axis in loop order, if it has as many iterations. If the operation that
 * first writes the buffer has operands with another chunk (a swizzled ring), the buffer holds that
 * chunk. */
#include "ir/expr.h"
#include "ir/infer.h"
#include "plan/planner.h"
#include <string.h>

/* Returns the tensor that is shown for a value. The reader of a listing makes a sum or a view of the operand of a
 * Communication, which the listing does not name. */
static value_id shown_value(const struct planner *b, value_id v)
{
	const struct value *x = &b->m->value.at[v];
	const struct op *o = &b->m->op.at[x->def];
	bool made = x->def && !x->name && b->at && x->def != b->at && o->at == b->m->op.at[b->at].at;
	return made && (o->kind == OP_SELECT || op_traits(b->m, x->def) & TRAIT_REDUCTION)
	           ? op_read(b->m, x->def, 0)
	           : v;
}

const char *value_text(const struct planner *b, value_id v)
{
	const struct value *x = &b->m->value.at[shown_value(b, v)];
	if (x->name)
		return names_text(b->m->names, x->name);
	return x->number >= 0 ? arena_printf(b->scratch, "T%d", x->number) : "a value without name";
}

enum dtype view_dtype(const struct planner *b, const struct view *v)
{
	return ir_type(b->m, v->type)->dtype;
}

static bool is_here(const struct planner *b, type_id t)
{
	uint32_t position;
	mesh_id mesh = ir_type(b->m, t)->mesh;
	return !mesh || mesh_position(ir_mesh(b->m, mesh), (uint32_t)b->p->rank, &position);
}

struct view *view_new(struct planner *b, value_id value)
{
	type_id t = b->m->value.at[value].type;
	unsigned rank = ir_domain(b->m, ir_type(b->m, t)->domain)->rank;
	struct view *v = arena_alloc(b->scratch, sizeof *v + sizeof *v->axis * rank);
	v->value = value;
	v->type = t;
	v->rank = rank;
	return v;
}

static struct view *absent_view(struct planner *b, value_id value)
{
	struct view *v = view_new(b, value);
	v->absent = true;
	return v;
}

bool view_apart(const struct view *v)
{
	for (unsigned i = 0; i < v->rank && !v->absent; i++)
		if (v->axis[i].apart)
			return true;
	return false;
}

bool view_pieces(const struct view *v)
{
	for (unsigned i = 0; i < v->rank && !v->absent; i++)
		if (v->axis[i].pieces)
			return true;
	return false;
}

bool view_usable(struct planner *b, struct view *v)
{
	for (unsigned i = 0; i < v->rank && !v->absent; i++) {
		if (!v->axis[i].apart)
			continue;
		if (!v->reported)
			planner_error(b, E_PLAN_LAYOUT,
			              v->axis[i].pieces || v->axis[i].scattered
			                  ? "layout of '%s' is not one interval a rank; not executed yet"
			                  : "a block of '%s' is not in one place in memory; not executed yet",
			              value_text(b, v->value));
		v->reported = true;
		return false;
	}
	return true;
}

sx_id view_offset(struct planner *b, const struct view *v, const sx_id *x)
{
	sx_id at = v->origin;
	for (unsigned i = 0; i < v->rank; i++) {
		const struct view_axis *a = &v->axis[i];
		at = sx_add(b, at, a->start);
		if (!a->own)
			at = sx_add(b, at, sx_scale(b, sx_sub(b, x[i], a->base), a->stride));
	}
	return at;
}

/* ---- which chunk a buffer holds */

/* Sets bound[axis][k] by the enclosing loops; see the top of the file. */
static void bind_by_loops(struct planner *b, type_id t, unsigned loop_n, sx_id (*bound)[VIEW_MAX_STEPS])
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, t)->domain);
	unsigned next[2] = {0, 0}; /* number of serial and stream loops used so far */
	for (unsigned i = 0; i < d->loop_n; i++) {
		uint8_t place = d->axis[d->loop[i]].place;
		if (place != PLACE_STREAM && place != PLACE_SERIAL)
			continue;
		bool stream = place == PLACE_STREAM;
		for (unsigned a = 0; a < d->rank; a++) {
			struct axis_steps steps;
			unsigned k = 0;
			if (!axis_steps_find(b, t, a, false, &steps))
				continue;
			for (unsigned s = 0; s < steps.n; s++) {
				const struct axis_step *step = &steps.step[s];
				if (step->place != PLACE_STREAM && step->place != PLACE_SERIAL)
					continue;
				unsigned number = k++;
				if (step->axis != d->loop[i])
					continue;
				unsigned l = next[stream];
				while (l < loop_n && !(b->loop[l].stream == stream && b->loop[l].start == 0 &&
				                       b->loop[l].stop == step->count))
					l++;
				if (l == loop_n)
					continue;
				next[stream] = l + 1;
				sx_id index = b->loop[l].index;
				if (step->swizzled)
					index = sx_op(b, EXPR_MOD,
					              sx_add(b, index,
					                     sx_const(b, mesh_index(b, t, step->swizzle_axis,
					                                            b->p->rank))),
					              sx_const(b, step->count));
				bound[a][number] = index;
			}
		}
	}
}

/* Replaces bound blocks by those of the operands from which the result's axes come. */
static void bind_by_operands(struct planner *b, op_id op, type_id t, sx_id (*bound)[VIEW_MAX_STEPS])
{
	struct infer_axes x;
	unsigned rank = ir_domain(b->m, ir_type(b->m, t)->domain)->rank;
	if (!infer_axes(b->m, op, &x))
		return;
	for (unsigned a = 0; a < rank; a++) {
		struct axis_steps to_steps, from_steps;
		unsigned k = 0;
		if (x.result[a] == INFER_NONE || !axis_steps_find(b, t, a, false, &to_steps))
			continue;
		for (unsigned s = 0; s < to_steps.n; s++) {
			if (to_steps.step[s].place != PLACE_STREAM && to_steps.step[s].place != PLACE_SERIAL)
				continue;
			unsigned number = k++;
			for (unsigned o = x.operand_n; o-- > 0;) {
				const struct view *v = b->view[op_read(b->m, op, o)];
				for (unsigned c = 0; v && !v->absent && c < v->rank; c++) {
					if (x.operand[o][c] != x.result[a] || !v->axis[c].bound[number])
						continue;
					if (axis_steps_find(b, v->type, c, false, &from_steps) &&
					    s < from_steps.n &&
					    from_steps.step[s].block == to_steps.step[s].block &&
					    from_steps.step[s].place == to_steps.step[s].place)
						bound[a][number] = v->axis[c].bound[number];
				}
			}
		}
	}
}

static struct view *make_buffer(struct planner *b, value_id value, op_id writer, const struct place *place)
{
	sx_id bound[IR_MAX_LOGICAL][VIEW_MAX_STEPS] = {{0}};
	type_id t = b->m->value.at[value].type;
	if (!is_here(b, t))
		return b->view[value] = absent_view(b, value);
	bind_by_loops(b, t, place->loop_n, bound);
	if (writer)
		bind_by_operands(b, writer, t, bound);
	return b->view[value] = storage_make(b, value, (const sx_id(*)[VIEW_MAX_STEPS])bound, place);
}

void view_bind_by_loops(struct planner *b, struct view *v)
{
	sx_id bound[IR_MAX_LOGICAL][VIEW_MAX_STEPS] = {{0}};
	bind_by_loops(b, v->type, b->loop_n, bound);
	for (unsigned a = 0; a < v->rank; a++)
		memcpy(v->axis[a].bound, bound[a], sizeof bound[a]);
}

static struct place get_current_place(const struct planner *b)
{
	return (struct place){.loop_n = b->loop_n, .stream = b->stream};
}

/* ---- views of statements */

struct view *view_of(struct planner *b, value_id v)
{
	if (!b->view[v] && b->place[v])
		make_buffer(b, v, 0, b->place[v]);
	if (!b->view[v])
		planner_error(b, E_VALUE_UNDEFINED, "'%s' has no value here", value_text(b, v));
	return b->view[v];
}

struct view *view_of_result(struct planner *b, op_id op, unsigned k)
{
	value_id v = op_result(b->m, op, k);
	if (b->view[v])
		return b->view[v];
	struct place p = get_current_place(b);
	if (!b->place[v] && !b->m->op.at[op].def_n) {
		planner_error(b, E_VALUE_UNDEFINED, "'%s' has no storage here", value_text(b, v));
		return NULL;
	}
	const struct place *at = b->place[v] ? b->place[v] : &p;
	return make_buffer(b, v, at->loop_n == b->loop_n ? op : 0, at);
}

bool view_input(struct planner *b, unsigned input)
{
	value_id v = b->m->input.at[input].value;
	if (!is_here(b, b->m->value.at[v].type) || !module_has_input(b->m, input, b->p->rank)) {
		b->view[v] = absent_view(b, v);
		return true;
	}
	b->view[v] = storage_make(b, v, NULL, NULL);
	if (!b->view[v])
		return false;
	b->p->buffer.at[b->view[v]->buffer].input = (int32_t)input;
	b->p->input_buffer[input] = b->view[v]->buffer;
	return true;
}

void view_allocate(struct planner *b, value_id v)
{
	b->place[v] = arena_new_object(b->scratch, struct place);
	*b->place[v] = get_current_place(b);
	b->view[v] = NULL;
}

/* Makes a view of the same storage with the type of `value`. It takes over all axes except `dropped`
 * (-1: none). */
static struct view *derive(struct planner *b, value_id value, const struct view *from, int dropped)
{
	struct view *v = view_new(b, value);
	v->buffer = from->buffer;
	v->slot = from->slot;
	v->origin = from->origin;
	for (unsigned i = 0, k = 0; i < from->rank; i++)
		if ((int)i != dropped && k < v->rank)
			v->axis[k++] = from->axis[i];
	return b->view[value] = v;
}

void view_shard(struct planner *b, op_id op)
{
	value_id result = op_result(b->m, op, 0);
	struct view *x = view_of(b, op_read(b->m, op, 0));
	sx_id index;
	bool given = false;
	if (!x)
		return;
	if (x->absent) {
		b->view[result] = absent_view(b, result);
		return;
	}
	if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &index))
		return;
	struct view *v = derive(b, result, x, -1);
	for (unsigned a = 0; a < v->rank; a++) {
		struct axis_steps steps;
		unsigned k = 0;
		bool known = axis_steps_find(b, v->type, a, false, &steps);
		for (unsigned s = 0; s < steps.n && known; s++) {
			const struct axis_step *step = &steps.step[s];
			if (step->place != PLACE_STREAM && step->place != PLACE_SERIAL)
				continue;
			sx_id *bound = &v->axis[a].bound[k++];
			if (*bound || given)
				continue;
			given = true;
			sx_id inside = sx_op(b, EXPR_AND, sx_op(b, EXPR_GE, index, sx_const(b, 0)),
			                     sx_op(b, EXPR_LT, index, sx_const(b, step->count)));
			plan_emit_check(
			    b, inside, E_STREAM_INDEX,
			    arena_printf(b->p->arena,
			                 "stream_index is not a block of '%s' (0 to %lld): it is " PLAN_VALUE,
			                 value_text(b, result), (long long)step->count - 1),
			    &index, 1);
			*bound = step->swizzled
			             ? sx_op(b, EXPR_MOD,
			                     sx_add(b, index,
			                            sx_const(b, mesh_index(b, v->type, step->swizzle_axis,
			                                                   b->p->rank))),
			                     sx_const(b, step->count))
			             : index;
		}
		axis_resolve(b, v, a, -1);
	}
	if (!given)
		planner_error(b, E_STREAM_INDEX, "'%s' has no stream axis to bind", value_text(b, result));
}

/* Returns the place of the index-th element of an axis, relative to the start of the axis. */
static sx_id element_of(struct planner *b, const struct view_axis *x, sx_id index)
{
	sx_id at = sx_const(b, 0);
	if (x->own)
		return at;
	if (!x->apart)
		return sx_add(b, x->start, sx_scale(b, sx_sub(b, index, x->base), x->stride));
	for (unsigned i = 0; i < x->step_n; i++) {
		const struct view_step *s = &x->step[i];
		sx_id block = s->index ? s->index : sx_op(b, EXPR_FLOOR_DIV, index, sx_const(b, s->block)),
		      place = block;
		if (s->count)
			place = sx_op(b, EXPR_MOD, sx_sub(b, block, sx_const(b, s->swizzle)),
			              sx_const(b, s->count));
		if (!s->index)
			at = sx_add(b, at, sx_scale(b, place, s->stride));
		index = sx_sub(b, index, sx_scale(b, block, s->block));
	}
	return sx_add(b, at, sx_scale(b, index, x->stride));
}

void view_select(struct planner *b, op_id op)
{
	value_id result = op_result(b->m, op, 0);
	struct view *x = view_of(b, op_read(b->m, op, 0));
	const struct attr *attr = op_attr(b->m, op, "axis");
	sx_id index;
	if (!x)
		return;
	if (x->absent) {
		b->view[result] = absent_view(b, result);
		return;
	}
	int64_t axis = attr && attr->kind == ATTR_INT ? attr->u.i : 0;
	axis = axis < 0 ? axis + x->rank : axis;
	if (axis < 0 || axis >= x->rank) {
		planner_error(b, E_AXIS_ATTRIBUTE, "'%s' has no axis %lld", value_text(b, x->value),
		              (long long)axis);
		return;
	}
	if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &index))
		return;
	const struct view_axis *a = &x->axis[axis];
	if (a->scattered || (a->pieces && !a->step_n)) {
		view_usable(b, x);
		return;
	}
	sx_id lo = a->own ? sx_const(b, 0) : a->off, n = a->own ? sx_const(b, 1) : a->len;
	sx_id inside =
	    sx_op(b, EXPR_AND, sx_op(b, EXPR_GE, index, lo), sx_op(b, EXPR_LT, index, sx_add(b, lo, n)));
	if (!a->pieces)
		plan_emit_check(b, inside, E_INDEX_OUTSIDE,
		                arena_printf(b->p->arena,
		                             a->own
		                                 ? "axis %lld of '%s' has one element on each rank, index 0, "
		                                   "not index " PLAN_VALUE
		                                 : "the index of axis %lld of '%s' is outside the block of "
		                                   "this rank: it is " PLAN_VALUE,
		                             (long long)axis, value_text(b, x->value)),
		                &index, 1);
	struct view *v = derive(b, result, x, (int)axis);
	v->origin = sx_add(b, x->origin, element_of(b, a, index));
}
