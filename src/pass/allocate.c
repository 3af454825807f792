/* allocate: gives every result a buffer, and deallocates the buffers that passes allocate.
 *
 *     T3: f32[64, 32] partial(x) = matmul(A, B)     T3: f32[64, 32] partial(x) = allocate()
 *     Y <- allreduce(T3, axis=x) as c0          →   T3 <- matmul(A, B)
 *     wait(c0)                                      Y <- allreduce(T3, axis=x) as c0
 *                                                   wait(c0)
 *                                                   deallocate(T3)
 *
 * The ALLOCATE goes right before the statement that makes the value, in its block. The Deallocate goes
 * into the block of the ALLOCATE, after the last statement that uses the buffer or a view of it, and
 * after the Synchronize that ends the use by other streams. A wait counts as a use of its
 * Communication's buffers. Buffers that the program returns or that the source allocates are not
 * deallocated. {hoist=1} moves buffers of loops before the loops (hoist_buffers.c).
 * Externs get no buffers, nor do the pack and unpack of a collective that is one: its wait is no statement
 * that ends the life of a buffer.
 *
 * requires     sharded, lowered
 * establishes  bound: every result is a buffer or a view
 * keeps        everything else */
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/unit.h"
#include "pass/hoist_buffers.h"
#include "pass/live_ranges.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* Returns true if a value has no storage yet. */
static bool is_unbound(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && m->op.at[def].parent && !ir_is_bound(m, v) && !ir_is_unit_local(m, v);
}

static void bind(struct module *m, struct pass_context *cx, op_id op)
{
	unsigned n = ir_is_opaque(m, op) ? 0 : m->op.at[op].def_n;
	value_id *made = mem_alloc(sizeof *made * (n + 1));
	for (unsigned k = 0; k < n; k++)
		made[k] = op_def(m, op, k);
	for (unsigned k = 0; k < n; k++) {
		if (!is_unbound(m, made[k]))
			continue;
		rewrite_allocate(m, op, made[k]);
		vec_push(&cx->allocated, made[k]);
	}
	free(made);
}

/* ---- the end of life */

static bool is_freed(const struct module *m, value_id v)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role == ROLE_FREE)
			return true;
	return false;
}

/* Returns true if the program returns a value, or a view of it. */
static bool is_returned(const struct module *m, value_id v)
{
	if (m->value.at[v].flags & (VALUE_OUTPUT | VALUE_INOUT))
		return true;
	for (uint32_t k = 0; k < m->output.n; k++)
		if (ir_root(m, m->output.at[k]) == v)
			return true;
	return false;
}

/* Ends the life of a buffer after a statement, and after the ends that stand there, in the order of the
 * ALLOCATEs. */
static void free_after(struct module *m, struct pass_context *cx, value_id v, op_id where)
{
	uint32_t at = m->op.at[m->value.at[v].def].at;
	struct ir_use use = {ROLE_FREE, v};
	struct buf name = {0};
	if (m->value.at[v].name)
		pass_put_name(m, v, &name);
	while (m->op.at[where].next && m->op.at[m->op.at[where].next].kind == OP_DEALLOCATE)
		where = m->op.at[where].next;
	if (pass_may_change(cx, m, at, "the end of %s", name.n ? name.at : "a buffer"))
		ir_insert_after(m, where, ir_op_new(m, OP_DEALLOCATE, at, &use, 1));
	buf_free(&name);
}

static void end_life(struct module *m, struct pass_context *cx, struct live_ranges *l, value_id v)
{
	op_id allocate = m->value.at[v].def;
	struct live_range life;
	if (!allocate || m->op.at[allocate].kind != OP_ALLOCATE || is_returned(m, v) || is_freed(m, v))
		return;
	live_range_find(l, v, m->op.at[allocate].parent, &life);
	op_id where = live_range_end(l, &life);
	if (where)
		free_after(m, cx, v, where);
	else
		pass_remark(cx, m, m->op.at[allocate].at, "buffer not freed: %s",
		            life.open ? "a Communication that uses it is not waited for after it"
		                      : "nothing in its block synchronizes with all streams that use it");
	live_range_free(&life);
}

static int by_place(const void *a, const void *b, void *module)
{
	const struct module *m = module;
	uint32_t x = m->op.at[m->value.at[*(const value_id *)a].def].order;
	uint32_t y = m->op.at[m->value.at[*(const value_id *)b].def].order;
	return (x > y) - (x < y);
}

bool pass_allocate(struct module *m, struct pass_context *cx)
{
	struct live_ranges l;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		bind(m, cx, op);
	live_ranges_find(m, &l);
	if (cx->option[PASS_ALLOCATE_HOIST]) {
		for (uint32_t i = 0; i < cx->allocated.n; i++)
			hoist_buffer(m, cx, &l, cx->allocated.at[i]);
		live_ranges_free(&l);
		live_ranges_find(m, &l);
	}
	if (cx->allocated.n)
		qsort_r(cx->allocated.at, cx->allocated.n, sizeof *cx->allocated.at, by_place, m);
	for (uint32_t i = 0; i < cx->allocated.n; i++)
		end_life(m, cx, &l, cx->allocated.at[i]);
	live_ranges_free(&l);
	return true;
}
