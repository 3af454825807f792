/* chunks: see chunks.h. */
#include "pass/chunks.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "pass/chunks_chain.h"
#include "pass/moves.h"
#include "pass/place.h"
#include "pass/rewrite.h"

static bool is_product(const struct module *m, op_id op)
{
	return op_traits(m, op) & TRAIT_CONTRACTION && m->op.at[op].def_n == 1 &&
	       !op_role_count(m, op, ROLE_WRITE);
}

/* Returns the gathered or the reduced value, which has the whole axis of the chunks. */
static value_id whole_of(struct module *m, op_id op)
{
	return move_kind(m, op, NULL) == RESHARD_ALLGATHER ? op_def(m, op, 0) : op_read(m, op, 0);
}

bool chunks_possible(struct module *m, op_id op, unsigned *rank)
{
	struct sugar s;
	enum reshard_kind kind = move_kind(m, op, NULL);
	if ((kind != RESHARD_ALLGATHER && kind != RESHARD_ALLREDUCE && kind != RESHARD_REDUCE_SCATTER) ||
	    m->op.at[op].parent != m->body)
		return false;
	value_id whole = whole_of(m, op);
	if (!move_sugar(m, whole, &s) || !move_sugar(m, op_read(m, op, 0), &s) ||
	    !move_sugar(m, op_def(m, op, 0), &s))
		return false;
	*rank = s.rank;
	if (kind != RESHARD_ALLGATHER) {
		op_id maker = m->value.at[whole].def;
		return maker && is_product(m, maker) && move_reads(m, whole) == 1 &&
		       m->op.at[maker].parent == m->body;
	}
	if (m->value.at[whole].flags & VALUE_OUTPUT || !move_reads(m, whole))
		return false;
	for (unsigned k = 0; chunks_reader(m, whole, k); k++) {
		op_id r = chunks_reader(m, whole, k);
		if (!is_product(m, r) || m->op.at[r].parent != m->body)
			return false;
	}
	return true;
}

int64_t chunks_most(struct module *m, const struct chunks *c)
{
	const struct expr_env env = {.rank = -1};
	struct reshard r;
	struct sugar s;
	int64_t extent, ranks = 1;
	enum reshard_kind kind = move_kind(m, c->op, &r);
	value_id whole = whole_of(m, c->op);
	if (!move_sugar(m, whole, &s) || expr_eval(m, s.axis[c->axis].extent, &env, &extent, NULL) != EXPR_OK)
		return 0;
	for (unsigned k = 0; k < s.axis[c->axis].place_n; k++)
		ranks *= m->mesh.at[r.mesh].size[s.axis[c->axis].place[k].mesh_axis];
	for (unsigned k = 0; k < r.axis_n && kind == RESHARD_ALLGATHER && r.dim == (int)c->axis; k++)
		ranks *= m->mesh.at[r.mesh].size[r.axis[k]];
	return extent / ranks;
}

/* ---- layouts */

struct cutter {
	struct module *m;
	const struct chunks *c;
	struct reshard move;
	enum reshard_kind kind;
	struct sugar_place place[SUGAR_MAX_PLACES]; /* placements after those of the axis */
	unsigned n;
};

static bool is_along_axis(const struct cutter *k)
{
	return k->move.dim == (int)k->c->axis;
}

static expr_id size_of(struct cutter *k, unsigned i)
{
	return expr_const(k->m, k->m->mesh.at[k->move.mesh].size[k->move.axis[i]]);
}

/* Finds the new placements of the axis. Returns false if it cannot be cut in this way. */
static bool find_places(struct cutter *k)
{
	const struct reshard *r = &k->move;
	if (k->c->kind != CHUNKS_PARTS) {
		if (!is_along_axis(k) || r->axis_n != 1 || k->kind == RESHARD_ALLREDUCE)
			return false;
		k->place[k->n++] = k->c->kind == CHUNKS_RING
		                       ? (struct sugar_place){.kind = SUGAR_SWIZZLE, .mesh_axis = r->axis[0]}
		                       : (struct sugar_place){.kind = SUGAR_STREAM, .factor = size_of(k, 0)};
		return true;
	}
	if (is_along_axis(k) && k->kind == RESHARD_REDUCE_SCATTER)
		return false;
	for (unsigned i = 0; i < r->axis_n && is_along_axis(k); i++)
		k->place[k->n++] = (struct sugar_place){.kind = SUGAR_BLOCK, .factor = size_of(k, i)};
	k->place[k->n++] = (struct sugar_place){.kind = SUGAR_STREAM, .factor = expr_const(k->m, k->c->n)};
	return k->n < SUGAR_MAX_PLACES;
}

static bool cut_value(struct cutter *k, value_id v, unsigned axis)
{
	return chunks_cut(k->m, v, axis, k->place, k->n);
}

/* Cuts the result of a product along the dimension of an axis of operand number `operand`. */
static bool cut_product(struct cutter *k, op_id op, value_id operand)
{
	struct op_layout l;
	struct sugar whole;
	if (!op_layout_read(k->m, op, &l) || !l.r_known || !move_sugar(k->m, operand, &whole))
		return false;
	int dim = -1;
	for (unsigned i = 0; i < l.x.operand_n; i++)
		if (l.operand[i] == operand && dim >= 0)
			return false; /* the value is both operands */
		else if (l.operand[i] == operand)
			dim = l.x.operand[i][k->c->axis];
	int axis = dim < 0 || dim == INFER_NONE ? -1 : op_layout_result_axis(&l, (unsigned)dim);
	return axis >= 0 && l.x.kind[dim] == DIM_PARALLEL &&
	       place_same_footprint(&l.r.axis[axis], &whole.axis[k->c->axis]) &&
	       cut_value(k, l.result, (unsigned)axis);
}

/* ---- statements */

/* Moves the allgather before the first product that reads it, and the other products right after that
 * one. */
static bool gather_at_products(struct cutter *k, value_id whole)
{
	struct module *m = k->m;
	op_id first = chunks_reader(m, whole, 0), last = first;
	if (ir_is_bound(m, ir_root(m, op_read(m, k->c->op, 0))) &&
	    move_is_written_between(m, op_read(m, k->c->op, 0), k->c->op, first))
		return false;
	for (unsigned i = 1; chunks_reader(m, whole, i); i++) {
		op_id next = chunks_reader(m, whole, i), after = m->op.at[last].next;
		if (next != after && !chunks_may_move(m, next, last))
			return false;
		if (next != after)
			ir_move_before(m, after, next);
		last = next;
	}
	for (unsigned i = 0; chunks_reader(m, whole, i); i++)
		if (!cut_product(k, chunks_reader(m, whole, i), whole))
			return false;
	ir_move_before(m, first, k->c->op);
	if (!cut_value(k, whole, k->c->axis))
		return false;
	return !k->c->chain || (first == last && chunks_follow(m, last, k->place, k->n));
}

/* Moves the reduction right after the product. */
static bool reduce_at_product(struct cutter *k, value_id partial)
{
	struct module *m = k->m;
	op_id product = m->value.at[partial].def, after = m->op.at[product].next;
	struct op_layout l;
	if (!op_layout_read(m, product, &l) || !l.r_known)
		return false;
	uint8_t dim = l.x.result[k->c->axis];
	if (dim == INFER_NONE || l.x.kind[dim] != DIM_PARALLEL)
		return false;
	if (after != k->c->op)
		ir_move_before(m, after, k->c->op);
	bool steps = k->c->kind != CHUNKS_PARTS; /* then only the operand has them */
	if (!cut_value(k, partial, k->c->axis) ||
	    (!steps && !cut_value(k, op_def(m, k->c->op, 0), k->c->axis)))
		return false;
	if (!k->c->chain)
		return true;
	unsigned more = chunks_precede(m, product, k->place, k->n);
	return more + (steps ? 0 : chunks_follow(m, k->c->op, k->place, k->n)) > 0;
}

bool chunks_make(struct module *m, const struct chunks *c)
{
	struct cutter k = {.m = m, .c = c};
	struct rewrite_reduce reduce;
	unsigned rank;
	if (!chunks_possible(m, c->op, &rank) || c->axis >= rank)
		return false;
	k.kind = move_kind(m, c->op, &k.move);
	value_id whole = whole_of(m, c->op), from = op_read(m, c->op, 0), to = op_def(m, c->op, 0);
	if (!find_places(&k))
		return false;
	rewrite_reduce_begin(m, &reduce);
	move_set(m, c->op, to, from);
	bool ok = k.kind == RESHARD_ALLGATHER ? gather_at_products(&k, whole) : reduce_at_product(&k, whole);
	rewrite_reduce_end(m, &reduce);
	return ok;
}
