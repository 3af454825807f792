/* plan_storage: makes buffers, and finds the places of a value's axes in them.
 *
 * A buffer holds a value's allocation domain. Mesh axes, and splits that an enclosing loop binds, have
 * one block on this rank. All other axes are whole, with full blocks:
 *
 *     H: f32[128@stream(4), 64@x], allocated in the loop over its stream, x = 2
 *         allocation domain   stream 4   x 2   32   32
 *         on this rank        1          1     32   32     strides of the last two: 32, 1
 *
 * The splits of a logical axis in the allocation domain are the steps of its storage. The splits in the
 * loop domain determine the interval that the value holds. */
#include "base/checked.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/part.h"
#include "plan/planner.h"
#include <assert.h>
#include <string.h>

bool axis_steps_find(struct planner *b, type_id t, unsigned logical, bool allocation, struct axis_steps *out)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, t)->domain);
	const uint8_t *cut = allocation ? d->alloc : d->loop;
	size_t cut_n = allocation ? d->alloc_n : d->loop_n;
	unsigned a = logical;
	out->n = 0;
	for (;;) {
		struct axis_step s = {.whole = true, .block = 1};
		unsigned leaf = a;
		if (!memchr(cut, (int)a, cut_n)) {
			const struct xform *x = domain_consumer(d, a);
			if (!x || x->kind == XFORM_MERGE)
				return false;
			s.whole = x->kind == XFORM_SWIZZLE1D;
			if (!s.whole) {
				leaf = x->out[0];
				a = x->out[1];
				if (!planner_value(b, d->axis[a].extent, &s.block))
					return false;
			}
			x = s.whole ? x : memchr(cut, (int)leaf, cut_n) ? NULL : domain_consumer(d, leaf);
			if (x) {
				if (x->kind != XFORM_SWIZZLE1D)
					return false;
				s.swizzled = 1;
				s.swizzle_axis = x->mesh_axis;
				leaf = x->out[0];
			}
			if (!memchr(cut, (int)leaf, cut_n))
				return false;
		} else if (d->axis[a].place == PLACE_NONE) {
			return true;
		}
		s.place = d->axis[leaf].place;
		s.mesh_axis = d->axis[leaf].mesh_axis;
		s.axis = (uint8_t)leaf;
		if (out->n == VIEW_MAX_STEPS || !planner_value(b, d->axis[leaf].extent, &s.count))
			return false;
		if (s.count != 1 || s.place != PLACE_MESH) /* otherwise it cuts nothing */
			out->step[out->n++] = s;
		if (s.whole)
			return true;
	}
}

int64_t mesh_index(const struct planner *b, type_id t, unsigned mesh_axis, int64_t rank)
{
	uint32_t i = 0;
	mesh_axis_index(ir_mesh(b->m, ir_type(b->m, t)->mesh), (uint32_t)rank, mesh_axis, &i);
	return i;
}

/* Returns the block of a step on this rank and in this iteration; 0 if the step is not bound. bound:
 * blocks of the loop splits in order; *next: number of the next one. */
static sx_id step_index(struct planner *b, type_id t, const struct axis_step *s, int64_t rank,
                        const sx_id *bound, unsigned *next)
{
	if (s->place == PLACE_MESH)
		return sx_const(b, mesh_index(b, t, s->mesh_axis, rank));
	if (s->place == PLACE_STREAM || s->place == PLACE_SERIAL)
		return bound[(*next)++];
	return 0;
}

/* Finds the block of each step; 0: all blocks. Returns the number of intervals that these blocks form.
 * piece: of several intervals, take the one with this number; -1: none. Blocks of the first `stored`
 * steps are separate intervals. */
static int64_t find_blocks(struct planner *b, type_id t, const struct axis_steps *steps, const sx_id *bound,
                           int64_t rank, unsigned stored, int64_t piece, sx_id *index)
{
	unsigned next = 0, cut = stored < steps->n ? stored : steps->n;
	int64_t pieces = 1;
	for (unsigned i = 0; i < steps->n; i++) {
		index[i] = step_index(b, t, &steps->step[i], rank, bound, &next);
		cut = index[i] && i > cut ? i : cut;
	}
	for (unsigned i = cut; i-- > 0;) {
		int64_t n = steps->step[i].count;
		if (index[i])
			continue;
		if (piece >= 0 || n == 1)
			index[i] = sx_const(b, n == 1 ? 0 : piece / pieces % n);
		pieces *= n;
	}
	return pieces;
}

/* Finds the interval formed by one block of each step. */
static void find_interval(struct planner *b, const struct axis_steps *steps, const sx_id *index,
                          int64_t extent, sx_id *off, sx_id *len)
{
	*off = sx_const(b, 0);
	*len = sx_const(b, extent);
	for (unsigned i = 0; i < steps->n; i++) {
		if (!index[i])
			continue;
		sx_id at = sx_scale(b, index[i], steps->step[i].block);
		*off = sx_add(b, *off, at);
		*len = sx_clamp(b, sx_sub(b, *len, at), steps->step[i].block);
	}
}

int64_t view_intervals(struct planner *b, const struct view *v, unsigned axis)
{
	struct axis_steps steps;
	sx_id index[VIEW_MAX_STEPS];
	if (!axis_steps_find(b, v->type, axis, false, &steps))
		return 0;
	return find_blocks(b, v->type, &steps, v->axis[axis].bound, b->p->rank, v->axis[axis].step_n, -1,
	                   index);
}

bool view_interval_at(struct planner *b, const struct view *v, unsigned axis, int64_t rank, int64_t piece,
                      sx_id *off, sx_id *len)
{
	struct axis_steps steps;
	sx_id index[VIEW_MAX_STEPS];
	const struct view_axis *x = &v->axis[axis];
	if (!axis_steps_find(b, v->type, axis, false, &steps) ||
	    (find_blocks(b, v->type, &steps, x->bound, rank, piece < 0 ? 0 : x->step_n, piece, index) > 1 &&
	     piece < 0))
		return false;
	find_interval(b, &steps, index, x->extent, off, len);
	return true;
}

bool view_interval(struct planner *b, const struct view *v, unsigned axis, int64_t rank, sx_id *off,
                   sx_id *len)
{
	return view_interval_at(b, v, axis, rank, -1, off, len);
}

#ifndef NDEBUG
/* Returns false if the interval of an axis is constant and differs from the one that ir/part finds. */
static bool is_interval_of_part(struct planner *b, const struct view *v, unsigned axis)
{
	const struct view_axis *x = &v->axis[axis];
	struct bound_at bound = {0};
	struct part p;
	struct axis_steps steps;
	unsigned next = 0;
	int64_t from, len;
	if (!sx_is_const(b, x->off, &from) || !sx_is_const(b, x->len, &len) ||
	    !axis_steps_find(b, v->type, axis, false, &steps))
		return true;
	for (unsigned i = 0; i < steps.n; i++) {
		const struct axis_step *s = &steps.step[i];
		const sx_id block =
		    s->place == PLACE_STREAM || s->place == PLACE_SERIAL ? x->bound[next++] : 0;
		int64_t step;
		if (!block)
			continue;
		if (!sx_is_const(b, block, &step))
			return true;
		if (s->swizzled)
			step = (step + s->count - mesh_index(b, v->type, s->swizzle_axis, b->p->rank)) %
			       s->count;
		bound.axes |= (uint64_t)1 << s->axis;
		bound.step[s->axis] = step;
	}
	if (!part_of(b->m, v->type, b->p->rank, &bound, &p) || p.absent)
		return true;
	const struct part_axis *q = &p.axis[axis];
	return !q->levels && q->to - q->from == len && (!len || q->from == from);
}
#endif

void axis_resolve(struct planner *b, struct view *v, unsigned axis, int64_t piece)
{
	struct view_axis *x = &v->axis[axis];
	struct axis_steps steps = {0};
	sx_id block[VIEW_MAX_STEPS];
	unsigned i = 0;
	x->pieces = !axis_steps_find(b, v->type, axis, false, &steps) ||
	            (find_blocks(b, v->type, &steps, x->bound, b->p->rank, piece < 0 ? 0 : x->step_n, piece,
	                         block) > 1 &&
	             piece < 0);
	x->base = x->start = sx_const(b, 0);
	x->apart = x->pieces || x->scattered;
	if (x->pieces) {
		x->off = x->base, x->len = sx_const(b, x->extent);
		return;
	}
	find_interval(b, &steps, block, x->extent, &x->off, &x->len);
	assert(piece >= 0 || is_interval_of_part(b, v, axis));
	sx_id held_off = sx_const(b, 0), held_len = sx_const(b, x->extent);
	x->room = x->extent;
	for (; i < x->step_n; i++) {
		const struct view_step *s = &x->step[i];
		sx_id index = i < steps.n && steps.step[i].block == s->block ? block[i] : 0;
		if (s->index ? index != s->index : !index)
			x->apart = true; /* outside of the stored part, or over several blocks */
		if (!s->index && index) {
			sx_id place = index;
			if (s->count)
				place = sx_op(b, EXPR_MOD, sx_sub(b, index, sx_const(b, s->swizzle)),
				              sx_const(b, s->count));
			x->start = sx_add(b, x->start, sx_scale(b, place, s->stride));
		}
		index = s->index ? s->index : index;
		if (!index)
			continue;
		sx_id at = sx_scale(b, index, s->block);
		x->base = sx_add(b, x->base, at);
		held_off = sx_add(b, held_off, at);
		held_len = sx_clamp(b, sx_sub(b, held_len, at), s->block);
		x->room = s->block;
	}
	x->full = x->off == held_off && x->len == held_len;
}

bool view_blocks(struct planner *b, const struct view *v, unsigned axis, struct axis_steps *steps,
                 sx_id *index)
{
	const struct view_axis *x = &v->axis[axis];
	unsigned next = 0;
	if (x->scattered || !axis_steps_find(b, v->type, axis, false, steps) || x->stored_n > steps->n)
		return false;
	for (unsigned i = 0; i < steps->n; i++) {
		if (i < x->stored_n && (x->step[i].count || steps->step[i].block != x->step[i].block))
			return false;
		index[i] = step_index(b, v->type, &steps->step[i], b->p->rank, x->bound, &next);
	}
	return true;
}

/* Marks the allocated axes of which one block is stored. */
static void mark_bound(struct planner *b, const struct view *v, unsigned axis, uint8_t *is_bound)
{
	struct axis_steps steps;
	unsigned next = 0;
	if (!axis_steps_find(b, v->type, axis, true, &steps))
		return;
	for (unsigned i = 0; i < steps.n; i++) {
		const struct axis_step *s = &steps.step[i];
		if ((s->place == PLACE_STREAM || s->place == PLACE_SERIAL) && v->axis[axis].bound[next++])
			is_bound[s->axis] = 1;
	}
}

/* The blocks of a symmetric view: their distance, and the axes along which they are. */
struct apart {
	uint64_t axes;  /* bit set of the domain's axes; 0: no symmetric view */
	int64_t stride; /* in elements */
};

/* Computes the stride of each allocated axis. Returns the elements of a slot, or -1 after reporting. */
static int64_t compute_alloc_strides(struct planner *b, const struct view *v, struct apart apart,
                                     int64_t *stride)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	uint8_t is_bound[IR_MAX_AXES] = {0};
	int64_t size = 1, blocks = 1;
	for (unsigned i = 0; i < v->rank; i++)
		mark_bound(b, v, i, is_bound);
	for (unsigned i = d->alloc_n; i-- > 0;) {
		const struct axis *x = &d->axis[d->alloc[i]];
		int64_t n = 1;
		stride[d->alloc[i]] = size;
		if (x->place == PLACE_MESH || x->kind == AXIS_REDUCE || x->kind == AXIS_PARTIAL ||
		    is_bound[d->alloc[i]])
			continue;
		if (!planner_value(b, x->extent, &n))
			return -1;
		if (apart.axes >> d->alloc[i] & 1) {
			stride[d->alloc[i]] = n == 1 ? size : apart.stride * blocks;
			blocks *= n;
			continue;
		}
		if (n < 0 || !checked_mul(size, n, &size) || size > INT64_MAX / 64) {
			diag_error(b->d, E_TENSOR_TOO_LARGE, b->m->value.at[v->value].at,
			           "'%s' is too large for any machine", value_text(b, v->value));
			b->failed = true;
			return -1;
		}
	}
	return size + (blocks - 1) * apart.stride;
}

/* Finds the steps of an axis in memory. Steps without gaps between them count as one. */
static void storage_axis(struct planner *b, struct view *v, unsigned axis, const int64_t *stride)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	struct view_axis *x = &v->axis[axis];
	struct axis_steps steps;
	unsigned next = 0, a = axis;
	x->scattered = !axis_steps_find(b, v->type, axis, true, &steps);
	for (unsigned i = 0; i < steps.n && !x->scattered; i++) {
		const struct axis_step *s = &steps.step[i];
		struct view_step step = {.block = s->block, .stride = stride[s->axis]};
		step.index = step_index(b, v->type, s, b->p->rank, x->bound, &next);
		x->own = s->whole && s->place == PLACE_MESH;
		if (s->swizzled && !step.index) { /* the order of blocks depends on the rank */
			step.swizzle = mesh_index(b, v->type, s->swizzle_axis, b->p->rank);
			step.count = s->count;
		}
		if (step.index || !s->whole || s->swizzled)
			x->step[x->step_n++] = step;
	}
	if (x->scattered)
		return;
	while (!memchr(d->alloc, (int)a, d->alloc_n)) {
		const struct xform *t = domain_consumer(d, a);
		a = t->kind == XFORM_SWIZZLE1D ? t->out[0] : t->out[1];
	}
	x->stride = stride[a];
	x->stored_n = x->step_n;
	for (const struct view_step *s;
	     x->step_n &&
	     (s = &x->step[x->step_n - 1], !s->index && !s->count && s->stride == x->stride * s->block);)
		x->step_n--;
}

/* Returns a slot for each stream on which an iteration may run. */
static sx_id slot_of_stream(struct planner *b, const struct place *place, struct plan_buffer *buffer)
{
	sx_id s = place->stream;
	int64_t streams = b->p->streams;
	buffer->slots = 1;
	if (s && sx_is_const(b, s, NULL))
		s = 0;
	for (unsigned i = place->loop_n; i-- > 0 && !s;)
		if (b->loop[i].set_stream && sx_lower(b, b->loop[i].set_stream, &s) &&
		    sx_is_const(b, s, NULL))
			s = 0;
	for (unsigned i = place->loop_n; i-- > 0 && !s;)
		if (b->loop[i].stream)
			s = b->loop[i].index;
	if (!s)
		return sx_const(b, 0);
	const struct sx *x = &b->sx.at[s];
	if (streams == 0 && (x->lo < 0 || x->hi > PLAN_MAX_SLOTS)) {
		planner_error(b, E_PLAN_STREAMS, "'%s' needs a copy for each of an unknown number of streams",
		              value_text(b, buffer->value));
		diag_note(b->d, DIAG_NOWHERE, "--streams=N bounds them");
		return sx_const(b, 0);
	}
	if (streams == 0 || (x->lo >= 0 && x->hi < streams)) {
		buffer->slots = x->hi + 1;
		return s;
	}
	buffer->slots = streams;
	return sx_op(b, EXPR_MOD, s, sx_const(b, streams));
}

/* Counts the iterations of the enclosing loops, from the outermost loop for which they can be counted. */
static sx_id iteration(struct planner *b, unsigned loop_n)
{
	sx_id n = b->loop[loop_n - 1].index;
	int64_t inner = 1;
	for (unsigned i = loop_n - 1; i > 0; i--) {
		int64_t trips = b->loop[i].stop - b->loop[i].start;
		if (b->loop[i].stop < b->loop[i].start || !checked_mul(inner, trips, &inner))
			break;
		n = sx_add(b, n, sx_scale(b, b->loop[i - 1].index, inner));
	}
	return n;
}

/* Returns the slot of the current iteration. Iterations on different streams never share one. Neither do
 * successive iterations on one stream that use the buffer at the same time. */
static sx_id slot_of(struct planner *b, const struct place *place, struct plan_buffer *buffer)
{
	sx_id slot = slot_of_stream(b, place, buffer);
	int64_t streams = buffer->slots, copies = b->copies[buffer->value];
	if (copies < 2 || !place->loop_n)
		return slot;
	buffer->slots *= copies;
	sx_id turn = sx_op(b, EXPR_FLOOR_DIV, iteration(b, place->loop_n), sx_const(b, streams));
	return sx_add(b, slot, sx_scale(b, sx_op(b, EXPR_MOD, turn, sx_const(b, copies)), streams));
}

/* Returns the name for messages: 'X' (f.hir:4). */
static const char *what(const struct planner *b, value_id v)
{
	uint32_t line = 0, column, at = b->m->value.at[v].at;
	if (!b->m->source || at == DIAG_NOWHERE)
		return arena_printf(b->p->arena, "'%s'", value_text(b, v));
	source_position(b->m->source, at, &line, &column);
	return arena_printf(b->p->arena, "'%s' (%s:%u)", value_text(b, v), source_name(b->m->source, at),
	                    line);
}

/* Finds extents, strides and steps of all axes. Returns the elements of a slot, or -1 after reporting. */
static int64_t lay_out(struct planner *b, struct view *v, const sx_id (*bound)[VIEW_MAX_STEPS],
                       struct apart apart)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	int64_t stride[IR_MAX_AXES] = {0};
	for (unsigned i = 0; i < v->rank; i++) {
		if (!planner_value(b, d->axis[i].extent, &v->axis[i].extent))
			return -1;
		if (bound)
			memcpy(v->axis[i].bound, bound[i], sizeof v->axis[i].bound);
	}
	int64_t elements = compute_alloc_strides(b, v, apart, stride);
	for (unsigned i = 0; i < v->rank && elements >= 0; i++) {
		storage_axis(b, v, i, stride);
		axis_resolve(b, v, i, -1);
	}
	return elements;
}

static plan_reg get_innermost_index(const struct planner *b, unsigned loop_n)
{
	return loop_n ? (plan_reg)b->sx.at[b->loop[loop_n - 1].index].k : 0;
}

/* Returns the elements of the rank's part, or of a slot if the part varies. */
static int64_t count_held_elements(const struct planner *b, const struct view *v, int64_t elements)
{
	int64_t n = 1, k;
	for (unsigned i = 0; i < v->rank; i++)
		if (v->axis[i].pieces || !sx_is_const(b, v->axis[i].len, &k) || !checked_mul(n, k, &n))
			return elements;
	return n < elements ? n : elements;
}

struct view *storage_make(struct planner *b, value_id value, const sx_id (*bound)[VIEW_MAX_STEPS],
                          const struct place *place)
{
	struct view *v = view_new(b, value);
	struct plan_buffer buffer = {.value = value, .dtype = ir_type(b->m, v->type)->dtype, .input = -1};
	v->origin = v->slot = sx_const(b, 0);
	buffer.elements = lay_out(b, v, bound, (struct apart){0});
	if (buffer.elements < 0)
		return NULL;
	buffer.held = count_held_elements(b, v, buffer.elements);
	buffer.slots = 1;
	if (place) {
		v->slot =
		    b->target->as_checked ? slot_of_stream(b, place, &buffer) : slot_of(b, place, &buffer);
		buffer.loop = get_innermost_index(b, place->loop_n);
	}
	buffer.slot_bytes = (buffer.elements * (int64_t)dtype_bytes(buffer.dtype) + 63) / 64 * 64;
	if (ir_type(b->m, v->type)->memory == MEMORY_SYMMETRIC) {
		buffer.symmetric = true;
		buffer.heap_at = b->heap[value];
		buffer.slot_bytes = symmetric_bytes(b, buffer.slot_bytes);
		if (buffer.slots > 1) {
			planner_error(
			    b, E_PLAN_STREAMS,
			    "'%s' is in symmetric memory, and needs a copy for each stream of the loop",
			    value_text(b, value));
			diag_note(b->d, DIAG_NOWHERE, "allocate it before the loop");
			return NULL;
		}
	}
	v->buffer = b->p->buffer.n;
	buffer.what = what(b, value);
	vec_push(&b->p->buffer, buffer);
	return v;
}

int64_t storage_bytes(struct planner *b, value_id value)
{
	struct view *v = view_new(b, value);
	int64_t elements = lay_out(b, v, NULL, (struct apart){0});
	return elements < 0 ? -1 : elements * (int64_t)dtype_bytes(view_dtype(b, v));
}

struct view *storage_view(struct planner *b, value_id value, const struct view *x, const uint8_t *mesh_axes,
                          unsigned n, uint32_t team)
{
	struct view *v = view_new(b, value);
	struct plan_buffer of = b->p->buffer.at[x->buffer], buffer = {.value = value, .dtype = of.dtype};
	const struct domain *d = ir_domain(b->m, ir_type(b->m, x->type)->domain);
	struct apart apart = {.stride = of.slot_bytes / (int64_t)dtype_bytes(of.dtype)};
	for (unsigned i = 0; i < d->alloc_n; i++) {
		const struct axis *a = &d->axis[d->alloc[i]];
		if (a->place == PLACE_MESH && a->kind == AXIS_ITER && memchr(mesh_axes, a->mesh_axis, n))
			apart.axes |= (uint64_t)1 << d->alloc[i];
	}
	v->origin = v->slot = sx_const(b, 0);
	buffer.elements = lay_out(b, v, NULL, apart);
	if (buffer.elements < 0)
		return NULL;
	buffer.held = buffer.elements;
	buffer.slots = 1;
	buffer.input = -1;
	buffer.view = true;
	buffer.of = x->buffer;
	buffer.team = team;
	buffer.block_bytes = of.slot_bytes;
	buffer.what = of.what;
	v->buffer = b->p->buffer.n;
	vec_push(&b->p->buffer, buffer);
	return v;
}

const struct view *view_anywhere(struct planner *b, const struct view *v)
{
	if (!v->absent)
		return v;
	int64_t rank = b->p->rank;
	struct view *other = view_new(b, v->value);
	sx_id bound[IR_MAX_LOGICAL][VIEW_MAX_STEPS];
	for (unsigned a = 0; a < v->rank; a++)
		memcpy(bound[a], v->axis[a].bound, sizeof bound[a]);
	b->p->rank = ir_mesh(b->m, ir_type(b->m, v->type)->mesh)->device[0];
	lay_out(b, other, (const sx_id(*)[VIEW_MAX_STEPS])bound, (struct apart){0});
	b->p->rank = rank;
	return other;
}

bool view_apart_anywhere(struct planner *b, const struct view *v)
{
	return view_apart(view_anywhere(b, v));
}

uint32_t storage_temporary(struct planner *b, value_id value, enum dtype t, int64_t elements, sx_id *slot)
{
	struct plan_buffer buffer = {
	    .value = value, .dtype = (uint8_t)t, .elements = elements, .input = -1, .temporary = true};
	struct place place = {.loop_n = b->loop_n, .stream = b->stream};
	buffer.held = elements;
	buffer.loop = get_innermost_index(b, b->loop_n);
	*slot = slot_of(b, &place, &buffer);
	buffer.slot_bytes = (elements * (int64_t)dtype_bytes(t) + 63) / 64 * 64;
	buffer.what = what(b, value);
	vec_push(&b->p->buffer, buffer);
	return b->p->buffer.n - 1;
}
