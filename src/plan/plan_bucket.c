/* plan_bucket: lowers pack and unpack to a copy for each operand or result.
 *
 *     P: f32[2, 10] = pack(A, B, blocks=2)      A: 8 elements on the rank, B: 4 lines of 3
 *         P[0; 2:10 4:1] = A[0; 2:4 4:1]
 *         P[4; 2:10 6:1] = B[0; 2:6 6:1]
 *
 * If no loop cuts a value, the rank's part is its whole memory. Parts of other values, and of views, are
 * boxes of strided lines. */
#include "ir/pack.h"
#include "plan/plan_elements.h"

/* The memory of a value: extents and strides, outermost first, in elements; in bytes if the pack is of
 * bytes. */
struct held {
	uint32_t buffer;
	sx_id slot, offset;
	unsigned nd;
	int64_t n[IR_MAX_LOGICAL + 1], stride[IR_MAX_LOGICAL + 1];
	int64_t count;
};

/* Appends a dimension. If it continues the last one without a gap, the two are joined. */
static void add_dim(struct held *x, int64_t n, int64_t stride)
{
	x->count *= n;
	if (n == 1)
		return;
	if (x->nd && x->stride[x->nd - 1] == n * stride) {
		x->n[x->nd - 1] *= n;
		x->stride[x->nd - 1] = stride;
		return;
	}
	x->n[x->nd] = n;
	x->stride[x->nd++] = stride;
}

/* Finds the box of a view, or of a value that a loop cuts. */
static bool box_of_memory(struct planner *b, struct view *v, struct held *x)
{
	uint8_t axis[IR_MAX_LOGICAL];
	sx_id n[IR_MAX_LOGICAL], at[IR_MAX_LOGICAL];
	if (!view_usable(b, v))
		return false;
	for (unsigned i = 0; i < v->rank; i++) {
		n[i] = v->axis[i].own ? sx_const(b, 1) : v->axis[i].len;
		at[i] = v->axis[i].off;
	}
	unsigned axes = run_axes(b, v, n, axis);
	for (unsigned k = 0; k < axes; k++) {
		int64_t count;
		if (!sx_is_const(b, n[axis[k]], &count)) {
			planner_error(b, E_PLAN_LAYOUT,
			              "axis %u of '%s' is not as long in all steps of the loop", axis[k],
			              value_text(b, v->value));
			return false;
		}
		add_dim(x, count, v->axis[axis[k]].stride);
	}
	x->offset = view_offset(b, v, at);
	return true;
}

static bool memory_of(struct planner *b, struct view *v, bool bytes, struct held *x)
{
	int64_t size = bytes ? (int64_t)dtype_bytes(view_dtype(b, v)) : 1, extent, parts;
	*x = (struct held){.buffer = v->buffer, .slot = v->slot, .offset = sx_const(b, 0), .count = 1};
	if (!ir_pack_is_even(b->m, v->type, &extent, &parts)) {
		planner_error(b, E_PLAN_LAYOUT,
		              "'%s' is not as large on all ranks: %lld elements are cut in %lld",
		              value_text(b, v->value), (long long)extent, (long long)parts);
		return false;
	}
	if (elements_whole(b, v))
		add_dim(x, b->p->buffer.at[v->buffer].elements, 1);
	else if (!box_of_memory(b, v, x))
		return false;
	for (unsigned k = 0; k < x->nd; k++)
		x->stride[k] *= size;
	x->offset = sx_scale(b, x->offset, size);
	if (size > 1)
		add_dim(x, size, 1);
	return true;
}

/* Makes a window with these dimensions. Returns false if there are too many. */
static bool add_window(struct planner *b, struct plan_view *w, int64_t n, int64_t stride)
{
	if (w->nd == RT_MAX_DIMS)
		return false;
	w->n[w->nd] = sx_reg(b, sx_const(b, n));
	w->stride[w->nd++] = stride;
	return true;
}

/* Finds windows on the same elements in the part's memory and in the packed memory. place: position of
 * the part in a block of `block` elements. Returns false if a block ends inside a line, or if there are
 * too many dimensions. */
static bool windows(struct planner *b, const struct held *part, int64_t blocks, int64_t block,
                    struct plan_view *own, struct plan_view *packed)
{
	int64_t left = blocks, dense = part->count / blocks, apart = blocks * block;
	for (unsigned k = 0; k < part->nd; k++) {
		int64_t n = part->n[k], outer = left % n == 0 ? n : n % left == 0 ? left : 0;
		if (!outer)
			return false;
		left /= outer;
		apart /= outer;
		if (outer > 1 && !(add_window(b, own, outer, part->stride[k] * (n / outer)) &&
		                   add_window(b, packed, outer, apart)))
			return false;
		dense /= n / outer;
		if (n > outer && !(add_window(b, own, n / outer, part->stride[k]) &&
		                   add_window(b, packed, n / outer, dense)))
			return false;
	}
	return left == 1;
}

/* Copies a part to its place or back. before: number of elements of earlier parts. */
static bool copy_part(struct planner *b, op_id op, struct view *v, bool bytes, const struct held *packed,
                      int64_t *before)
{
	struct held part;
	int64_t blocks = ir_pack_blocks(b->m, op), size = bytes ? (int64_t)dtype_bytes(view_dtype(b, v)) : 1;
	struct plan_view own = {.bytes = bytes}, place = {.bytes = bytes};
	if (!memory_of(b, v, bytes, &part))
		return false;
	if (part.count / size % blocks) {
		planner_error(b, E_PLAN_LAYOUT,
		              "the %lld elements that rank %lld has of '%s' are not %lld equal blocks",
		              (long long)(part.count / size), (long long)b->p->rank, value_text(b, v->value),
		              (long long)blocks);
		return false;
	}
	int64_t at = *before;
	*before += part.count;
	if (part.count == 0 || *before > packed->count)
		return true;
	if (!windows(b, &part, blocks, packed->count / blocks, &own, &place)) {
		planner_error(b, E_PLAN_LAYOUT,
		              "the memory of '%s' is cut into lines that are no %lld equal blocks",
		              value_text(b, v->value), (long long)blocks);
		return false;
	}
	own.buffer = part.buffer;
	own.slot = sx_reg(b, part.slot);
	own.offset = sx_reg(b, part.offset);
	place.buffer = packed->buffer;
	place.slot = sx_reg(b, packed->slot);
	place.offset = sx_reg(b, sx_add(b, packed->offset, sx_const(b, at / blocks)));
	if (b->m->op.at[op].kind == OP_PACK)
		plan_copy_now(b, &place, &own);
	else
		plan_copy_now(b, &own, &place);
	return true;
}

void plan_bucket(struct planner *b, op_id op)
{
	bool packs = b->m->op.at[op].kind == OP_PACK;
	struct view *whole = packs ? view_of_result(b, op, 0) : view_of(b, op_read(b->m, op, 0));
	struct held packed;
	int64_t before = 0;
	unsigned n;
	if (!whole || whole->absent)
		return;
	bool bytes = view_dtype(b, whole) == DTYPE_U8;
	if (!memory_of(b, whole, bytes, &packed))
		return;
	if (packed.nd > 1 || (packed.nd && packed.stride[0] != 1)) {
		planner_error(b, E_PLAN_LAYOUT, "the part of '%s' on a rank is not one run of memory",
		              value_text(b, whole->value));
		return;
	}
	const struct operand *part = ir_pack_parts(b->m, op, &n);
	for (unsigned k = 0; k < n; k++) {
		struct view *v = packs ? view_of(b, part[k].id) : view_of_result(b, op, k);
		if (!v || v->absent || !copy_part(b, op, v, bytes, &packed, &before))
			return;
	}
	if (before != packed.count)
		planner_error(b, E_PLAN_LAYOUT, "rank %lld has %lld elements to %s, but %lld of '%s'",
		              (long long)b->p->rank, (long long)before, op_info[b->m->op.at[op].kind].hir,
		              (long long)packed.count, value_text(b, whole->value));
}
