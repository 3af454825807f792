/* shards: see shards.h. */
#include "pass/shards.h"
#include "ir/domain.h"
#include "pass/moves.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include <string.h>

struct cut { /* a value that has a shard */
	value_id whole, shard;
	unsigned axis;
};

struct maker {
	struct module *m;
	const struct shards *s;
	const struct reshard *move; /* the allreduce's change of layout, with its mesh axes */
	VEC(struct cut) cut;
};

/* Returns a layout with an axis cut along the mesh axes; 0: it uses one of them already, or it is not
 * made of placements, or it has loops. */
static type_id cut_type(struct maker *k, value_id v, unsigned axis)
{
	struct sugar s;
	const char *reason;
	const struct reshard *r = k->move;
	if (!move_sugar(k->m, v, &s) || axis >= s.rank ||
	    s.axis[axis].place_n + r->axis_n > SUGAR_MAX_PLACES || value_type(k->m, v)->mesh != r->mesh)
		return 0;
	for (unsigned i = 0; i < r->axis_n; i++) {
		if ((place_used(&s) | place_partial(&s)) >> r->axis[i] & 1)
			return 0;
		s.axis[axis].place[s.axis[axis].place_n++] =
		    (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = r->axis[i]};
	}
	sugar_drop(&s, AXIS_REDUCE);
	return place_type(k->m, k->m->value.at[v].type, r->mesh, &s, false, &reason);
}

static const struct cut *find_cut(const struct maker *k, value_id v)
{
	for (uint32_t i = 0; i < k->cut.n; i++)
		if (k->cut.at[i].whole == v)
			return &k->cut.at[i];
	return NULL;
}

/* Makes the statement compute the shard of its result, and an allgather after it the result. */
static void cut_result(struct maker *k, op_id op, unsigned axis, type_id type)
{
	value_id whole = op_def(k->m, op, 0);
	rewrite_set_after(k->m, op, type);
	vec_push(&k->cut, ((struct cut){whole, op_def(k->m, op, 0), axis}));
}

static void replace_reads(struct module *m, value_id from, value_id to)
{
	for (uint32_t u = m->value.at[from].first_use, next; u; u = next) {
		next = m->operand.at[u].next_use;
		if (m->operand.at[u].role == ROLE_READ)
			ir_operand_set(m, u, to);
	}
}

/* Replaces a statement that cuts a whole value by the shard that exists already. Returns false if it is
 * no such cut. */
static bool is_cut_again(struct maker *k, op_id op)
{
	struct module *m = k->m;
	const struct cut *c = m->op.at[op].kind == OP_SET ? find_cut(k, op_read(m, op, 0)) : NULL;
	value_id result = op_def(m, op, 0);
	if (!c || !result || move_reads(m, result) == 0 ||
	    m->value.at[result].flags & (VALUE_OUTPUT | VALUE_INOUT) ||
	    infer_without_reduce(m, m->value.at[result].type) !=
	        infer_without_reduce(m, m->value.at[c->shard].type))
		return false;
	replace_reads(m, result, c->shard);
	ir_remove(m, op);
	return true;
}

/* Returns the dimension of the operation along which its operands are cut; -1: none, or several. */
static int cut_dim(struct maker *k, const struct op_layout *l)
{
	int dim = -1;
	for (unsigned i = 0; i < l->x.operand_n; i++) {
		const struct cut *c = find_cut(k, l->operand[i]);
		if (!c)
			continue;
		uint8_t at = l->x.operand[i][c->axis];
		if (at == INFER_NONE || (dim >= 0 && dim != at))
			return -1;
		dim = at;
	}
	return dim >= 0 && l->x.kind[dim] == DIM_PARALLEL ? dim : -1;
}

static bool is_chain(struct maker *k, const struct op_layout *l)
{
	for (unsigned i = 0; i < l->x.operand_n; i++)
		if (find_cut(k, l->operand[i]) && move_reads(k->m, l->operand[i]) != 1)
			return false;
	return true;
}

/* Cuts the operands that the operation needs and that have no shard yet. types: by operand; 0:
 * unchanged. Returns false if it is not possible. */
static bool find_types(struct maker *k, const struct op_layout *l, unsigned dim, type_id *types)
{
	for (unsigned i = 0; i < l->x.operand_n; i++) {
		int axis = op_layout_axis(l, i, dim);
		types[i] = 0;
		if (axis < 0 || find_cut(k, l->operand[i]))
			continue;
		types[i] = l->o_known[i] ? cut_type(k, l->operand[i], (unsigned)axis) : 0;
		if (!types[i])
			return false;
	}
	return true;
}

/* Extends the cut to a statement. Returns false if the change is not possible. */
static bool extend_cut(struct maker *k, op_id op)
{
	struct module *m = k->m;
	struct op_layout l;
	type_id types[PLACE_MAX_OPERANDS];
	if (is_cut_again(k, op) || !move_is_work(m, op) || !op_layout_read(m, op, &l) || !l.r_known)
		return true;
	int dim = cut_dim(k, &l), axis = dim < 0 ? -1 : op_layout_result_axis(&l, (unsigned)dim);
	if (axis < 0 || (k->s->reach == SHARDS_CHAIN && !is_chain(k, &l)))
		return true;
	type_id made = cut_type(k, l.result, (unsigned)axis);
	if (!made || !find_types(k, &l, (unsigned)dim, types))
		return true;
	for (unsigned i = 0; i < l.x.operand_n; i++) {
		const struct cut *c = find_cut(k, l.operand[i]);
		value_id v = c ? c->shard : 0;
		if (!v && types[i])
			v = rewrite_find_set(m, op, l.operand[i], types[i]);
		if (!v && types[i])
			v = rewrite_set_before(m, op, l.operand[i], types[i]);
		if (v)
			rewrite_read(m, op, i, v);
	}
	cut_result(k, op, (unsigned)axis, made);
	return op_layout_read(m, op, &l) && !op_layout_not_local(m, &l);
}

/* Removes gathers whose results nothing reads. */
static void drop_gathers(struct maker *k)
{
	for (uint32_t i = k->cut.n; i-- > 0;) {
		value_id whole = k->cut.at[i].whole;
		if (!move_reads(k->m, whole))
			ir_remove(k->m, k->m->value.at[whole].def);
	}
}

bool shards_make(struct module *m, const struct shards *s)
{
	struct reshard move, scatter, gather;
	struct maker k = {.m = m, .s = s, .move = &move};
	struct rewrite_reduce reduce;
	value_id from = op_read(m, s->op, 0), whole = op_def(m, s->op, 0);
	if (move_kind(m, s->op, &move) != RESHARD_ALLREDUCE)
		return false;
	type_id type = cut_type(&k, whole, s->axis);
	if (!type)
		return false;
	reshard_classify(m, m->value.at[from].type, type, &scatter);
	reshard_classify(m, type, m->value.at[whole].type, &gather);
	if (scatter.kind != RESHARD_REDUCE_SCATTER || gather.kind != RESHARD_ALLGATHER)
		return false;
	rewrite_reduce_begin(m, &reduce);
	move_set(m, s->op, whole, from);
	cut_result(&k, s->op, s->axis, type);
	bool ok = true;
	op_id next = m->op.at[m->op.at[s->op].next].next;
	for (op_id op = next; op && ok && s->reach != SHARDS_NONE; op = next) {
		next = m->op.at[op].next;
		ok = extend_cut(&k, op);
	}
	if (ok)
		drop_gathers(&k);
	rewrite_reduce_end(m, &reduce);
	vec_free(&k.cut);
	return ok;
}
