/* coalesce: see coalesce.h. */
#include "ir/coalesce.h"
#include "ir/edit.h"

struct checker {
	struct module *m;
	struct ir_coalesce_fault *out;
	bool marks;
};

op_id ir_coalesce_end(const struct module *m, op_id member)
{
	while (member && m->op.at[member].kind != OP_END_COALESCING)
		member = m->op.at[member].next;
	return member;
}

op_id ir_coalesce_start(const struct module *m, op_id end)
{
	while (end && m->op.at[end].kind != OP_START_COALESCING)
		end = m->op.at[end].prev;
	return end;
}

op_id ir_coalesce_first(const struct module *m, op_id end)
{
	coalesce_each (m, op, end)
		return op;
	return 0;
}

static bool record_fault(struct checker *c, op_id op, const char *rule, op_id other, const char *other_is)
{
	*c->out = (struct ir_coalesce_fault){op, other, rule, other_is};
	return false;
}

static bool communicates(const struct module *m, op_id op)
{
	if (op_traits(m, op) & TRAIT_COLLECTIVE)
		return true;
	for (region_id r = m->op.at[op].region; r; r = m->region.at[r].sibling)
		region_each (m, within, r)
			if (communicates(m, within))
				return true;
	return false;
}

/* Checks a statement inside a group of Communications; `first` is one of them. */
static bool check_member(struct checker *c, op_id op, op_id first)
{
	struct module *m = c->m;
	struct op *o = &m->op.at[op];
	unsigned traits = op_info[o->kind].traits;
	if (traits & TRAIT_VIEW || o->kind == OP_ALLOCATE)
		return true;
	if (o->region && communicates(m, op))
		return record_fault(c, op, "a Communication of a group stands in the group's own block", 0,
		                    NULL);
	if (o->kind == OP_WAIT)
		return record_fault(c, op, "a wait cannot stand in a group of Communications", first,
		                    "the group begins here");
	if (traits & TRAIT_P2P || o->kind == OP_POST)
		return record_fault(c, op, "sends and receives stand in groups of their own", first,
		                    "this group has a Communication");
	if (!(traits & TRAIT_COLLECTIVE))
		return record_fault(
		    c, op, "only Communications, views and buffers stand in a group of Communications", first,
		    "the group's first Communication");
	if (o->team != m->op.at[first].team)
		return record_fault(c, op, "the Communications of a group have one team", first,
		                    "another team");
	if (op_backend(m, op) != op_backend(m, first))
		return record_fault(c, op, "the Communications of a group have one backend", first,
		                    "another backend");
	if (c->marks)
		o->flags |= OP_GROUPED | OP_ASYNC;
	else if (!(o->flags & OP_GROUPED) || !(o->flags & OP_ASYNC))
		return record_fault(c, op, "a Communication of a group is not marked so", 0, NULL);
	return true;
}

static bool check_group(struct checker *c, op_id start, op_id end)
{
	struct module *m = c->m;
	op_id first = 0;
	for (op_id op = m->op.at[start].next; op != end && !first; op = m->op.at[op].next)
		if (communicates(m, op))
			first = op;
	for (op_id op = m->op.at[start].next; first && op != end; op = m->op.at[op].next)
		if (!check_member(c, op, first))
			return false;
	return true;
}

static bool check_region(struct checker *c, region_id r)
{
	struct module *m = c->m;
	op_id start = 0;
	region_each (m, op, r) {
		struct op *o = &m->op.at[op];
		if (o->kind == OP_START_COALESCING && start)
			return record_fault(c, op, "groups do not nest", start, "this one has not ended");
		if (o->kind == OP_END_COALESCING && !start)
			return record_fault(c, op, "no group began before this, in its block", 0, NULL);
		if (!c->marks && !start && o->flags & OP_GROUPED)
			return record_fault(c, op, "a Communication is marked as of a group, and in none", 0,
			                    NULL);
		if (o->kind == OP_END_COALESCING && !check_group(c, start, op))
			return false;
		if (o->kind == OP_START_COALESCING || o->kind == OP_END_COALESCING)
			start = o->kind == OP_START_COALESCING ? op : 0;
		for (region_id g = o->region; g; g = m->region.at[g].sibling)
			if (!check_region(c, g))
				return false;
	}
	return !start || record_fault(c, start, "this group has no end_coalescing, in its block", 0, NULL);
}

static bool check_waits(struct checker *c)
{
	struct module *m = c->m;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		for (unsigned k = 0; m->op.at[op].kind == OP_WAIT && k < op_role_count(m, op, ROLE_STATEMENT);
		     k++) {
			op_id of = op_operand_id(m, op, ROLE_STATEMENT, k);
			if (m->op.at[of].flags & OP_GROUPED)
				return record_fault(
				    c, op, "this Communication ends with its group: wait for the group",
				    ir_coalesce_end(m, of), "the group's end_coalescing");
		}
	return true;
}

bool ir_coalesce_mark(struct module *m, struct ir_coalesce_fault *out)
{
	struct checker c = {m, out, true};
	return check_region(&c, m->body) && check_waits(&c);
}

bool ir_coalesce_check(struct module *m, struct ir_coalesce_fault *out)
{
	struct checker c = {m, out, false};
	return check_region(&c, m->body) && check_waits(&c);
}
