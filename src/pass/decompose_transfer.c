/* decompose_transfer: splits every `set` into steps that a single collective does.
 *
 *     Y: f32[8@y, 4] = set(P)         P: f32[8, 4] partial(x): rows are cut, then the sum ends
 *     Y: f32[8, 4@y] = set(X)         X: f32[8@x, 4]: columns are cut, then rows are gathered
 *     G: f32[8@x] on b = set(P)       P: f32[8] partial(x) on a: the sum ends, scattered, then it moves
 *     Y: f32[8@stream(4), 4] = set(X) X: f32[8@x, 4] of two ranks: gathered before the loop
 *
 * First come cuts without communication, if they make the collective narrower or the reduction smaller.
 * Then reductions end. What remains and no narrower collective does is left to all_to_allv. If a
 * collective needs another order in memory than its operand or result has (order.h), values without a
 * stated allocation take that order, and others go through copies. A `set` that has no such steps is
 * left alone; lower-collectives reports it. */
#include "ir/expr.h"
#include "ir/layout.h"
#include "pass/decompose.h"
#include "pass/order.h"
#include "pass/pass.h"
#include "pass/reshard.h"
#include "pass/reshard_meshes.h"
#include "pass/rewrite.h"
#include <string.h>

/* Makes a set read v in another type, which a new set before it makes. */
static void go_through(struct module *m, op_id op, value_id v, type_id type)
{
	value_id made = rewrite_find_set(m, op, v, type);
	rewrite_reads(m, op, v, made ? made : rewrite_set_before(m, op, v, type));
}

/* ---- meshes */

/* Returns a layout on a mesh of the same shape, with the loops of another type if the footprints agree. */
static type_id on_mesh(struct module *m, type_id layout, mesh_id mesh, type_id loops)
{
	struct sugar s, other;
	const char *reason;
	struct type t = m->type.at[layout], o = m->type.at[loops];
	if (!sugar_from_domain(m, t.domain, t.mesh, &s) || !sugar_from_domain(m, o.domain, o.mesh, &other) ||
	    s.rank != other.rank)
		return 0;
	sugar_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		if (place_same_footprint(&s.axis[a], &other.axis[a]))
			place_copy(&s.axis[a], &other.axis[a]);
		else
			s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	return place_type(m, layout, mesh, &s, false, &reason);
}

/* ---- several changes at once */

/* Counts the placements of q's axis after those of an axis, if they are mesh axes in `allowed`; 0: none,
 * or the placements differ. *more: these mesh axes. */
static unsigned extends(const struct sugar_axis *a, const struct sugar_axis *q, unsigned allowed,
                        unsigned *more)
{
	unsigned n = place_footprint(a), k = n, end = place_footprint(q);
	*more = 0;
	for (unsigned i = 0; i < n; i++)
		if (i >= end || !place_equal(&a->place[i], &q->place[i]))
			return 0;
	for (; k < end && q->place[k].kind == SUGAR_MESH && allowed >> q->place[k].mesh_axis & 1; k++)
		*more |= 1u << q->place[k].mesh_axis;
	return k - n;
}

/* Gives an axis the next n placements of q's axis. */
static void extend_placements(struct sugar_axis *a, const struct sugar_axis *q, unsigned n)
{
	a->place_n = (uint8_t)place_footprint(a);
	for (; n; n--, a->place_n++)
		a->place[a->place_n] = q->place[a->place_n];
}

static void drop_partial(struct sugar *s, unsigned axes)
{
	unsigned n = s->rank;
	for (unsigned a = s->rank; a < s->axis_n; a++)
		if (!(s->axis[a].kind == AXIS_PARTIAL && place_mesh_axes(&s->axis[a]) & axes))
			s->axis[n++] = s->axis[a];
	s->axis_n = n;
}

/* Cuts the axes of s that q cuts, if no mesh axis used in s is needed. Returns true if it cut any. */
static bool cut_towards(struct sugar *s, const struct sugar *q)
{
	unsigned free = ~(place_used(s) | place_partial(s)), more, n;
	bool cut = false;
	for (unsigned a = 0; a < s->rank; a++)
		if ((n = extends(&s->axis[a], &q->axis[a], free, &more))) {
			extend_placements(&s->axis[a], &q->axis[a], n);
			free &= ~more;
			cut = true;
		}
	return cut;
}

/* Ends pending reductions by a scatter to the placements of q. */
static bool scatter_towards(struct sugar *s, const struct sugar *q, unsigned pending)
{
	unsigned more, n;
	for (unsigned a = 0; a < s->rank; a++)
		if (!place_has_block(&s->axis[a]) &&
		    (n = extends(&s->axis[a], &q->axis[a], pending, &more))) {
			extend_placements(&s->axis[a], &q->axis[a], n);
			drop_partial(s, more);
			return true;
		}
	return false;
}

/* Estimates the elements of an axis on a rank; INT64_MAX if it is symbolic. */
static int64_t local_extent(const struct module *m, mesh_id mesh, const struct sugar_axis *a)
{
	int64_t k;
	if (!expr_is_const(m, a->extent, &k))
		return INT64_MAX;
	for (unsigned i = 0; i < a->place_n; i++)
		if (a->place[i].kind == SUGAR_MESH)
			k = (k + m->mesh.at[mesh].size[a->place[i].mesh_axis] - 1) /
			    m->mesh.at[mesh].size[a->place[i].mesh_axis];
	return k;
}

/* Ends pending reductions by a scatter over the axis that is longest on a rank. The axis is then spread
 * in another way, but this moves less data. */
static bool scatter_anywhere(struct module *m, mesh_id mesh, struct sugar *s, unsigned pending)
{
	int64_t longest = 1, k;
	int at = -1;
	for (unsigned a = 0; a < s->rank; a++)
		if (!place_has_block(&s->axis[a]) && (k = local_extent(m, mesh, &s->axis[a])) > longest)
			longest = k, at = (int)a;
	if (at < 0)
		return false;
	struct sugar_axis *a = &s->axis[at];
	a->place_n = (uint8_t)place_footprint(a);
	for (unsigned x = 0; x < IR_MAX_MESH_AXES; x++) {
		if (!(pending >> x & 1))
			continue;
		if (a->place_n == SUGAR_MAX_PLACES)
			return false;
		a->place[a->place_n++] = (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = (uint8_t)x};
	}
	drop_partial(s, pending);
	return true;
}

/* Changes s, on its mesh, so that it ends a reduction on the way to q. `moves`: q is on another mesh,
 * whose shape may differ. */
static void end_reduction(struct module *m, mesh_id mesh, struct sugar *s, const struct sugar *q,
                          unsigned pending, bool moves, bool alike)
{
	if ((!moves || alike) && scatter_towards(s, q, pending))
		return;
	if ((moves || place_used(q) & pending) && scatter_anywhere(m, mesh, s, pending))
		return;
	drop_partial(s, pending);
}

enum { MAX_STEPS = 2 * IR_MAX_LOGICAL };

/* Ends a pending reduction before its result takes a layout that is no placements. */
static void end_before(struct module *m, struct pass_context *cx, op_id op, struct sugar *s)
{
	value_id v = op_read(m, op, 0), result = op_result(m, op, 0);
	const struct domain *d = value_domain(m, result);
	unsigned pending = place_partial(s);
	mesh_id mesh = value_type(m, v)->mesh;
	const char *reason;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL)
			return;
	if (!pending)
		return;
	sugar_drop(s, AXIS_REDUCE);
	for (unsigned a = 0; a < s->rank; a++)
		s->axis[a].place_n = (uint8_t)place_footprint(&s->axis[a]);
	if (!scatter_anywhere(m, mesh, s, pending))
		drop_partial(s, pending);
	type_id t = place_type(m, m->value.at[v].type, mesh, s, false, &reason);
	if (!t)
		return;
	go_through(m, op, v, t);
	pass_remark(cx, m, m->op.at[op].at, "one set made 2: a reduction ends before its result is moved");
}

/* Splits a set that no single collective does, if there are suitable steps. */
static void split_changes(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0);
	type_id from = m->value.at[v].type, to = m->value.at[op_result(m, op, 0)].type, path[MAX_STEPS];
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar s, q;
	struct reshard r, next;
	const char *reason, *why = NULL;
	unsigned n = 0;
	if (!sugar_from_domain(m, tf.domain, tf.mesh, &s))
		return;
	if (!sugar_from_domain(m, tt.domain, tt.mesh, &q)) {
		end_before(m, cx, op, &s);
		return;
	}
	if (s.rank != q.rank)
		return;
	sugar_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	for (type_id at = from; n < MAX_STEPS;) {
		reshard_classify(m, at, to, &r);
		if (r.kind != RESHARD_NONE && r.kind != RESHARD_ALL_TO_ALLV)
			break;
		bool moves = r.mesh != r.to, alike = mesh_same_shape(&m->mesh.at[r.mesh], &m->mesh.at[r.to]),
		     disjoint = mesh_disjoint(&m->mesh.at[r.mesh], &m->mesh.at[r.to]);
		unsigned pending = place_partial(&s) & ~place_partial(&q);
		struct sugar cut = s;
		if ((!moves || alike) && cut_towards(&cut, &q)) {
			type_id t = place_type(m, from, tf.mesh, &cut, false, &reason);
			reshard_classify(m, t ? t : at, to, &next);
			if (!t || (!pending && (next.kind == RESHARD_ALL_TO_ALLV || (moves && !disjoint))))
				cut = s; /* each rank takes its cut from a rank that has it */
		}
		if (!memcmp(&cut, &s, sizeof s)) {
			if (!pending)
				break;
			end_reduction(m, tf.mesh, &cut, &q, pending, moves, alike);
		}
		type_id t = place_type(m, from, tf.mesh, &cut, false, &reason);
		if (!t || t == at)
			return;
		reshard_classify(m, at, t, &next);
		if (next.kind == RESHARD_NONE)
			return;
		why = why ? why : r.reason;
		s = cut;
		path[n++] = at = t;
	}
	for (unsigned i = 0; i < n; i++)
		go_through(m, op, op_read(m, op, 0), path[i]);
	if (n)
		pass_remark(cx, m, m->op.at[op].at, "one set made %u: %s", n + 1, why);
}

/* ---- loops */

/* A sum that ends step by step does so in one loop; the results of nested loops are put together before.
 * Returns true if the set reads another value now. */
static bool leave_loops(struct module *m, op_id op, type_id from)
{
	if (place_loop_count(&m->domain.at[m->type.at[from].domain]) < 2)
		return false;
	type_id whole = place_unlooped(m, from);
	if (whole)
		go_through(m, op, op_read(m, op, 0), whole);
	return whole != 0;
}

/* If the slices of the result are not made from slices of the operand, the set communicates the whole
 * value before the loop that copies slices. A reduction that cannot end in the loop ends before it. */
static void split_loop(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id from = m->value.at[v].type;
	struct type tf = m->type.at[from];
	struct reshard r;
	struct sugar s;
	reshard_classify(m, from, m->value.at[to].type, &r);
	if ((r.kind == RESHARD_STEP_REDUCE || r.kind == RESHARD_STEP_RING_REDUCE) &&
	    leave_loops(m, op, from)) {
		split_loop(m, cx, op);
		return;
	}
	if (reshard_in_slices(m, from, m->value.at[to].type))
		return;
	type_id whole = place_unlooped(m, m->value.at[to].type);
	if (whole)
		reshard_classify(m, from, whole, &r);
	if (whole && r.kind != RESHARD_NONE && reshard_in_slices(m, from, whole)) {
		go_through(m, op, v, whole);
	} else if (sugar_from_domain(m, tf.domain, tf.mesh, &s) && place_partial(&s)) {
		end_before(m, cx, op, &s);
		if (op_read(m, op, 0) != v)
			split_loop(m, cx, op);
	}
}

/* ---- order in memory */

/* Returns true if a statement moves a value, or a view of it, by places in memory. */
static bool is_moved_by_place(struct module *m, value_id v)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		op_id op = m->operand.at[u].op;
		if (m->operand.at[u].role == ROLE_DEF)
			continue;
		if (op_traits(m, op) & TRAIT_VIEW && is_moved_by_place(m, op_def(m, op, 0)))
			return true;
		if (reshard_is_by_place(m, op))
			return true;
	}
	return false;
}

/* Returns true if a value has the default allocation and may get another: a statement makes it, the
 * program does not return it, and if the transfer `reader` reads it, nothing else does. */
static bool may_reorder(struct module *m, value_id v, op_id reader)
{
	bool unstreamed;
	uint8_t perm[IR_MAX_AXES];
	const struct domain d = *value_domain(m, v);
	if (m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT) || ir_is_bound(m, v) ||
	    is_moved_by_place(m, v))
		return false;
	for (uint32_t u = m->value.at[v].first_use; u && reader; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role != ROLE_DEF && m->operand.at[u].op != reader)
			return false;
	if (!domain_allocation_order(&d, &unstreamed, perm))
		return false;
	for (unsigned i = 0; i < d.alloc_n; i++)
		if (perm[i] != i || !d.contiguous[i])
			return false;
	return true;
}

/* Gives both sides the order in memory that the transfer needs: values without a stated allocation take
 * it, others go through copies. Returns the last statement. */
static op_id fix_order(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id before, after;
	struct reshard r;
	reshard_classify(m, m->value.at[v].type, m->value.at[to].type, &r);
	bool step = r.kind == RESHARD_STEP_REDUCE || r.kind == RESHARD_STEP_RING_REDUCE;
	type_id tf = m->value.at[v].type, tt = m->value.at[to].type;
	bound_set all = bound_all(m, tf), bound = step ? all : bound_shared(m, tf, tt);
	order_needs(m, (struct order_side){tf, bound}, (struct order_side){tt, bound_all(m, tt)}, &r, &before,
	            &after);
	if (before && bound == all && may_reorder(m, v, op)) {
		m->value.at[v].type = before;
	} else if (before) {
		/* in the loop of the result, if it has one */
		type_id looped = on_mesh(m, before, m->type.at[before].mesh, m->value.at[to].type);
		before = looped ? order_like(m, looped, before) : before;
		go_through(m, op, v, before);
		pass_remark(cx, m, m->op.at[op].at,
		            "copied before: a gathered or cut axis must be outermost in memory");
	}
	if (after && may_reorder(m, to, 0)) {
		m->value.at[to].type = after;
	} else if (after) {
		op = rewrite_set_after(m, op, after);
		pass_remark(cx, m, m->op.at[op].at,
		            "copied after: a gathered or cut axis is outermost in memory");
	}
	return op;
}

/* ---- one statement */

static bool is_pure_transfer(const struct module *m, op_id op)
{
	unsigned kind = m->op.at[op].kind;
	return (kind == OP_SET || op_info[kind].traits & TRAIT_COLLECTIVE) &&
	       !(m->op.at[op].flags & OP_ASYNC) && op_role_count(m, op, ROLE_READ) == 1 &&
	       op_result(m, op, 0);
}

/* Returns the set right before a set that makes its operand; 0: none. */
static op_id made_by(const struct module *m, op_id op)
{
	op_id prev = m->op.at[op].prev;
	return prev && m->op.at[prev].kind == OP_SET && op_def(m, prev, 0) &&
	               op_def(m, prev, 0) == op_read(m, op, 0)
	           ? prev
	           : 0;
}

op_id decompose_transfer(struct module *m, struct pass_context *cx, op_id op)
{
	if (!is_pure_transfer(m, op))
		return op;
	op_id before = m->op.at[op].prev, first = op;
	if (m->op.at[op].kind == OP_SET) {
		split_changes(m, cx, op);
		split_loop(m, cx, op);
	}
	while (m->op.at[first].prev != before && made_by(m, first))
		first = made_by(m, first);
	for (op_id o = first, next;; o = next) {
		next = m->op.at[o].next;
		op_id last = fix_order(m, cx, o);
		if (o == op)
			return last;
	}
}
