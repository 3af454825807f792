/* moves: see moves.h. */
#include "pass/moves.h"
#include "ir/edit.h"
#include "pass/place.h"

const char *move_name(enum reshard_kind kind)
{
	switch (kind) {
	case RESHARD_ALLGATHER:
	case RESHARD_ALLREDUCE:
	case RESHARD_REDUCE_SCATTER:
	case RESHARD_ALL_TO_ALL:
		return op_info[reshard_operation(kind)].hir;
	default:
		return NULL;
	}
}

bool move_is_foreign(struct module *m, op_id op)
{
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n;
	team_id team = m->op.at[op].team;
	return team && !ir_team_axes(m, team, value_type(m, op_read(m, op, 0))->mesh, axes, &n);
}

enum reshard_kind move_kind(struct module *m, op_id op, struct reshard *r)
{
	struct reshard own;
	const struct op *o = &m->op.at[op];
	r = r ? r : &own;
	*r = (struct reshard){.kind = RESHARD_NONE};
	if ((o->kind != OP_SET && !(op_info[o->kind].traits & TRAIT_COLLECTIVE)) || o->flags & OP_ASYNC ||
	    o->def_n != 1 || op_role_count(m, op, ROLE_READ) != 1 || move_is_foreign(m, op))
		return RESHARD_NONE;
	reshard_classify(m, m->value.at[op_read(m, op, 0)].type, m->value.at[op_def(m, op, 0)].type, r);
	return r->kind;
}

void move_set(struct module *m, op_id op, value_id to, value_id from)
{
	ir_op_set_operands(m, op, (struct ir_use[]){{ROLE_DEF, to}, {ROLE_READ, from}}, 2);
	m->op.at[op].kind = OP_SET;
	m->op.at[op].team = 0;
	m->op.at[op].attrs = 0;
}

bool move_sugar(struct module *m, value_id v, struct sugar *out)
{
	const struct type *t = value_type(m, v);
	if (!t->mesh || !sugar_from_domain(m, t->domain, t->mesh, out))
		return false;
	for (unsigned a = 0; a < out->axis_n; a++)
		if (place_has_loop(&out->axis[a]) || place_has_block(&out->axis[a]))
			return false;
	return true;
}

bool move_is_work(const struct module *m, op_id op)
{
	const struct op *o = &m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	return o->def_n == 1 && info->form == FORM_CALL && !(o->flags & OP_ASYNC) &&
	       !op_role_count(m, op, ROLE_WRITE) &&
	       !(info->traits &
	         (TRAIT_RESHARD | TRAIT_COLLECTIVE | TRAIT_VIEW | TRAIT_OPAQUE | TRAIT_MEMORY));
}

unsigned move_reads(const struct module *m, value_id v)
{
	unsigned reads = (m->value.at[v].flags & (VALUE_OUTPUT | VALUE_INOUT)) != 0;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		reads += m->operand.at[u].role != ROLE_DEF;
	return reads;
}

static bool has_write_to(struct module *m, op_id op, value_id root)
{
	if (m->op.at[op].kind == OP_WAIT)
		op = op_operand_id(m, op, ROLE_STATEMENT, 0);
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_WRITE); k++)
		if (ir_root(m, op_write(m, op, k)) == root)
			return true;
	return false;
}

bool move_is_written_between(struct module *m, value_id v, op_id from, op_id to)
{
	value_id root = ir_root(m, v);
	for (op_id op = ir_walk(m, from); op && op != to; op = ir_walk(m, op))
		if (has_write_to(m, op, root))
			return true;
	return false;
}
