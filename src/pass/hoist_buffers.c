/* hoist_buffers: moves ALLOCATEs out of loops, loop by loop from the innermost.
 *
 *     for i in 0..4 parallel(stream) {        T: f32[4, 8] = allocate()
 *       t: f32[8] = allocate()                for i in 0..4 parallel(stream) {
 *       t <- exp(x)                      →      t = select(T, axis=0, index=i)
 *       …                                       t <- exp(x)
 *     }                                       }
 *
 * If the iterations of a loop follow one another on a stream, they share the buffer, which is moved
 * without a change. Otherwise each needs its own. A buffer that the loop cuts becomes the whole, and an
 * iteration uses its block. Any other buffer gets a new axis with one element for each iteration. */
#include "pass/hoist_buffers.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/layout.h"

/* Makes all uses of v, except its ALLOCATE, use a new view of it. The view is made at the place of the
 * ALLOCATE. */
static void look_through(struct module *m, value_id v, enum op_kind kind, type_id type, expr_id index)
{
	op_id allocate = m->value.at[v].def;
	value_id view = ir_value_new(m, type, 0, m->op.at[allocate].at);
	for (uint32_t u = m->value.at[v].first_use, next; u; u = next) {
		next = m->operand.at[u].next_use;
		if (m->operand.at[u].role != ROLE_DEF)
			ir_operand_set(m, u, view);
	}
	struct ir_use use[] = {{ROLE_DEF, view}, {ROLE_READ, v}, {ROLE_SCALAR, ir_scalar_expr(m, index)}};
	op_id op = ir_op_new(m, kind, m->op.at[allocate].at, use, 3);
	if (kind == OP_SELECT) {
		struct attr axis = {.key = names_intern(m->names, "axis", 4), .kind = ATTR_INT};
		m->op.at[op].attrs = ir_attrs(m, &axis, 1);
	}
	m->op.at[op].order = m->op.at[allocate].order;
	ir_insert_after(m, allocate, op);
}

/* Returns true if the iterations of a loop run one after the other on one stream. */
static bool in_turn(const struct module *m, const struct live_ranges *l, op_id loop)
{
	return !(m->op.at[loop].flags & OP_STREAM_LOOP) && !l->streams.sets[m->op.at[loop].region];
}

/* Adds an axis with one element for each iteration. Returns false with a reason. */
static bool stack(struct module *m, value_id v, op_id loop, const char **why)
{
	expr_id from = op_scalar_expr(m, loop, 0), to = op_scalar_expr(m, loop, 1), n;
	index_id index = m->region.at[m->op.at[loop].region].index;
	*why = "the number of iterations changes";
	for (index_id i = 1; i < m->index.n; i++)
		if (expr_uses_index(m, from, i) || expr_uses_index(m, to, i))
			return false;
	n = expr_op(m, EXPR_SUB, to, from);
	n = n ? expr_canon(m, n) : 0;
	type_id whole = n ? infer_stack(m, m->value.at[v].type, n) : 0;
	*why = "it has too many axes";
	if (!whole)
		return false;
	expr_id at = expr_op(m, EXPR_SUB, expr_index(m, index), from);
	look_through(m, v, OP_SELECT, infer_select(m, whole, 0), at);
	m->value.at[v].type = whole;
	return true;
}

/* Returns true if an iteration of the loop uses one block of a split of the buffer. */
static bool is_cut(const struct module *m, const struct domain *d, op_id loop)
{
	enum axis_place place = m->op.at[loop].flags & OP_STREAM_LOOP ? PLACE_STREAM : PLACE_SERIAL;
	int axis;
	for (unsigned k = 0; (axis = layout_loop_axis(d, k)) >= 0; k++)
		if (d->axis[axis].place == place && d->axis[axis].extent == op_scalar_expr(m, loop, 1))
			return true;
	return false;
}

/* Moves the ALLOCATE before the enclosing loop. Returns false with a reason. */
static bool share_buffer(struct module *m, const struct live_ranges *l, value_id v, op_id loop,
                         const char **why)
{
	const struct domain *d = value_domain(m, v);
	struct live_range life;
	if (is_cut(m, d, loop)) {
		*why = "nested loops cut it";
		if (ir_enclosing_loops(m, loop, NULL, 0) || layout_loop_axis(d, 1) >= 0)
			return false;
		expr_id index = expr_index(m, m->region.at[m->op.at[loop].region].index);
		look_through(m, v, OP_SHARD_BY_STREAM, infer_shard(m, m->value.at[v].type), index);
		return true;
	}
	live_range_find(l, v, m->op.at[loop].region, &life);
	bool open = life.open;
	live_range_free(&life);
	return (in_turn(m, l, loop) && !open) || stack(m, v, loop, why);
}

void hoist_buffer(struct module *m, struct pass_context *cx, const struct live_ranges *l, value_id v)
{
	op_id loop[IR_MAX_NESTING], allocate = m->value.at[v].def;
	unsigned n;
	while ((n = ir_enclosing_loops(m, allocate, loop, IR_MAX_NESTING))) {
		const char *why;
		if (!share_buffer(m, l, v, loop[n - 1], &why)) {
			pass_remark(cx, m, m->op.at[allocate].at, "buffer not hoisted: %s", why);
			return;
		}
		ir_move_before(m, loop[n - 1], allocate);
		m->op.at[allocate].order = m->op.at[loop[n - 1]].order;
	}
}
