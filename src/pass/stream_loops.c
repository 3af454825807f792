/* stream-loops: makes loops of stream-parallel axes.
 *
 *     T3: bf16[t@stream(3), h] partial(x) = linear(X, W)
 *     output Y: bf16[t@stream(3), h] = set(T3)
 *  →
 *     output Y: bf16[t@stream(3), h] = allocate()
 *     for i in 0..3 parallel(stream) {
 *       T4 = shard_by_stream(X, i)
 *       T3: bf16[t@stream(3), h] partial(x) = linear(T4, W)
 *       T5 = shard_by_stream(Y, i)
 *       T5 <- set(T3)
 *     }
 *
 * Consecutive statements of the program's body share a loop if their results begin with a stream (or
 * host-serial) axis of the same extent, and each needs only its own slice of the values made in the
 * loop. Operands from outside are sliced, once a loop. Results used after the loop are allocated before
 * it. A `set` from n@x to n@stream(size(x)) or n@swizzle1d(x) reads its whole operand: each step
 * communicates. A `set` from n@stream(size(x)) partial(x) to n@x communicates in each step, too: a step
 * makes the block of one rank. A serial axis becomes a loop that never gets streams.
 *
 * requires     sharded, decomposed
 * establishes  looped: values computed in slices are computed in a loop
 * keeps        layouts; only allocations follow the slices */
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/print.h"
#include "pass/loop_axes.h"
#include "pass/order.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include "pass/ring_reduce.h"
#include "pass/steps.h"
#include <string.h>

/* A statement that is computed in slices. */
struct sliced {
	struct op_layout l;
	bool reduces;        /* the loop cuts the operand: each step makes the whole result of one rank */
	struct reshard move; /* if it reduces */
	unsigned axis;       /* axis of the result with the loop's placement */
	unsigned level;      /* number of that placement */
	expr_id extent;
	enum axis_place place;
};

struct made { /* a value made in the loop, and the parts of it that statements of the loop read */
	value_id value, slice;
	bool written; /* it was bound before */
};

struct loop {
	op_id op;         /* the FOR statement */
	unsigned depth;   /* number of enclosing loops */
	VEC(op_id) views; /* views of outside values, found between its statements */
	index_id index;
	expr_id extent;
	enum axis_place place;
	VEC(op_id) body;
	VEC(op_id) done; /* all loops made so far */
	VEC(struct made) made;
	unsigned written_n; /* values made in the loop that were bound before */
	uint32_t *made_at;  /* by value, for the first value_n: index in `made` + 1 */
	uint32_t value_n;
};

/* ---- which statements */

/* Returns true for n@stream(size(x)) partial(x) → n@x. */
static bool is_step_reduce(struct module *m, op_id op, struct reshard *r)
{
	if (m->op.at[op].kind != OP_SET)
		return false;
	reshard_classify(m, m->value.at[op_read(m, op, 0)].type, m->value.at[op_result(m, op, 0)].type, r);
	return r->kind == RESHARD_STEP_REDUCE || r->kind == RESHARD_STEP_RING_REDUCE;
}

/* Returns true if a value is one block of a loop axis: the result of a shard_by_stream, or a view of it. */
static bool is_block(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	for (; def && op_traits(m, def) & TRAIT_VIEW; def = m->value.at[op_read(m, def, 0)].def)
		if (m->op.at[def].kind == OP_SHARD_BY_STREAM)
			return true;
	return false;
}

/* Returns true if a statement computes on blocks that the program itself has sliced. Such a statement
 * goes into no loop. *ok is false after reporting. */
static bool takes_block(struct module *m, struct pass_context *cx, op_id op, bool *ok)
{
	bool block = is_block(m, op_result(m, op, 0));
	if (block)
		return true;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ) && !block; k++)
		block = is_block(m, op_read(m, op, k));
	if (!block)
		return false;
	diag_error(cx->d, E_LOOP_SLICES, m->op.at[op].at,
	           "the result has a loop axis, and an operand is one block of it");
	diag_note(cx->d, m->op.at[op].at,
	          "write the result to a block, or move the statement into the loop of that block");
	*ok = false;
	return true;
}

/* Reads the loop axis, number `depth`, that cuts the statement's result: sets *s. Returns false if the
 * statement is computed as a whole. *ok is false after reporting. */
static bool read_sliced(struct module *m, struct pass_context *cx, op_id op, unsigned depth, struct sliced *s,
                        bool *ok)
{
	value_id result = op_result(m, op, 0);
	if (!result || m->op.at[op].flags & OP_ASYNC || op_traits(m, op) & TRAIT_OPAQUE)
		return false;
	const struct domain *d = value_domain(m, result);
	s->reduces = is_step_reduce(m, op, &s->move);
	if (s->reduces)
		d = value_domain(m, op_read(m, op, 0));
	bool loops = depth < place_loop_count(d);
	if (!loops && !depth && loop_axes_any(d))
		pass_remark(cx, m, m->op.at[op].at, "%s not looped: its loop axis is not made by placements",
		            op_info[m->op.at[op].kind].hir);
	if (!loops || !op_layout_read(m, op, &s->l))
		return false;
	if (!depth && takes_block(m, cx, op, ok))
		return false;
	s->extent = d->axis[d->loop[depth]].extent;
	s->place = (enum axis_place)d->axis[d->loop[depth]].place;
	if (s->reduces && place_loop_count(d) > 1) {
		diag_error(cx->d, E_LOOP_SLICES, m->op.at[op].at,
		           "a reduction that ends step by step stands in nested loops");
		diag_note(cx->d, m->op.at[op].at, "keep one @stream or @serial in the operand's type");
		return *ok = false;
	}
	if (s->reduces)
		return s->l.o_known[0] && place_find_loop(d, &s->l.o[0], 0, &s->axis, &s->level);
	if (!s->l.r_known || !place_find_loop(d, &s->l.r, depth, &s->axis, &s->level)) {
		pass_remark(cx, m, m->op.at[op].at, "%s not looped: its loop axis is not made by placements",
		            op_info[m->op.at[op].kind].hir);
		return false;
	}
	uint8_t dim = s->l.x.result[s->axis];
	if (dim == INFER_NONE || s->l.x.kind[dim] != DIM_PARALLEL) {
		pass_remark(cx, m, m->op.at[op].at, "%s not looped: it needs the axis whole",
		            op_info[m->op.at[op].kind].hir);
		for (unsigned k = 0; k < m->op.at[op].def_n && !depth;
		     k++) { /* made at once, so it must be in one piece */
			type_id t = order_streamed(m, m->value.at[op_def(m, op, k)].type, false);
			m->value.at[op_def(m, op, k)].type = t;
		}
		return false;
	}
	return true;
}

/* ---- slices of operands */

enum slice_kind {
	SLICE_WHOLE, /* the operand does not have the axis, or is needed whole */
	SLICE_HAS,   /* it has the loop's placement at the level of the result's */
	SLICE_BLOCK, /* it has blocks there */
	SLICE_CUT,   /* the placement is added */
	SLICE_IMPOSSIBLE
};

/* Finds the part of operand k that one iteration reads; *axis: the axis that is cut. */
static enum slice_kind slice_of(struct module *m, const struct sliced *s, unsigned k, int *axis)
{
	const struct op_layout *l = &s->l;
	const struct sugar_axis *r = &l->r.axis[s->axis];
	bool transfers = op_traits(m, l->op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE);
	mesh_id mesh = value_type(m, l->operand[k])->mesh;
	*axis = s->reduces ? (int)s->axis : op_layout_axis(l, k, l->x.result[s->axis]);
	if (s->reduces)
		return SLICE_HAS;
	if (*axis < 0)
		return SLICE_WHOLE;
	if (!l->o_known[k])
		return SLICE_IMPOSSIBLE;
	switch (place_slice(m, mesh, &l->o[k].axis[*axis], r, s->level, transfers)) {
	case PLACE_SLICE_HAS:
		return SLICE_HAS;
	case PLACE_SLICE_BLOCK:
		return SLICE_BLOCK;
	case PLACE_SLICE_CUT:
		return SLICE_CUT;
	case PLACE_SLICE_NOT:
		break;
	}
	if (!transfers)
		return SLICE_IMPOSSIBLE;
	return reshard_in_slices(m, m->value.at[l->operand[k]].type, m->value.at[l->result].type)
	           ? SLICE_WHOLE
	           : SLICE_IMPOSSIBLE;
}

/* Counts the placements of an axis of operand k that belong to, or are above, loops around it. */
static unsigned cut_by_loops(struct module *m, const struct sliced *s, unsigned k, unsigned axis)
{
	value_id v = s->l.operand[k];
	op_id def = m->value.at[v].def, loops[IR_MAX_NESTING];
	unsigned bound = def ? ir_enclosing_loops(m, def, loops, IR_MAX_NESTING) : 0, at, level, cut = 0;
	for (unsigned n = 0; n < bound; n++)
		if (place_find_loop(value_domain(m, v), &s->l.o[k], n, &at, &level) && at == axis)
			cut = level + 1;
	return cut;
}

/* Turns loops into blocks among the placements of an axis from number `from` on. */
static void unloop_below(struct module *m, mesh_id mesh, struct sugar_axis *a, unsigned from)
{
	struct sugar_axis tail = *a;
	if (from >= a->place_n)
		return;
	tail.place_n = (uint8_t)(a->place_n - from);
	memmove(tail.place, a->place + from, sizeof *a->place * tail.place_n);
	place_unloop(m, mesh, &tail);
	memcpy(a->place + from, tail.place, sizeof *a->place * tail.place_n);
	a->place_n = (uint8_t)(from + tail.place_n);
}

/* Returns the type of operand k's view in one iteration; 0: not possible. */
static type_id slice_type(struct module *m, const struct sliced *s, unsigned k, enum slice_kind kind,
                          unsigned axis)
{
	const struct sugar_axis *r = &s->l.r.axis[s->axis];
	type_id t = m->value.at[s->l.operand[k]].type;
	const char *reason;
	struct sugar o = s->l.o[k];
	bool others = false;
	sugar_drop(&o, AXIS_REDUCE);
	for (unsigned a = 0; a < o.rank; a++) {
		unsigned from = a == axis ? s->level + 1 : cut_by_loops(m, s, k, a),
		         before = o.axis[a].place_n;
		while (a == axis && from < before && from < r->place_n &&
		       place_equal(&o.axis[a].place[from], &r->place[from]))
			from++; /* the next loop cuts it */
		unloop_below(m, m->type.at[t].mesh, &o.axis[a], from);
		others |= o.axis[a].place_n != before;
		for (unsigned i = 0; i < before && !others; i++)
			others |= !place_equal(&o.axis[a].place[i], &s->l.o[k].axis[a].place[i]);
	}
	for (unsigned i = 0; i < s->level; i++) {
		struct sugar_place *p = &o.axis[axis].place[i];
		if (i < o.axis[axis].place_n && (!place_is_loop(p) || place_equal(p, &r->place[i])))
			continue;
		*p = r->place[i]; /* a placement of another loop */
		others = true;
	}
	if (kind == SLICE_HAS && !others)
		return infer_shard(m, t);
	if (kind == SLICE_BLOCK)
		o.axis[axis].place[s->level] = r->place[s->level];
	if (kind == SLICE_CUT) {
		o.axis[axis].place_n = (uint8_t)s->level;
		o.axis[axis].place[o.axis[axis].place_n++] = r->place[s->level];
	}
	t = place_type(m, t, m->type.at[t].mesh, &o, false, &reason);
	return t ? infer_shard(m, t) : 0;
}

/* ---- the loop under construction */

static struct made *find_made(struct loop *loop, value_id v)
{
	uint32_t at = v < loop->value_n ? loop->made_at[v] : 0;
	return at ? &loop->made.at[at - 1] : NULL;
}

static void add_made(struct loop *loop, value_id v, value_id slice, bool written)
{
	vec_push(&loop->made, (struct made){v, slice, written});
	loop->made_at[v] = loop->made.n;
	loop->written_n += written;
}

static void clear_made(struct loop *loop)
{
	for (uint32_t i = 0; i < loop->made.n; i++)
		loop->made_at[loop->made.at[i].value] = 0;
	loop->made.n = 0;
	loop->written_n = 0;
}

static bool loop_reads(struct module *m, const struct loop *loop, value_id root)
{
	for (uint32_t i = 0; i < loop->body.n; i++)
		for (unsigned k = 0; k < op_role_count(m, loop->body.at[i], ROLE_READ); k++)
			if (ir_root(m, op_read(m, loop->body.at[i], k)) == root)
				return true;
	return false;
}

/* Returns true if loop number `depth` of a value is a certain placement. */
static bool is_cut_by(struct module *m, value_id v, const struct sugar *sugar, unsigned depth, unsigned axis,
                      unsigned level)
{
	unsigned at, which;
	return place_find_loop(value_domain(m, v), sugar, depth, &at, &which) && at == axis && which == level;
}

/* Returns true if the statement can run slice by slice after the others: of the loop's results it needs
 * only its own slice. */
static bool joins(struct module *m, struct loop *loop, const struct sliced *s)
{
	if (loop->extent != s->extent || loop->place != s->place)
		return false;
	for (unsigned k = 0; k < s->l.x.operand_n; k++) {
		int axis;
		value_id v = s->l.operand[k];
		if (find_made(loop, v) &&
		    (slice_of(m, s, k, &axis) != SLICE_HAS ||
		     !is_cut_by(m, v, &s->l.o[k], loop->depth, (unsigned)axis, s->level)))
			return false;
		for (uint32_t i = 0; i < loop->made.n && loop->written_n;
		     i++) /* another view of a buffer that the loop writes */
			if (loop->made.at[i].written && loop->made.at[i].value != v &&
			    ir_root(m, v) == ir_root(m, loop->made.at[i].value))
				return false;
	}
	for (unsigned k = 0; k < op_result_count(m, s->l.op) && !m->op.at[s->l.op].def_n; k++) {
		value_id w = op_write(m, s->l.op, k);
		for (uint32_t i = 0; i < loop->made.n; i++)
			if (ir_root(m, loop->made.at[i].value) == ir_root(m, w))
				return false;
		if (loop_reads(m, loop, ir_root(m, w)))
			return false;
	}
	return true;
}

static bool is_sliceable(struct module *m, struct pass_context *cx, const struct sliced *s)
{
	for (unsigned k = 0; k < s->l.x.operand_n; k++) {
		int axis;
		enum slice_kind kind = slice_of(m, s, k, &axis);
		if (kind != SLICE_IMPOSSIBLE &&
		    (kind == SLICE_WHOLE || slice_type(m, s, k, kind, (unsigned)axis)))
			continue;
		type_id from = m->value.at[s->l.operand[k]].type, to = m->value.at[s->l.result].type;
		struct reshard r;
		reshard_classify(m, from, to, &r);
		if (r.kind == RESHARD_NONE && op_traits(m, s->l.op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE))
			reshard_report(m, cx->d, s->l.op, "lower", from, to, r.reason);
		else
			reshard_report(m, cx->d, s->l.op, "slice", from, to,
			               "the slices of the result are not made from slices of the operand");
		return false;
	}
	return true;
}

/* ---- emission */

/* Returns the view of a tensor in this iteration. All statements of the loop share it. */
static value_id shard(struct module *m, struct loop *loop, op_id where, value_id v, type_id type)
{
	region_id body = m->op.at[loop->op].region;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		op_id op = m->operand.at[u].op;
		if (m->op.at[op].kind == OP_SHARD_BY_STREAM && m->op.at[op].parent == body &&
		    m->value.at[op_def(m, op, 0)].type == type)
			return op_def(m, op, 0);
	}
	value_id n = ir_value_new(m, type, 0, m->op.at[where].at);
	struct ir_use use[] = {
	    {ROLE_DEF, n}, {ROLE_READ, v}, {ROLE_SCALAR, ir_scalar_expr(m, expr_index(m, loop->index))}};
	op_id op = ir_op_new(m, OP_SHARD_BY_STREAM, m->op.at[where].at, use, 3);
	ir_insert_before(m, where, op);
	return n;
}

static bool used_outside(const struct module *m, const struct loop *loop, value_id v)
{
	region_id body = m->op.at[loop->op].region;
	if (m->value.at[v].flags & (VALUE_OUTPUT | VALUE_INOUT))
		return true;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (m->op.at[m->operand.at[u].op].parent != body)
			return true;
	return false;
}

static void slice_operands(struct module *m, struct loop *loop, const struct sliced *s)
{
	op_id op = s->l.op;
	for (unsigned k = 0; k < s->l.x.operand_n; k++) {
		value_id v = s->l.operand[k], slice = 0;
		struct made *made = find_made(loop, v);
		int axis;
		enum slice_kind kind = slice_of(m, s, k, &axis);
		if (made)
			slice = made->slice;
		else if (kind != SLICE_WHOLE)
			slice = shard(m, loop, op, v, slice_type(m, s, k, kind, (unsigned)axis));
		for (unsigned i = 0, reads = 0; slice && i < m->op.at[op].operand_n; i++)
			if (ir_operand(m, op, i)->role == ROLE_READ && reads++ == k)
				ir_operand_set(m, m->op.at[op].operand + i, slice);
	}
}

/* Moves a result into the loop. outside: some result is used outside; then all results are treated so. */
static void slice_result(struct module *m, struct pass_context *cx, struct loop *loop, const struct sliced *s,
                         value_id v, bool fresh, bool outside)
{
	op_id op = s->l.op;
	if (!outside) {
		type_id t = order_streamed(m, m->value.at[v].type, true);
		m->value.at[v].type = t;
		add_made(loop, v, v, false);
		return;
	}
	if (fresh) {
		type_id t = order_streamed(m, m->value.at[v].type, loop->depth > 0);
		m->value.at[v].type = t;
		rewrite_allocate(m, loop->op, v);
		vec_push(&cx->allocated, v);
	}
	if (s->reduces) { /* each rank's part is written in its step */
		rewrite_write(m, op, v, v);
		add_made(loop, v, v, true);
		return;
	}
	value_id slice = shard(m, loop, op, v, infer_shard(m, m->value.at[v].type));
	rewrite_write(m, op, v, slice);
	add_made(loop, v, slice, !fresh);
}

static void slice_results(struct module *m, struct pass_context *cx, struct loop *loop,
                          const struct sliced *s)
{
	if (s->reduces && s->move.kind == RESHARD_STEP_RING_REDUCE &&
	    ring_reduce(m, cx, loop->op, s->l.op, &s->move))
		return;
	unsigned n = op_result_count(m, s->l.op);
	value_id *result = mem_alloc(sizeof *result * n);
	bool fresh = m->op.at[s->l.op].def_n, outside = !fresh || s->reduces;
	for (unsigned k = 0; k < n; k++) {
		result[k] = op_result(m, s->l.op, k);
		outside |= used_outside(m, loop, result[k]);
	}
	for (unsigned k = 0; k < n; k++)
		slice_result(m, cx, loop, s, result[k], fresh, outside);
	free(result);
}

static void close_loop(struct module *m, struct pass_context *cx, struct loop *loop)
{
	if (!loop->body.n)
		return;
	op_id first = loop->body.at[0];
	struct ir_use use[] = {{ROLE_SCALAR, ir_scalar_expr(m, expr_const(m, 0))},
	                       {ROLE_SCALAR, ir_scalar_expr(m, loop->extent)}};
	loop->op = ir_op_new(m, OP_FOR, m->op.at[first].at, use, 2);
	m->op.at[loop->op].flags |= loop->place == PLACE_STREAM ? OP_STREAM_LOOP : 0;
	region_id body = ir_region_new(m, loop->op);
	loop->index = ir_index_add(m, 0);
	m->region.at[body].index = loop->index;
	ir_insert_before(m, first, loop->op);
	clear_made(loop);
	for (uint32_t i = 0; i < loop->views.n; i++)
		ir_move_before(m, loop->op, loop->views.at[i]);
	for (uint32_t i = 0; i < loop->body.n; i++)
		ir_move_to_end(m, body, loop->body.at[i]);
	for (uint32_t i = 0; i < loop->body.n; i++) {
		struct sliced s;
		bool ok = true;
		if (!read_sliced(m, cx, loop->body.at[i], loop->depth, &s, &ok))
			continue; /* impossible, since it was read before */
		slice_operands(m, loop, &s);
		slice_results(m, cx, loop, &s);
	}
	clear_made(loop);
	vec_push(&loop->done, loop->op);
	loop->body.n = loop->views.n = 0;
}

/* Returns true for a view of an outside value, which may go before the loop. */
static bool is_view_apart(struct module *m, struct loop *loop, op_id op)
{
	return m->op.at[op].kind == OP_SHARD_BY_STREAM && !find_made(loop, op_read(m, op, 0));
}

/* Makes room for the values added since. */
static void grow_value_map(struct module *m, struct loop *loop)
{
	loop->made_at = mem_realloc(loop->made_at, sizeof *loop->made_at * m->value.n);
	memset(loop->made_at + loop->value_n, 0, sizeof *loop->made_at * (m->value.n - loop->value_n));
	loop->value_n = m->value.n;
}

/* Makes the loops of one block. Returns false after reporting. */
static bool make_loops(struct module *m, struct pass_context *cx, struct loop *loop, region_id block)
{
	struct sliced s;
	bool ok = true;
	op_id next;
	grow_value_map(m, loop);
	for (op_id op = m->region.at[block].first; op; op = next) {
		next = m->op.at[op].next;
		if (loop->body.n && is_view_apart(m, loop, op)) {
			vec_push(&loop->views, op);
			continue;
		}
		bool sliced = read_sliced(m, cx, op, loop->depth, &s, &ok);
		if (!ok || (sliced && !is_sliceable(m, cx, &s)))
			return false;
		if (!sliced || !loop->body.n || !joins(m, loop, &s))
			close_loop(m, cx, loop);
		if (!sliced)
			continue;
		loop->extent = s.extent;
		loop->place = s.place;
		vec_push(&loop->body, op);
		for (unsigned k = 0; k < op_result_count(m, op); k++)
			add_made(loop, op_result(m, op, k), op_result(m, op, k), !m->op.at[op].def_n);
	}
	close_loop(m, cx, loop);
	return true;
}

bool pass_stream_loops(struct module *m, struct pass_context *cx)
{
	loop_axes_place(m, cx);
	if (!steps_retarget(m, cx, (enum step_kind)cx->option[PASS_STREAM_LOOPS_PIPELINE],
	                    cx->option[PASS_STREAM_LOOPS_OFFSET]))
		return false;
	struct loop loop = {0};
	bool ok = make_loops(m, cx, &loop, m->body);
	for (uint32_t from = 0, to; ok && from < loop.done.n; from = to) { /* inner loops, depth by depth */
		to = loop.done.n;
		loop.depth++;
		for (uint32_t i = from; i < to && ok; i++)
			ok = make_loops(m, cx, &loop, m->op.at[loop.done.at[i]].region);
	}
	vec_free(&loop.body);
	vec_free(&loop.views);
	vec_free(&loop.made);
	vec_free(&loop.done);
	free(loop.made_at);
	return ok;
}
