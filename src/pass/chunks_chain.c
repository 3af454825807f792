/* chunks_chain: see chunks_chain.h. */
#include "pass/chunks_chain.h"
#include "ir/edit.h"
#include "pass/moves.h"
#include "pass/place.h"

op_id chunks_reader(const struct module *m, value_id v, unsigned k)
{
	op_id last = 0;
	for (;;) {
		op_id next = 0;
		for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
			op_id op = m->operand.at[u].op;
			if (m->operand.at[u].role != ROLE_DEF && op != last &&
			    (!last || ir_before(m, last, op)) && (!next || ir_before(m, op, next)))
				next = op;
		}
		if (!next || !k--)
			return next;
		last = next;
	}
}

bool chunks_may_move(struct module *m, op_id op, op_id after)
{
	for (unsigned i = 0; i < op_role_count(m, op, ROLE_READ); i++) {
		value_id v = op_read(m, op, i);
		op_id def = m->value.at[v].def;
		if (def && def != after && !ir_before(m, def, after))
			return false;
		if (ir_is_bound(m, ir_root(m, v)) && move_is_written_between(m, v, after, op))
			return false;
	}
	return true;
}

bool chunks_cut(struct module *m, value_id v, unsigned axis, const struct sugar_place *place, unsigned n)
{
	struct sugar s;
	const char *reason;
	if (!move_sugar(m, v, &s) || axis >= s.rank || s.axis[axis].place_n + n > SUGAR_MAX_PLACES)
		return false;
	for (unsigned i = 0; i < n; i++)
		s.axis[axis].place[s.axis[axis].place_n++] = place[i];
	bool output = m->value.at[v].flags & VALUE_OUTPUT;
	type_id t = place_type(m, m->value.at[v].type, value_type(m, v)->mesh, &s, output, &reason);
	if (t)
		m->value.at[v].type = t;
	return t != 0;
}

/* Returns the axis of a layout that ends with the placements; -1: none. *rest: the axis without them. */
static int cut_axis(const struct sugar *s, const struct sugar_place *place, unsigned n,
                    struct sugar_axis *rest)
{
	for (unsigned a = 0; a < s->rank; a++) {
		const struct sugar_axis *x = &s->axis[a];
		unsigned k = 0;
		while (k < n && x->place_n >= n && place_equal(&x->place[x->place_n - n + k], &place[k]))
			k++;
		if (k == n) {
			*rest = *x;
			rest->place_n = (uint8_t)(x->place_n - n);
			return (int)a;
		}
	}
	return -1;
}

static bool layout_of(struct module *m, value_id v, struct sugar *out)
{
	const struct type *t = value_type(m, v);
	return t->mesh && sugar_from_domain(m, t->domain, t->mesh, out);
}

/* Returns true if a statement can be cut: it is work, or communication along other axes. */
static bool can_be_cut(struct module *m, op_id op)
{
	enum reshard_kind kind = move_kind(m, op, NULL);
	return move_is_work(m, op) || kind == RESHARD_LOCAL || kind == RESHARD_ALLGATHER ||
	       kind == RESHARD_ALLREDUCE || kind == RESHARD_REDUCE_SCATTER;
}

/* Returns the axis of the result that corresponds to the operand's axis and has the same placements,
 * apart from the new ones; -1: none. */
static int result_axis(struct module *m, op_id op, value_id operand, unsigned axis,
                       const struct sugar_axis *rest)
{
	struct op_layout l;
	int dim = -1;
	if (!op_layout_read(m, op, &l) || !l.r_known)
		return -1;
	for (unsigned i = 0; i < l.x.operand_n; i++)
		if (l.operand[i] == operand && (dim >= 0 || l.x.operand[i][axis] == INFER_NONE))
			return -1;
		else if (l.operand[i] == operand)
			dim = l.x.operand[i][axis];
	int at = dim < 0 ? -1 : op_layout_result_axis(&l, (unsigned)dim);
	return at >= 0 && l.x.kind[dim] == DIM_PARALLEL && place_same_footprint(&l.r.axis[at], rest) ? at
	                                                                                             : -1;
}

unsigned chunks_follow(struct module *m, op_id op, const struct sugar_place *place, unsigned n)
{
	struct sugar s;
	struct sugar_axis rest;
	for (unsigned count = 0;; count++) {
		value_id v = op_def(m, op, 0);
		op_id next = chunks_reader(m, v, 0);
		int axis = layout_of(m, v, &s) ? cut_axis(&s, place, n, &rest) : -1;
		if (axis < 0 || move_reads(m, v) != 1 || !next ||
		    m->op.at[next].parent != m->op.at[op].parent || !can_be_cut(m, next) ||
		    !chunks_may_move(m, next, op))
			return count;
		axis = result_axis(m, next, v, (unsigned)axis, &rest);
		if (axis < 0 || !chunks_cut(m, op_def(m, next, 0), (unsigned)axis, place, n))
			return count;
		if (m->op.at[op].next != next)
			ir_move_before(m, m->op.at[op].next, next);
		op = next;
	}
}

/* Returns true if the statement that makes an operand can be moved right before the first one of the
 * chain. */
static bool may_precede(struct module *m, value_id v, op_id op, op_id first)
{
	op_id def = m->value.at[v].def;
	if (!def || m->op.at[def].parent != m->op.at[op].parent || move_reads(m, v) != 1 ||
	    !move_is_work(m, def))
		return false;
	for (unsigned i = 0; i < op_role_count(m, def, ROLE_READ); i++) {
		value_id u = op_read(m, def, i);
		if (ir_is_bound(m, ir_root(m, u)) && move_is_written_between(m, u, def, first))
			return false;
	}
	return true;
}

/* Cuts the makers of a statement's operands. first: first statement of the chain; the cut statements go
 * before it. */
static unsigned precede(struct module *m, op_id op, op_id *first, const struct sugar_place *place, unsigned n)
{
	struct op_layout l;
	struct sugar_axis rest;
	unsigned count = 0;
	int axis = op_layout_read(m, op, &l) && l.r_known ? cut_axis(&l.r, place, n, &rest) : -1;
	for (unsigned i = 0; axis >= 0 && i < l.x.operand_n; i++) {
		value_id v = l.operand[i];
		int at = op_layout_axis(&l, i, l.x.result[axis]);
		if (at < 0 || !l.o_known[i] || !place_same_footprint(&l.o[i].axis[at], &rest) ||
		    !may_precede(m, v, op, *first) || !chunks_cut(m, v, (unsigned)at, place, n))
			continue;
		op_id def = m->value.at[v].def;
		if (m->op.at[def].next != *first)
			ir_move_before(m, *first, def);
		*first = def;
		count += 1 + precede(m, def, first, place, n);
	}
	return count;
}

unsigned chunks_precede(struct module *m, op_id op, const struct sugar_place *place, unsigned n)
{
	op_id first = op;
	return precede(m, op, &first, place, n);
}
