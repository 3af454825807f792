/* live_ranges: finds the uses of buffers, also through views, and the waits that end them.
 *
 *     A: f32[8] = allocate()
 *     a = select(A, axis=0, index=1)
 *     if i < 2 {
 *       send(a, peer=1) as s          a use of A
 *     }
 *     B <- neg(X)
 *     if i < 2 {
 *       wait(s)                       the end of that use
 *     }                               A's last use: this statement of A's block */
#include "pass/live_ranges.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include <stdlib.h>

void live_ranges_find(struct module *m, struct live_ranges *out)
{
	uint32_t n = 0, members = 0;
	op_id *member = mem_alloc(sizeof *member * m->op.n);
	*out = (struct live_ranges){.m = m, .n = m->op.n};
	out->wait = mem_zalloc(sizeof *out->wait * m->op.n);
	out->next_wait = mem_zalloc(sizeof *out->next_wait * m->op.n);
	out->group = mem_zalloc(sizeof *out->group * m->op.n);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		m->op.at[op].order = ++n;
		if (m->op.at[op].kind == OP_WAIT) {
			op_id of = op_operand_id(m, op, ROLE_STATEMENT, 0);
			out->next_wait[op] = out->wait[of];
			out->wait[of] = op;
		} else if (m->op.at[op].kind == OP_START_COALESCING) {
			members = 0;
		} else if (m->op.at[op].kind == OP_END_COALESCING) {
			while (members)
				out->group[member[--members]] = op;
		} else if (m->op.at[op].flags & OP_ASYNC) {
			member[members++] = op;
		}
	}
	free(member);
	stream_order_find(m, &out->streams);
}

void live_ranges_free(struct live_ranges *l)
{
	stream_order_free(&l->streams);
	free(l->wait);
	free(l->next_wait);
	free(l->group);
}

/* Returns the statement of block r that is op or contains it; 0: none. */
static op_id in_block(const struct module *m, region_id r, op_id op)
{
	while (op && m->op.at[op].parent != r)
		op = m->region.at[m->op.at[op].parent].owner;
	return op;
}

/* The condition of a branch: a comparison that is true, or one that is false. */
struct guard {
	struct expr is;
	bool not ;
};

static struct guard guard_of(const struct module *m, region_id branch)
{
	op_id condition = m->region.at[branch].owner;
	struct guard g = {.is = m->expr.at[op_scalar_expr(m, condition, 0)],
	                  .not = m->op.at[condition].region != branch};
	enum expr_kind opposite = g.is.kind == EXPR_NE   ? EXPR_EQ
	                          : g.is.kind == EXPR_GE ? EXPR_LT
	                          : g.is.kind == EXPR_GT ? EXPR_LE
	                                                 : EXPR_KIND_COUNT;
	if (opposite == EXPR_KIND_COUNT)
		return g;
	g.is.kind = (uint8_t)opposite;
	g.not = !g.not ;
	return g;
}

/* Returns true if op is in a branch with the same condition. */
static bool in_such_branch(const struct module *m, op_id op, region_id branch)
{
	struct guard wanted = guard_of(m, branch);
	for (region_id r = m->op.at[op].parent; r; r = m->op.at[m->region.at[r].owner].parent) {
		op_id owner = m->region.at[r].owner;
		if (!owner)
			return false;
		if (m->op.at[owner].kind != OP_IF)
			continue;
		struct guard g = guard_of(m, r);
		if (g.not == wanted.not &&g.is.kind == wanted.is.kind && g.is.a == wanted.is.a &&
		    g.is.b == wanted.is.b && g.is.k == wanted.is.k && g.is.mesh_axis == wanted.is.mesh_axis)
			return true;
	}
	return false;
}

/* Returns true if on each path through the Communication a wait in the block follows it. */
static bool is_waited(const struct module *m, region_id block, op_id op, op_id wait)
{
	if (!in_block(m, block, wait) || m->op.at[op].order > m->op.at[wait].order)
		return false;
	for (region_id r = m->op.at[wait].parent; r != block; r = m->op.at[m->region.at[r].owner].parent)
		if (m->op.at[m->region.at[r].owner].kind == OP_IF && !in_such_branch(m, op, r))
			return false;
	return true;
}

static void extend_range(const struct module *m, struct live_range *life, op_id use, bool ends)
{
	op_id here = in_block(m, life->block, use);
	if (here && ends)
		vec_push(&life->use, use);
	if (here && (!life->last || m->op.at[life->last].order < m->op.at[here].order))
		life->last = here;
}

static void extend_to_waits(const struct live_ranges *l, op_id op, struct live_range *life)
{
	op_id starts[] = {op, l->group[op]};
	bool waited = false;
	for (unsigned k = 0; k < 2 && starts[k]; k++) {
		extend_range(l->m, life, starts[k], false);
		for (op_id wait = l->wait[starts[k]]; wait; wait = l->next_wait[wait]) {
			extend_range(l->m, life, wait, true);
			waited |= is_waited(l->m, life->block, starts[k], wait);
		}
	}
	life->open |= !waited;
}

static void live(const struct live_ranges *l, value_id v, struct live_range *life)
{
	const struct module *m = l->m;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		op_id op = m->operand.at[u].op;
		bool view = m->operand.at[u].role == ROLE_READ && op_traits(m, op) & TRAIT_VIEW;
		if (m->op.at[op].flags & OP_ASYNC && op < l->n) {
			extend_to_waits(l, op, life);
			continue;
		}
		extend_range(m, life, op, !view && m->operand.at[u].role != ROLE_DEF);
		for (unsigned k = 0; m->operand.at[u].role == ROLE_READ && k < m->op.at[op].def_n; k++)
			if (ir_view_of(m, op, k) == v)
				live(l, op_def(m, op, k), life);
	}
}

void live_range_find(const struct live_ranges *l, value_id v, region_id block, struct live_range *out)
{
	*out = (struct live_range){.block = block};
	live(l, v, out);
}

void live_range_free(struct live_range *life)
{
	vec_free(&life->use);
}

op_id live_range_end(struct live_ranges *l, const struct live_range *life)
{
	op_id at = life->open ? 0 : life->last;
	for (uint32_t k = 0; at && k < life->use.n;) {
		if (stream_order_follows(&l->streams, life->block, life->use.at[k], at))
			k++;
		else
			at = l->m->op.at[at].next, k = 0;
	}
	return at;
}
