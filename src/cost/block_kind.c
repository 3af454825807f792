/* block_kind: finds the kind of a statement; in imported graphs the attributes say it. */
#include "cost/block_maker.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include <string.h>

const struct attr *maker_attr(const struct maker *k, op_id op, name_id key)
{
	const struct attrs *l = &k->m->attrs.at[k->m->op.at[op].attrs];
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].key == key)
			return &l->at[i];
	return NULL;
}

int64_t maker_int(const struct maker *k, op_id op, name_id key, int64_t otherwise)
{
	const struct attr *a = maker_attr(k, op, key);
	return a && a->kind == ATTR_INT ? a->u.i : otherwise;
}

bool maker_name_is(const struct maker *k, op_id op, name_id key, const char *text)
{
	const struct attr *a = maker_attr(k, op, key);
	return a && a->kind == ATTR_NAME && !strcmp(names_text(k->m->names, a->u.name), text);
}

/* Returns the first of the Communications that start together. Its properties hold for all. */
static op_id first_of(struct module *m, op_id op)
{
	op_id first = m->op.at[op].kind == OP_END_COALESCING ? ir_coalesce_first(m, op) : 0;
	return first ? first : op;
}

/* Returns the operation that a recorded statement names as its kind; OP_NONE: it names none. */
static enum op_kind recorded_kind(const struct module *m, op_id op)
{
	const struct attr *kind = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "kind") : NULL;
	return kind && kind->kind == ATTR_NAME ? op_by_hir(names_text(m->names, kind->u.name)) : OP_NONE;
}

enum op_kind block_collective(struct module *m, op_id op)
{
	if (m->op.at[op].flags & OP_GROUPED)
		return OP_NONE;
	op = first_of(m, op);
	enum op_kind found = recorded_kind(m, op);
	if (!found && m->op.at[op].flags & OP_ASYNC)
		found = (enum op_kind)m->op.at[op].kind;
	return op_info[found].traits & TRAIT_COLLECTIVE ? found : OP_NONE;
}

static bool is_message_in_flight(const struct module *m, op_id op, enum op_kind recorded)
{
	return op_info[recorded].traits & TRAIT_P2P && op_attr(m, op, "group");
}

bool block_is_message_in_flight(const struct module *m, op_id op)
{
	return is_message_in_flight(m, op, recorded_kind(m, op));
}

bool block_is_communication(struct module *m, op_id op)
{
	if (m->op.at[op].kind != OP_EXTERN)
		return block_collective(m, op) != OP_NONE;
	enum op_kind recorded = recorded_kind(m, op);
	return op_info[recorded].traits & TRAIT_COLLECTIVE || is_message_in_flight(m, op, recorded);
}

bool block_is_wait(struct module *m, op_id op)
{
	const struct attr *kind = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "kind") : NULL;
	return m->op.at[op].kind == OP_WAIT ||
	       (kind && kind->kind == ATTR_NAME && !strcmp(names_text(m->names, kind->u.name), "wait"));
}

op_id block_waits_for(struct module *m, op_id op)
{
	if (!block_is_wait(m, op))
		return 0;
	if (m->op.at[op].kind == OP_WAIT)
		return op_operand_id(m, op, ROLE_STATEMENT, 0);
	while (op && (block_is_wait(m, op) || m->op.at[op].kind == OP_UNPACK)) {
		value_id v = op_read(m, op, 0);
		op = v ? m->value.at[v].def : 0;
	}
	return op && block_is_communication(m, op) ? op : 0;
}

const char *block_name(struct module *m, op_id op)
{
	op = first_of(m, op);
	const struct attr *a = op_attr(m, op, "name");
	value_id v = op_result(m, op, 0);
	if (a && a->kind == ATTR_STRING)
		return names_text(m->names, a->u.name);
	return v && m->value.at[v].name ? names_text(m->names, m->value.at[v].name) : NULL;
}
