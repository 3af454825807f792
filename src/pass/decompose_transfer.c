/* decompose_transfer: every `set` becomes one that a single collective does.
 *
 *     G: f32[8, 4] on b = set(X)      X: f32[8@x, 4] on a: it moves, then it is gathered
 *     Y: f32[8, 4@y] = set(P)         P: f32[8@y, 4] partial(x): the sum ends, rows are gathered, columns cut
 *     Y: f32[8@stream(4), 4] = set(X) X: f32[8@x, 4] of two ranks: gathered before the loop
 *
 * Several steps move more than one clever one could; a remark says so. Where a collective needs
 * another order in memory than its operand or result has (order.h), values of which nothing says how they
 * are allocated take that order, and others go through copies. What has no such steps is left to
 * lower-collectives to report. */
#include "ir/layout.h"
#include "pass/decompose.h"
#include "pass/order.h"
#include "pass/pass.h"
#include "pass/reshard.h"
#include "pass/rewrite.h"
#include <string.h>

/* Makes a set read v as another type, made by a set before it. */
static void go_through(struct module *m, op_id op, value_id v, type_id type)
{
	value_id made = rewrite_find_set(m, op, v, type);
	rewrite_reads(m, op, v, made ? made : rewrite_set_before(m, op, v, type));
}

/* ---- meshes */

/* A layout on a mesh of the same shape, its loops those of another type where the footprints agree. */
static type_id on_mesh(struct module *m, type_id layout, mesh_id mesh, type_id loops)
{
	struct sugar s, other;
	const char *reason;
	struct type t = m->type.at[layout], o = m->type.at[loops];
	if (!sugar_from_domain(m, t.domain, t.mesh, &s) || !sugar_from_domain(m, o.domain, o.mesh, &other) ||
	    s.rank != other.rank)
		return 0;
	place_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		if (place_same_footprint(&s.axis[a], &other.axis[a]))
			place_copy(&s.axis[a], &other.axis[a]);
		else
			s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	return place_type(m, layout, mesh, &s, false, &reason);
}

/* A set that changes mesh and layout becomes two: sums are ended and cuts made before the move,
 * gathers made after it, so that less moves. */
static void split_mesh_change(struct module *m, op_id op)
{
	type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_result(m, op, 0)].type;
	struct reshard r;
	reshard_classify(m, from, to, &r);
	if (r.kind != RESHARD_NONE || r.mesh == r.to)
		return;
	const struct mesh *a = &m->mesh.at[r.mesh], *b = &m->mesh.at[r.to];
	if (a->rank != b->rank || memcmp(a->size, b->size, sizeof *a->size * a->rank))
		return;
	bool before = r.reduces || r.scatters;
	type_id between = before ? on_mesh(m, to, r.mesh, to) : on_mesh(m, from, r.to, to);
	if (!between || between == from || between == to)
		return;
	go_through(m, op, op_read(m, op, 0), between);
}

/* ---- several changes at once */

/* Whether the placements of an axis begin with another's; *more: the mesh axes that follow. */
static bool extends(const struct sugar_axis *a, const struct sugar_axis *longer, unsigned *more)
{
	unsigned n = place_footprint(a), k = place_footprint(longer);
	*more = 0;
	for (unsigned i = 0; i < n; i++)
		if (i >= k || !place_equal(&a->place[i], &longer->place[i]))
			return false;
	for (unsigned i = n; i < k; i++) {
		if (longer->place[i].kind != SUGAR_MESH)
			return false;
		*more |= 1u << longer->place[i].mesh_axis;
	}
	return true;
}

static void drop_partial(struct sugar *s, unsigned axes)
{
	unsigned n = s->rank;
	for (unsigned a = s->rank; a < s->axis_n; a++)
		if (!(s->axis[a].kind == AXIS_PARTIAL && place_mesh_axes(&s->axis[a]) & axes))
			s->axis[n++] = s->axis[a];
	s->axis_n = n;
}

/* Changes s a step towards q: what can be cut is cut, then sums end, then one axis is gathered. */
static bool step_towards(struct sugar *s, const struct sugar *q)
{
	unsigned pending = place_partial(s) & ~place_partial(q), free = ~(place_used(s) | place_partial(s)),
	         more;
	bool cut = false;
	for (unsigned a = 0; a < s->rank; a++)
		if (extends(&s->axis[a], &q->axis[a], &more) && more && !(more & ~free)) {
			place_copy_footprint(&s->axis[a], &q->axis[a]);
			free &= ~more;
			cut = true;
		}
	if (cut)
		return true;
	for (unsigned a = 0; a < s->rank && pending; a++)
		if (extends(&s->axis[a], &q->axis[a], &more) && more && !(more & ~pending)) {
			place_copy_footprint(&s->axis[a], &q->axis[a]);
			drop_partial(s, more);
			return true;
		}
	if (pending) {
		drop_partial(s, pending);
		return true;
	}
	for (unsigned a = 0; a < s->rank; a++) {
		unsigned n = 0;
		if (extends(&s->axis[a], &q->axis[a], &more))
			continue;
		while (n < q->axis[a].place_n && place_equal(&s->axis[a].place[n], &q->axis[a].place[n]))
			n++;
		/* the innermost mesh axes, down to what both have; below a loop or block in its iterations */
		unsigned left = place_footprint(&s->axis[a]);
		while (left > n && s->axis[a].place[left - 1].kind == SUGAR_MESH)
			left--;
		if (left == s->axis[a].place_n)
			continue;
		s->axis[a].place_n = (uint8_t)left;
		return true;
	}
	return false;
}

enum { MAX_STEPS = 2 * IR_MAX_LOGICAL };

/* A set that no single collective does becomes several, if there are such. */
static void split_changes(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0);
	type_id from = m->value.at[v].type, to = m->value.at[op_result(m, op, 0)].type, path[MAX_STEPS];
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar s, q;
	struct reshard r;
	const char *reason, *why = NULL;
	unsigned n = 0;
	if (!sugar_from_domain(m, tf.domain, tf.mesh, &s) || !sugar_from_domain(m, tt.domain, tt.mesh, &q) ||
	    s.rank != q.rank)
		return;
	place_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	for (type_id at = from;;) {
		reshard_classify(m, at, to, &r);
		if (r.kind != RESHARD_NONE)
			break;
		why = why ? why : r.reason;
		if (r.mesh != r.to || n == MAX_STEPS || !step_towards(&s, &q))
			return;
		type_id next = place_type(m, from, tf.mesh, &s, false, &reason);
		if (!next || next == at)
			return;
		reshard_classify(m, at, next, &r);
		if (r.kind == RESHARD_NONE)
			return;
		path[n++] = at = next;
	}
	for (unsigned i = 0; i < n; i++)
		go_through(m, op, op_read(m, op, 0), path[i]);
	if (n)
		pass_remark(cx, m, m->op.at[op].at, "one set made %u: %s", n + 1, why);
}

/* ---- loops */

/* A set whose slices are not made from slices of its operand communicates whole, before the loop that
 * copies the slices. */
static void split_loop(struct module *m, op_id op)
{
	value_id v = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id from = m->value.at[v].type;
	struct type t = *value_type(m, to);
	struct reshard r;
	struct sugar s;
	const char *reason;
	if (reshard_in_slices(m, from, m->value.at[to].type))
		return;
	sugar_from_domain(m, t.domain, t.mesh, &s);
	place_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	type_id whole = place_type(m, m->value.at[to].type, t.mesh, &s, false, &reason);
	if (!whole)
		return;
	reshard_classify(m, from, whole, &r);
	if (r.kind == RESHARD_NONE || !reshard_in_slices(m, from, whole))
		return;
	go_through(m, op, v, whole);
}

/* ---- order in memory */

/* Whether a value's allocation is the default one, which may become another: it is made by a statement,
 * is not returned, and, when it is read by the transfer `reader`, by nothing else. */
static bool may_reorder(struct module *m, value_id v, op_id reader)
{
	bool unstreamed;
	uint8_t perm[IR_MAX_AXES];
	const struct domain d = *value_domain(m, v);
	if (m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT) || ir_is_bound(m, v))
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

/* The order in memory that the transfer needs: values of which nothing says how they are allocated are
 * allocated so, others go through copies. Returns the last statement. */
static op_id fix_order(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id before, after;
	struct reshard r;
	reshard_classify(m, m->value.at[v].type, m->value.at[to].type, &r);
	bool sliced = reshard_shares_loop(m, m->value.at[v].type, m->value.at[to].type);
	order_needs(m, (struct order_side){m->value.at[v].type, sliced},
	            (struct order_side){m->value.at[to].type, true}, &r, &before, &after);
	if (before && (sliced || layout_loop_axis(value_domain(m, v), 0) < 0) && may_reorder(m, v, op)) {
		m->value.at[v].type = before;
	} else if (before) {
		/* in the loop of the result, if it has one */
		type_id looped = on_mesh(m, before, m->type.at[before].mesh, m->value.at[to].type);
		before = looped ? order_like(m, looped, before) : before;
		go_through(m, op, v, before);
		pass_remark(cx, m, m->op.at[op].at,
		            "copied before: what is gathered or cut must be outermost in memory");
	}
	if (after && may_reorder(m, to, 0)) {
		m->value.at[to].type = after;
	} else if (after) {
		op = rewrite_set_after(m, op, after);
		pass_remark(cx, m, m->op.at[op].at,
		            "copied after: what was gathered or cut is outermost in memory");
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

/* The set right before a set that makes what it reads; 0: there is none. */
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
		split_mesh_change(m, op);
		op_id half = made_by(m, op);
		if (half && half != before)
			split_changes(m, cx, half);
		split_changes(m, cx, op);
		split_loop(m, op);
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
