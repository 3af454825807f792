/* allocate: every result has a buffer, and every buffer of ours an end.
 *
 *     T3: f32[64, 32] partial(x) = matmul(A, B)     T3: f32[64, 32] partial(x) = allocate()
 *     Y <- allreduce(T3, axis=x) as c0          →   T3 <- matmul(A, B)
 *     wait(c0)                                      Y <- allreduce(T3, axis=x) as c0
 *                                                   wait(c0)
 *                                                   deallocate(T3)
 *
 * An ALLOCATE stands right before the statement that makes the value, in its block. A Deallocate stands
 * in the block of the ALLOCATE after the last statement that uses the buffer or a view of it, and after the
 * Synchronize that ends what other streams do with it; a wait is
 * a use of its Communication's buffers. Buffers that the program returns have none, nor those that the
 * source allocates. {hoist=1} shows the buffers of a loop before it: whole, their slices as views, when
 * the loop cuts them; as they are in loops whose iterations follow one another.
 *
 * requires     sharded, lowered
 * establishes  bound: every result is a buffer or a view
 * keeps        everything else */
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "pass/order.h"
#include "pass/pass.h"
#include "pass/rewrite.h"
#include "pass/stream_order.h"

/* Whether a value has no storage yet. */
static bool is_unbound(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && m->op.at[def].parent && !ir_is_bound(m, v);
}

static void bind(struct module *m, struct pass_context *cx, op_id op)
{
	unsigned n = m->op.at[op].kind == OP_EXTERN ? 0 : m->op.at[op].def_n;
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

/* ---- hoisting */

/* The outermost loop around the ALLOCATE of a value; 0: it stands in none. */
static op_id outer_loop(const struct module *m, value_id v)
{
	op_id loop[IR_MAX_NESTING];
	return ir_enclosing_loops(m, m->value.at[v].def, loop, IR_MAX_NESTING) ? loop[0] : 0;
}

static void hoist(struct module *m, struct pass_context *cx, value_id v)
{
	op_id allocate = m->value.at[v].def, loop = outer_loop(m, v);
	if (!loop || ir_enclosing_loops(m, allocate, NULL, 0) != 1)
		return;
	const struct domain *d = value_domain(m, v);
	int cut = layout_loop_axis(d, 0);
	bool sliced = cut >= 0 && d->axis[cut].extent == op_scalar_expr(m, loop, 1);
	if (!sliced && m->op.at[loop].flags & OP_STREAM_LOOP) {
		pass_remark(cx, m, m->op.at[allocate].at,
		            "buffer not hoisted: the iterations would share it");
		return;
	}
	if (sliced) { /* uses see a view of it */
		expr_id index = expr_index(m, m->region.at[m->op.at[loop].region].index);
		value_id slice =
		    ir_value_new(m, infer_shard(m, m->value.at[v].type), 0, m->op.at[allocate].at);
		for (uint32_t u = m->value.at[v].first_use, next; u; u = next) {
			next = m->operand.at[u].next_use;
			if (m->operand.at[u].role != ROLE_DEF)
				ir_operand_set(m, u, slice);
		}
		struct ir_use use[] = {
		    {ROLE_DEF, slice}, {ROLE_READ, v}, {ROLE_SCALAR, ir_scalar_expr(m, index)}};
		ir_insert_after(m, allocate, ir_op_new(m, OP_SHARD_BY_STREAM, m->op.at[allocate].at, use, 3));
	}
	ir_move_before(m, loop, allocate);
}

/* ---- the end of life */

/* The statement of block r that holds op (op itself or a loop or condition around it); 0: none. */
static op_id in_block(const struct module *m, region_id r, op_id op)
{
	while (op && m->op.at[op].parent != r)
		op = m->region.at[m->op.at[op].parent].owner;
	return op;
}

struct life {
	region_id block;
	op_id last;     /* last use in the block */
	bool open;      /* a Communication of the buffer is not waited for after it */
	VEC(op_id) use; /* statements in the block, or in blocks within, whose end is the end of a use */
};

static void extend(const struct module *m, struct life *life, op_id use, bool ends)
{
	op_id here = in_block(m, life->block, use);
	if (here && ends)
		vec_push(&life->use, use);
	if (here && (!life->last || m->op.at[life->last].order < m->op.at[here].order))
		life->last = here;
}

/* Waits are no uses of values: those of each Communication, by the one it names. */
struct waits {
	op_id *first; /* by op: the last wait of it seen, a list by next */
	op_id *next;  /* by wait */
	uint32_t n;
};

static void find_waits(struct module *m, struct waits *w)
{
	w->n = m->op.n;
	w->first = mem_zalloc(sizeof *w->first * w->n);
	w->next = mem_zalloc(sizeof *w->next * w->n);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		op_id of = m->op.at[op].kind == OP_WAIT ? op_operand_id(m, op, ROLE_STATEMENT, 0) : 0;
		if (!of)
			continue;
		w->next[op] = w->first[of];
		w->first[of] = op;
	}
}

static void live(struct module *m, const struct waits *w, value_id v, struct life *life)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		op_id op = m->operand.at[u].op;
		bool communicates = m->op.at[op].flags & OP_ASYNC;
		bool view = op_traits(m, op) & TRAIT_VIEW;
		extend(m, life, op, !communicates && !view && m->op.at[op].kind != OP_ALLOCATE);
		if (m->operand.at[u].role == ROLE_READ && view)
			live(m, w, op_def(m, op, 0), life);
		if (!communicates || op >= w->n)
			continue;
		bool waited = false;
		for (op_id wait = w->first[op]; wait; wait = w->next[wait]) {
			extend(m, life, wait, true);
			waited |= in_block(m, life->block, wait) && m->op.at[op].order < m->op.at[wait].order;
		}
		life->open |= !waited;
	}
}

/* The first statement from `last` on after which the current stream has seen all uses end; 0: none. */
static op_id find_end(struct stream_order *s, const struct life *life)
{
	op_id at = life->last;
	for (uint32_t k = 0; at && k < life->use.n;) {
		if (stream_order_follows(s, life->block, life->use.at[k], at))
			k++;
		else
			at = s->m->op.at[at].next, k = 0;
	}
	return at;
}

static void end_life(struct module *m, struct pass_context *cx, const struct waits *w, struct stream_order *s,
                     value_id v)
{
	op_id allocate = m->value.at[v].def;
	if (m->value.at[v].flags & (VALUE_OUTPUT | VALUE_INOUT) || !allocate ||
	    m->op.at[allocate].kind != OP_ALLOCATE)
		return;
	struct life life = {.block = m->op.at[allocate].parent};
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role == ROLE_FREE)
			return;
	live(m, w, v, &life);
	op_id where = life.open ? 0 : find_end(s, &life);
	vec_free(&life.use);
	if (!where) {
		pass_remark(
		    cx, m, m->op.at[allocate].at,
		    life.open
		        ? "buffer not freed: a Communication that uses it is not waited for after it"
		        : "buffer not freed: nothing in its block synchronizes with all streams that use it");
		return;
	}
	while (m->op.at[where].next && m->op.at[m->op.at[where].next].kind == OP_DEALLOCATE)
		where = m->op.at[where].next; /* in the order of the ALLOCATEs */
	op_id end = ir_op_new(m, OP_DEALLOCATE, m->op.at[allocate].at, (struct ir_use[]){{ROLE_FREE, v}}, 1);
	ir_insert_after(m, where, end);
}

static int by_place(const void *a, const void *b, void *module)
{
	const struct module *m = module;
	uint32_t x = m->op.at[m->value.at[*(const value_id *)a].def].order;
	uint32_t y = m->op.at[m->value.at[*(const value_id *)b].def].order;
	return (x > y) - (x < y);
}

/* Numbers statements in program order. */
static void number_order(struct module *m)
{
	uint32_t n = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		m->op.at[op].order = ++n;
}

bool pass_allocate(struct module *m, struct pass_context *cx)
{
	struct waits w;
	struct stream_order s;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		bind(m, cx, op);
	for (uint32_t i = 0; i < cx->allocated.n && cx->option[0]; i++)
		hoist(m, cx, cx->allocated.at[i]);
	number_order(m);
	if (cx->allocated.n)
		qsort_r(cx->allocated.at, cx->allocated.n, sizeof *cx->allocated.at, by_place, m);
	find_waits(m, &w);
	stream_order_find(m, &s);
	for (uint32_t i = 0; i < cx->allocated.n; i++)
		end_life(m, cx, &w, &s, cx->allocated.at[i]);
	stream_order_free(&s);
	free(w.first);
	free(w.next);
	return true;
}
