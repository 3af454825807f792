/* schedule_blocks: see schedule_blocks.h. */
#include "pass/schedule_blocks.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "sched/simulate.h"
#include <stdlib.h>

struct walk {
	struct module *m;
	struct pass_context *cx;
	const struct cost *cost;
	enum block_buckets buckets;
	bool (*schedule)(void *to, struct schedule_block *block, struct arena *a);
	void *to;
	int64_t *inside; /* by op: see struct block_frame */
};

/* ---- blocks that keep their order */

static bool depends_on_rank(struct module *m, op_id op)
{
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_SCALAR); k++) {
		expr_id e = op_scalar_expr(m, op, k);
		if (e && m->expr.at[e].flags & EXPR_HAS_RANK)
			return true;
	}
	return false;
}

static bool has_statement(const struct module *m, region_id r, bool (*is)(const struct module *, op_id))
{
	region_each (m, op, r) {
		if (is(m, op))
			return true;
		for (region_id in = m->op.at[op].region; m->op.at[op].kind == OP_IF && in;
		     in = m->region.at[in].sibling)
			if (has_statement(m, in, is))
				return true;
	}
	return false;
}

static bool is_message(const struct module *m, op_id op)
{
	return op_traits(m, op) & TRAIT_P2P;
}

static bool is_communication(const struct module *m, op_id op)
{
	return m->op.at[op].flags & OP_ASYNC && op_traits(m, op) & TRAIT_COLLECTIVE;
}

/* Returns the reason why the blocks of a loop or condition, and those inside, keep their order; NULL:
 * they may change it. */
static const char *kept_by(struct module *m, op_id op)
{
	if (m->op.at[op].flags & OP_STREAM_LOOP)
		return "its iterations run on several streams";
	if (depends_on_rank(m, op))
		return "ranks do not all come to it alike";
	for (region_id r = m->op.at[op].region; r; r = m->region.at[r].sibling)
		if (has_statement(m, r, is_message))
			return "it has sends and receives";
	return NULL;
}

region_id schedule_blocks_of(struct module *m, op_id op)
{
	return block_has_blocks(m, op) && !kept_by(m, op) ? m->op.at[op].region : 0;
}

/* ---- memory */

static int64_t peak_as_it_is(const struct sched_problem *p, struct arena *a, int64_t *live)
{
	uint32_t *order = arena_new_array(a, uint32_t, p->n);
	struct sched_moment *moment = arena_new_array(a, struct sched_moment, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	int64_t peak = sched_simulate(p, order, moment).peak;
	for (uint32_t x = 0; live && x < p->n; x++)
		live[x] = moment[x].live;
	return peak;
}

static bool build_block(const struct walk *w, region_id r, int64_t outside, struct arena *a,
                        struct block *out)
{
	const struct block_frame frame = {outside, w->inside, w->buckets};
	return block_make(w->m, r, &frame, w->cost, w->cx->d, a, out);
}

/* ---- the walk */

static bool walk_within(struct walk *w, op_id op, int64_t outside);

/* outside: bytes that are live around the block. */
static bool walk_block(struct walk *w, region_id r, op_id owner, int64_t outside)
{
	struct arena *a = arena_new();
	struct schedule_block block = {.region = r, .owner = owner};
	bool ok = build_block(w, r, outside, a, &block.b);
	uint32_t n = ok ? block.b.p.n : 0;
	for (uint32_t x = 0; x < n && !block.live; x++)
		if (block_has_blocks(w->m, block.b.op[x]))
			block.live = arena_new_array(a, int64_t, n);
	if (ok && (owner ? block.b.p.lane_n : n) > 0)
		ok = w->schedule(w->to, &block, a);
	else if (ok)
		peak_as_it_is(&block.b.p, a, block.live);
	for (uint32_t x = 0; x < n && ok && block.live; x++)
		if (block_has_blocks(w->m, block.b.op[x]))
			ok = walk_within(w, block.b.op[x], block.live[x] - w->inside[block.b.op[x]]);
	arena_free(a);
	return ok;
}

static bool walk_within(struct walk *w, op_id op, int64_t outside)
{
	const char *kept = kept_by(w->m, op);
	bool ok = true, any = false;
	for (region_id r = w->m->op.at[op].region; r; r = w->m->region.at[r].sibling)
		any |= has_statement(w->m, r, is_communication);
	if (kept && any)
		pass_remark(w->cx, w->m, w->m->op.at[op].at, "this %s keeps its order: %s",
		            w->m->op.at[op].kind == OP_FOR ? "loop" : "condition", kept);
	for (region_id r = schedule_blocks_of(w->m, op); r && ok; r = w->m->region.at[r].sibling)
		ok = walk_block(w, r, op, outside);
	return ok;
}

bool schedule_blocks(struct module *m, struct pass_context *cx, const struct cost *cost,
                     enum block_buckets buckets,
                     bool (*schedule)(void *to, struct schedule_block *block, struct arena *a), void *to)
{
	struct walk w = {.m = m,
	                 .cx = cx,
	                 .cost = cost,
	                 .buckets = buckets,
	                 .schedule = schedule,
	                 .to = to,
	                 .inside = mem_zalloc(sizeof(int64_t) * m->op.n)};
	bool ok =
	    block_find_inside(m, m->body, buckets, cost, cx->d, w.inside) && walk_block(&w, m->body, 0, 0);
	free(w.inside);
	return ok;
}
