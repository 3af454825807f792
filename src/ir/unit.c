/* unit: checks the rules of a block of operations that runs as one kernel.
 *
 *     unit {
 *       A = X + B          A has no storage: it is computed and used block by block
 *       G = gelu(A)
 *       Y <- G * M         Y is used outside, so it is bound before the unit
 *       s <- sum(G)        a reduction: nothing in the unit reads it
 *     }
 *
 * All statements iterate over the same elements: their results, and the operands of reductions, have one
 * shape. */
#include "ir/unit.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/infer_rule.h"

op_id ir_unit_of(const struct module *m, op_id op)
{
	op_id owner = m->region.at[m->op.at[op].parent].owner;
	return owner && op_is_unit(m, owner) ? owner : 0;
}

bool ir_is_unit_local(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && m->op.at[def].parent && ir_unit_of(m, def);
}

bool ir_unit_takes(const struct module *m, op_id op)
{
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	bool known =
	    op_traits(m, op) & (TRAIT_POINTWISE | TRAIT_REDUCTION) || kind == OP_SET || kind == OP_BROADCAST;
	return known && op_result_count(m, op) == 1;
}

value_id ir_unit_space(const struct module *m, op_id op)
{
	return op_traits(m, op) & TRAIT_REDUCTION ? op_read(m, op, 0) : op_result(m, op, 0);
}

static bool has_list_value(const value_id *list, uint32_t n, value_id v)
{
	while (n)
		if (list[--n] == v)
			return true;
	return false;
}

void ir_unit_operands_find(const struct module *m, op_id unit, struct ir_unit_operands *out)
{
	*out = (struct ir_unit_operands){0};
	region_each (m, op, m->op.at[unit].region) {
		for (unsigned k = 0; k < m->op.at[op].operand_n; k++) {
			const struct operand *o = &m->operand.at[m->op.at[op].operand + k];
			if (o->role == ROLE_READ && !ir_is_unit_local(m, o->id) &&
			    !has_list_value(out->in.at, out->in.n, o->id))
				vec_push(&out->in, o->id);
			if (o->role == ROLE_WRITE && !has_list_value(out->out.at, out->out.n, o->id))
				vec_push(&out->out, o->id);
		}
	}
}

bool ir_unit_same_shape(const struct module *m, value_id a, value_id b)
{
	const struct domain *x = value_domain(m, a), *y = value_domain(m, b);
	for (unsigned i = 0; i < x->rank && i < y->rank; i++)
		if (!rule_extents_agree(m, x->axis[i].extent, y->axis[i].extent))
			return false;
	return x->rank == y->rank;
}

/* Returns the first value of a list that has the shape of v and no hidden axes. */
static value_id find_like(const struct module *m, const value_id *list, uint32_t n, value_id v)
{
	for (uint32_t i = 0; i < n; i++)
		if (ir_unit_same_shape(m, list[i], v) &&
		    value_domain(m, list[i])->logical_n == value_domain(m, list[i])->rank)
			return list[i];
	return 0;
}

/* Gives a value the layout of a value of the same shape. */
static void settle_value(struct module *m, const struct ir_unit_operands *x, value_id v)
{
	value_id like = find_like(m, x->out.at, x->out.n, v);
	like = like ? like : find_like(m, x->in.at, x->in.n, v);
	if (!like)
		return;
	const struct type t = *value_type(m, v), of = *value_type(m, like);
	m->value.at[v].type = type_make(m, t.dtype, MEMORY_GLOBAL, of.mesh, of.domain);
	m->value.at[v].flags &= ~(uint32_t)VALUE_OPEN;
}

void ir_unit_settle(struct module *m, op_id unit)
{
	struct ir_unit_operands x;
	ir_unit_operands_find(m, unit, &x);
	region_each (m, op, m->op.at[unit].region) {
		value_id v = op_def(m, op, 0);
		if (v && m->value.at[v].flags & VALUE_OPEN)
			settle_value(m, &x, v);
		/* The reduced axes of a result follow from the operand, whose layout may be new. */
		if (v && m->value.at[v].flags & VALUE_OPEN)
			m->value.at[v].type =
			    infer_reduce_axes(m, op, infer_without_reduce(m, m->value.at[v].type));
	}
	vec_free(&x.in);
	vec_free(&x.out);
}

/* Returns true if a statement of the block reads the storage that an earlier reduction writes. */
static bool reads_reduction(const struct module *m, op_id op)
{
	for (op_id before = m->op.at[op].prev; before; before = m->op.at[before].prev) {
		if (!(op_traits(m, before) & TRAIT_REDUCTION))
			continue;
		for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
			if (ir_root(m, op_read(m, op, k)) == ir_root(m, op_result(m, before, 0)))
				return true;
	}
	return false;
}

bool ir_unit_is_unknown(const struct module *m, op_id unit)
{
	op_id first = unit && op_is_unit(m, unit) ? m->region.at[m->op.at[unit].region].first : 0;
	return first && m->op.at[first].kind == OP_EXTERN && !m->op.at[first].next;
}

op_id ir_unit_fault(const struct module *m, op_id unit, const char **rule)
{
	op_id first = m->region.at[m->op.at[unit].region].first;
	if (!first) {
		*rule = "a unit holds at least one operation";
		return unit;
	}
	bool alone = !m->op.at[first].next && op_info[m->op.at[first].kind].form == FORM_CALL &&
	             op_result_count(m, first) == 1;
	if (ir_unit_is_unknown(m, unit) || (alone && op_traits(m, first) & TRAIT_AXES))
		return 0;
	for (op_id op = first; op; op = m->op.at[op].next) {
		*rule = NULL;
		if (!ir_unit_takes(m, op))
			*rule = "a unit holds pointwise operations, sets and reductions only";
		else if (!ir_unit_same_shape(m, ir_unit_space(m, first), ir_unit_space(m, op)))
			*rule = "the operations of a unit go over one shape";
		else if (reads_reduction(m, op))
			*rule = "an operation of a unit reads the result of a reduction in it";
		if (*rule)
			return op;
	}
	return 0;
}
