/* rewrite: edits that several passes make. */
#include "pass/rewrite.h"
#include "ir/domain.h"
#include "ir/infer.h"
#include "pass/place.h"
#include <string.h>

static op_id make_set(struct module *m, value_id from, enum role role, value_id to, uint32_t at)
{
	struct ir_use define[] = {{ROLE_DEF, to}, {ROLE_READ, from}},
	              write[] = {{ROLE_READ, from}, {ROLE_WRITE, to}};
	return ir_op_new(m, OP_SET, at, role == ROLE_DEF ? define : write, 2);
}

value_id rewrite_set_before(struct module *m, op_id where, value_id v, type_id type)
{
	uint32_t at = m->op.at[where].at;
	value_id n = ir_value_new(m, type, 0, at);
	op_id set = make_set(m, v, ROLE_DEF, n, at);
	ir_insert_before(m, where, set);
	type = infer_reduce_axes(m, set, type);
	m->value.at[n].type = type;
	return n;
}

bool rewrite_is_written(struct module *m, value_id v)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		const struct operand *o = &m->operand.at[u];
		if (o->role == ROLE_WRITE)
			return true;
		if (o->role == ROLE_READ && op_traits(m, o->op) & TRAIT_VIEW &&
		    rewrite_is_written(m, op_def(m, o->op, 0)))
			return true;
	}
	return false;
}

value_id rewrite_find_set(struct module *m, op_id where, value_id v, type_id type)
{
	if (rewrite_is_written(m, ir_root(m, v)))
		return 0;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		op_id op = m->operand.at[u].op;
		value_id result = op_def(m, op, 0);
		if (m->operand.at[u].role == ROLE_READ && m->op.at[op].kind == OP_SET && result &&
		    !m->value.at[result].name && m->op.at[op].parent == m->op.at[where].parent &&
		    infer_without_reduce(m, m->value.at[result].type) == type && ir_before(m, op, where))
			return result;
	}
	return 0;
}

op_id rewrite_set_after(struct module *m, op_id op, type_id type)
{
	return rewrite_set_after_result(m, op, 0, type);
}

op_id rewrite_set_after_result(struct module *m, op_id op, unsigned k, type_id type)
{
	const struct op old = m->op.at[op];
	value_id result = op_result(m, op, k);
	enum role role = old.def_n ? ROLE_DEF : ROLE_WRITE;
	value_id n = ir_value_new(m, type, 0, old.at);
	struct ir_use *use = mem_alloc(sizeof *use * (old.operand_n + 1u));
	unsigned count = 0;
	if (!old.def_n)
		use[count++] = (struct ir_use){ROLE_DEF, n};
	for (unsigned i = 0; i < old.operand_n; i++) {
		const struct operand *o = &m->operand.at[old.operand + i];
		if (o->role == ROLE_DEF)
			use[count++] = (struct ir_use){ROLE_DEF, i == k ? n : o->id};
		else if (o->role != ROLE_WRITE)
			use[count++] = (struct ir_use){(enum role)o->role, o->id};
	}
	ir_op_set_operands(m, op, use, count);
	free(use);
	op_id set = make_set(m, n, role, result, old.at);
	ir_insert_after(m, op, set);
	type = infer_reduce_axes(m, op, type);
	m->value.at[n].type = type;
	if (role == ROLE_DEF) {
		type = infer_reduce_axes(m, set, infer_without_reduce(m, m->value.at[result].type));
		m->value.at[result].type = type;
	}
	return set;
}

void rewrite_reads(struct module *m, op_id op, value_id from, value_id to)
{
	for (unsigned i = 0; i < m->op.at[op].operand_n; i++) {
		uint32_t index = m->op.at[op].operand + i;
		if (m->operand.at[index].role == ROLE_READ && m->operand.at[index].id == from)
			ir_operand_set(m, index, to);
	}
}

void rewrite_read(struct module *m, op_id op, unsigned k, value_id to)
{
	for (unsigned i = 0, reads = 0; i < m->op.at[op].operand_n; i++)
		if (m->operand.at[m->op.at[op].operand + i].role == ROLE_READ && reads++ == k)
			ir_operand_set(m, m->op.at[op].operand + i, to);
}

void rewrite_write(struct module *m, op_id op, value_id v, value_id instead)
{
	const struct op old = m->op.at[op];
	struct ir_use *use = mem_alloc(sizeof *use * old.operand_n);
	unsigned count = 0;
	for (unsigned i = 0; i < old.operand_n; i++) {
		const struct operand *o = &m->operand.at[old.operand + i];
		if (o->id != v || (o->role != ROLE_DEF && o->role != ROLE_WRITE))
			use[count++] = (struct ir_use){(enum role)o->role, o->id};
	}
	use[count++] = (struct ir_use){ROLE_WRITE, instead};
	ir_op_set_operands(m, op, use, count);
	free(use);
}

op_id rewrite_allocate(struct module *m, op_id where, value_id v)
{
	op_id writer = m->value.at[v].def;
	rewrite_write(m, writer, v, v);
	op_id allocate = ir_op_new(m, OP_ALLOCATE, m->op.at[writer].at, (struct ir_use[]){{ROLE_DEF, v}}, 1);
	ir_insert_before(m, where, allocate);
	return allocate;
}

/* ---- reduce axes */

/* Returns the type of a value with the default reduce axes of its statement; 0: no statement defines it. */
static type_id inferred(struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	if (!def || m->op.at[def].flags & OP_DEAD || !m->op.at[def].parent)
		return 0;
	return infer_reduce_axes(m, def, infer_without_reduce(m, m->value.at[v].type));
}

void rewrite_reduce_begin(struct module *m, struct rewrite_reduce *r)
{
	r->n = m->value.n;
	r->stated = mem_zalloc(r->n);
	for (value_id v = 1; v < r->n; v++) {
		type_id t = inferred(m, v);
		r->stated[v] = !t || t != m->value.at[v].type;
	}
}

void rewrite_reduce_end(struct module *m, struct rewrite_reduce *r)
{
	for (value_id v = 1; v < m->value.n; v++) {
		type_id t = v < r->n && r->stated[v] ? 0 : inferred(m, v);
		if (t)
			m->value.at[v].type = t;
	}
	free(r->stated);
}
