/* edit: keeps use chains and statement lists correct while a program changes. */
#include "ir/edit.h"

static bool is_value_role(unsigned role)
{
	return role <= ROLE_FREE;
}

static void unlink_use(struct module *m, uint32_t index)
{
	struct operand *o = &m->operand.at[index];
	if (!is_value_role(o->role))
		return;
	uint32_t *at = &m->value.at[o->id].first_use;
	while (*at && *at != index)
		at = &m->operand.at[*at].next_use;
	if (*at)
		*at = o->next_use;
	o->next_use = 0;
}

static void link_use(struct module *m, uint32_t index)
{
	struct operand *o = &m->operand.at[index];
	if (!is_value_role(o->role))
		return;
	o->next_use = m->value.at[o->id].first_use;
	m->value.at[o->id].first_use = index;
	if (o->role == ROLE_DEF)
		m->value.at[o->id].def = o->op;
}

static void unlink_op(struct module *m, op_id op)
{
	struct op *o = &m->op.at[op];
	struct region *g = &m->region.at[o->parent];
	if (o->prev)
		m->op.at[o->prev].next = o->next;
	else
		g->first = o->next;
	if (o->next)
		m->op.at[o->next].prev = o->prev;
	else
		g->last = o->prev;
	o->prev = o->next = 0;
	o->parent = 0;
}

void ir_remove(struct module *m, op_id op)
{
	struct op *o = &m->op.at[op];
	for (unsigned i = 0; i < o->operand_n; i++)
		unlink_use(m, o->operand + i);
	for (region_id r = o->region; r; r = m->region.at[r].sibling)
		while (m->region.at[r].first)
			ir_remove(m, m->region.at[r].first);
	o = &m->op.at[op];
	if (o->parent)
		unlink_op(m, op);
	o->flags |= OP_DEAD;
}

void ir_move_before(struct module *m, op_id where, op_id op)
{
	unlink_op(m, op);
	ir_insert_before(m, where, op);
}

void ir_move_to_end(struct module *m, region_id r, op_id op)
{
	unlink_op(m, op);
	ir_append(m, r, op);
}

void ir_operand_set(struct module *m, uint32_t index, value_id v)
{
	unlink_use(m, index);
	m->operand.at[index].id = v;
	link_use(m, index);
}

void ir_op_set_operands(struct module *m, op_id op, const struct ir_use *use, unsigned n)
{
	struct op *o = &m->op.at[op];
	for (unsigned i = 0; i < o->operand_n; i++)
		unlink_use(m, o->operand + i);
	o->operand = m->operand.n;
	o->operand_n = n;
	o->def_n = 0;
	for (unsigned i = 0; i < n; i++) {
		vec_push(&m->operand, (struct operand){.id = use[i].id, .op = op, .role = use[i].role});
		m->op.at[op].def_n += use[i].role == ROLE_DEF;
		link_use(m, m->operand.n - 1);
	}
}

value_id ir_view_of(const struct module *m, op_id op, unsigned k)
{
	if (op_traits(m, op) & TRAIT_VIEW)
		return op_read(m, op, 0);
	const struct attr *a = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "view") : NULL;
	int64_t of = -1;
	if (a && a->kind == ATTR_INT && k == 0)
		of = a->u.i;
	else if (a && a->kind == ATTR_INTS && k < a->n)
		of = a->u.ints[k];
	return of >= 0 && (uint64_t)of < op_role_count(m, op, ROLE_READ) ? op_read(m, op, (unsigned)of) : 0;
}

value_id ir_root(const struct module *m, value_id v)
{
	for (;;) {
		op_id def = m->value.at[v].def;
		if (!def || !(op_traits(m, def) & TRAIT_VIEW))
			return v;
		v = op_read(m, def, 0);
	}
}

bool ir_is_bound(const struct module *m, value_id v)
{
	const struct value *x = &m->value.at[v];
	if (!x->def)
		return true;
	return m->op.at[x->def].kind == OP_ALLOCATE || op_traits(m, x->def) & TRAIT_VIEW;
}

static bool is_read_by_extern(const struct module *m, value_id v)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role == ROLE_READ && m->op.at[m->operand.at[u].op].kind == OP_EXTERN)
			return true;
	return false;
}

bool ir_is_opaque(const struct module *m, op_id op)
{
	value_id v;
	switch (m->op.at[op].kind) {
	case OP_EXTERN:
		return true;
	case OP_PACK:
		v = op_result(m, op, 0);
		return v && is_read_by_extern(m, v);
	case OP_UNPACK:
		v = op_read(m, op, 0);
		return v && m->value.at[v].def && m->op.at[m->value.at[v].def].kind == OP_EXTERN;
	default:
		return false;
	}
}

bool ir_is_part(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && (m->op.at[def].kind == OP_SELECT || m->op.at[def].kind == OP_SHARD_BY_STREAM);
}

value_id ir_unsharded(const struct module *m, value_id v)
{
	op_id def;
	while (v && (def = m->value.at[v].def) && m->op.at[def].kind == OP_SHARD_BY_STREAM)
		v = op_read(m, def, 0);
	return v;
}

unsigned ir_enclosing_loops(const struct module *m, op_id op, op_id *out, unsigned max)
{
	op_id found[IR_MAX_NESTING];
	unsigned n = 0;
	for (op_id o = m->region.at[m->op.at[op].parent].owner; o; o = m->region.at[m->op.at[o].parent].owner)
		if (m->op.at[o].kind == OP_FOR && n < IR_MAX_NESTING)
			found[n++] = o;
	for (unsigned i = 0; out && i < n && i < max; i++)
		out[i] = found[n - 1 - i];
	return n;
}

/* Lists the ancestors of a statement from the program's body inwards, ending with the statement. */
static unsigned path(const struct module *m, op_id op, op_id *out)
{
	op_id up[IR_MAX_NESTING + 1];
	unsigned n = 0;
	for (op_id o = op; o && n <= IR_MAX_NESTING; o = m->region.at[m->op.at[o].parent].owner)
		up[n++] = o;
	for (unsigned i = 0; i < n; i++)
		out[i] = up[n - 1 - i];
	return n;
}

bool ir_before(const struct module *m, op_id a, op_id b)
{
	op_id pa[IR_MAX_NESTING + 1], pb[IR_MAX_NESTING + 1];
	unsigned na = path(m, a, pa), nb = path(m, b, pb), i = 0;
	while (i < na && i < nb && pa[i] == pb[i])
		i++;
	if (i == na || i == nb)
		return na < nb; /* one encloses the other, or they are the same */
	const struct op *x = &m->op.at[pa[i]], *y = &m->op.at[pb[i]];
	if (x->parent != y->parent) /* the then block is before the else block */
		return m->region.at[x->parent].sibling == y->parent;
	for (op_id o = pa[i]; o; o = m->op.at[o].next)
		if (o == pb[i])
			return true;
	return false;
}

op_id ir_walk_first(const struct module *m)
{
	return m->region.at[m->body].first;
}

op_id ir_walk(const struct module *m, op_id op)
{
	for (region_id r = m->op.at[op].region; r; r = m->region.at[r].sibling)
		if (m->region.at[r].first)
			return m->region.at[r].first;
	while (op) {
		const struct op *o = &m->op.at[op];
		if (o->next)
			return o->next;
		for (region_id r = m->region.at[o->parent].sibling; r; r = m->region.at[r].sibling)
			if (m->region.at[r].first)
				return m->region.at[r].first;
		op = m->region.at[o->parent].owner;
	}
	return 0;
}

bool ir_sets_streams(const struct module *m, region_id r)
{
	for (; r; r = m->region.at[r].sibling)
		for (op_id op = m->region.at[r].first; op; op = m->op.at[op].next)
			if (m->op.at[op].kind == OP_SET_CURRENT_STREAM ||
			    (m->op.at[op].region && ir_sets_streams(m, m->op.at[op].region)))
				return true;
	return false;
}
