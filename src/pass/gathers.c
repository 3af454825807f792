/* gathers: replaces gathers by views. */
#include "pass/gathers.h"
#include "ir/bound.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include "pass/symmetric.h"
#include <string.h>

/* The source of a gather: slices of a value, outermost slice first. */
struct gather_source {
	value_id of;
	op_id slice[IR_MAX_NESTING];
	unsigned n;
};

static bool find_source(const struct module *m, value_id v, struct gather_source *s)
{
	s->n = 0;
	for (op_id def; (def = m->value.at[v].def) && m->op.at[def].kind == OP_SHARD_BY_STREAM;
	     v = op_read(m, def, 0)) {
		if (s->n == IR_MAX_NESTING)
			return false;
		for (unsigned k = s->n++; k > 0; k--)
			s->slice[k] = s->slice[k - 1];
		s->slice[0] = def;
	}
	s->of = v;
	return true;
}

/* Returns true if a value, or a part of it, is written by a statement of the program's block from
 * `outer` on. */
static bool changes_after(struct module *m, value_id v, op_id outer)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		const struct operand o = m->operand.at[u];
		op_id by = symmetric_in(m, m->body, o.op);
		if (o.role == ROLE_WRITE && (by == outer || !ir_before(m, by, outer)))
			return true;
		if (o.role == ROLE_READ && op_traits(m, o.op) & TRAIT_VIEW &&
		    changes_after(m, op_def(m, o.op, 0), outer))
			return true;
	}
	return false;
}

/* Returns NULL if a value has memory of its own that nothing writes from statement `outer` of the
 * program's block on; otherwise the reason. */
static const char *unsettled(struct module *m, value_id v, op_id outer)
{
	op_id def = m->value.at[v].def;
	enum op_kind kind = def ? (enum op_kind)m->op.at[def].kind : OP_ALLOCATE;
	if (kind == OP_EXTERN || (def && kind != OP_ALLOCATE && ir_is_bound(m, v)))
		return "its operand is a part of a buffer";
	if (m->value.at[v].flags & VALUE_INOUT || changes_after(m, v, outer))
		return "its operand is written again";
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role == ROLE_FREE)
			return "the program deallocates its operand";
	return NULL;
}

/* Turns a statement into a slice. */
static void make_slice(struct module *m, op_id op, value_id of, value_id to, expr_id index)
{
	ir_op_set_operands(
	    m, op,
	    (struct ir_use[]){{ROLE_DEF, to}, {ROLE_READ, of}, {ROLE_SCALAR, ir_scalar_expr(m, index)}}, 3);
	m->op.at[op].kind = OP_SHARD_BY_STREAM;
	m->op.at[op].attrs = 0;
	m->op.at[op].team = 0;
}

/* Returns true if memory has the order of the loop axes. */
static bool is_in_loop_order(const struct domain *d)
{
	uint8_t order[IR_MAX_AXES];
	bool unstreamed, is = domain_allocation_order(d, &unstreamed, order) && !unstreamed;
	for (unsigned k = 0; k < d->alloc_n && is; k++)
		is = order[k] == k;
	return is;
}

/* Returns the index of the loop that makes one block of a value in each step; 0: none, or several. op: a
 * statement of that loop. */
static expr_id made_in(struct module *m, value_id v, op_id op)
{
	op_id def = m->value.at[v].def;
	const struct domain *d = value_domain(m, v);
	const struct type t = *value_type(m, v);
	struct sugar s;
	unsigned axis, level;
	if (!m->op.at[def].def_n || ir_is_bound(m, v) || m->op.at[def].kind == OP_EXTERN ||
	    op_result_count(m, def) != 1 || m->op.at[def].parent != m->op.at[op].parent ||
	    ir_enclosing_loops(m, op, NULL, 0) != 1 ||
	    m->op.at[m->region.at[m->op.at[op].parent].owner].kind != OP_FOR || place_loop_count(d) != 1 ||
	    !bound_of(m, v) || !sugar_from_domain(m, t.domain, t.mesh, &s) ||
	    !place_find_loop(d, &s, 0, &axis, &level) || s.axis[axis].place[level].kind == SUGAR_SWIZZLE ||
	    !is_in_loop_order(d))
		return 0;
	return reshard_loop_index(m, op, d, 0);
}

/* Allocates, before the loop, memory for all blocks of a value of which each step makes one. */
static value_id make_whole(struct module *m, struct pass_context *cx, value_id v, expr_id index)
{
	op_id def = m->value.at[v].def, loop = m->region.at[m->op.at[def].parent].owner;
	uint32_t at = m->op.at[def].at;
	value_id whole = ir_value_new(m, m->value.at[v].type, m->value.at[v].name, at),
	         block = ir_value_new(m, infer_shard(m, m->value.at[v].type), 0, at);
	m->value.at[v].name = 0;
	ir_insert_before(m, loop, ir_op_new(m, OP_ALLOCATE, at, (struct ir_use[]){{ROLE_DEF, whole}}, 1));
	vec_push(&cx->allocated, whole);
	op_id cut = ir_op_new(m, OP_SHARD_BY_STREAM, at, NULL, 0);
	ir_insert_before(m, def, cut);
	make_slice(m, cut, whole, block, index);
	rewrite_write(m, def, v, block);
	while (m->value.at[v].first_use)
		ir_operand_set(m, m->value.at[v].first_use, block);
	return block;
}

/* Returns the type of a view that shows the blocks of the gathered tensor side by side; 0: they are not
 * in the order of the elements, or no type expresses the order in memory. */
static type_id side_by_side(struct module *m, type_id of, const struct reshard *r)
{
	uint8_t axes[IR_MAX_MESH_AXES], order[IR_MAX_AXES];
	type_id type = of;
	bool unstreamed;
	for (unsigned k = 0; k < r->axis_n && type; k++)
		type = infer_symmetric(m, type, r->axis[k]);
	bool is = type && infer_symmetric_axes(m, of, type, axes) == r->axis_n &&
	          !memcmp(axes, r->axis, r->axis_n) &&
	          domain_allocation_order(&m->domain.at[m->type.at[type].domain], &unstreamed, order);
	return is ? type : 0;
}

/* Returns true if the loops of the result are those of the gather's operand, and, for a step, the step's
 * loop. */
static bool is_loop_by_loop(const struct module *m, op_id op, const struct reshard *r)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	bound_set with = bound_of(m, from), is = bound_of(m, to);
	struct bound_levels levels;
	unsigned axis, level;
	if (r->kind == RESHARD_ALLGATHER)
		return __builtin_popcountll(with) == __builtin_popcountll(is);
	bound_levels_of(m, from, &levels);
	return is == bound_all(m, m->value.at[to].type) &&
	       __builtin_popcountll(with) + 1 == __builtin_popcountll(is) &&
	       bound_level(value_domain(m, to), (unsigned)r->step, &axis, &level) &&
	       !(levels.of[axis] >> level);
}

/* Returns the open view of a value. It stays open until after a statement of the program's block. 0:
 * none. */
static value_id find_open(struct module *m, struct gathers *g, value_id of, type_id type, op_id last)
{
	for (uint32_t k = 0; k < g->view.n; k++) {
		struct gathered *v = &g->view.at[k];
		if (v->of != of || m->value.at[v->view].type != type)
			continue;
		if (ir_before(m, v->end, last)) {
			ir_remove(m, v->end);
			v->end = symmetric_view_end(m, m->op.at[last].at, v->view);
			ir_insert_after(m, last, v->end);
		}
		return v->view;
	}
	return 0;
}

/* Turns a statement into the view of a value, which is open until after another statement of its block. */
static void open_view(struct module *m, struct gathers *g, op_id op, const struct gathered *v, type_id type,
                      op_id last)
{
	struct gathered new = *v;
	type_id symmetric = symmetric_type(m, m->value.at[v->of].type);
	m->value.at[v->of].type = symmetric;
	symmetric_view_make(m, op, v->of, v->view, type);
	new.end = symmetric_view_end(m, m->op.at[last].at, v->view);
	ir_insert_after(m, last, new.end);
	if (m->op.at[op].parent == m->body)
		vec_push(&g->view, new);
}

/* The result is the whole view of the gathered tensor. */
static void read_all(struct module *m, struct gathers *g, op_id op, const struct gathered *v, type_id type,
                     op_id outer, op_id last)
{
	value_id view = find_open(m, g, v->of, type, last);
	if (!view) {
		if (op != outer)
			ir_move_before(m, outer, op);
		open_view(m, g, op, v, type, last);
		return;
	}
	ir_remove(m, op);
	while (m->value.at[v->view].first_use)
		ir_operand_set(m, m->value.at[v->view].first_use, view);
}

static bool is_read(const struct module *m, value_id v)
{
	uint32_t u = m->value.at[v].first_use;
	while (u && m->operand.at[u].role == ROLE_DEF)
		u = m->operand.at[u].next_use;
	return u != 0;
}

/* The result is made of the same slices of the view as the gather's operand of the gathered tensor. A
 * step cuts the block of one rank out of them. */
static void read_slices(struct module *m, op_id op, const struct gather_source *s, const struct reshard *r,
                        value_id view)
{
	uint32_t at = m->op.at[op].at;
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	bool steps = r->kind != RESHARD_ALLGATHER;
	type_id type = steps ? m->value.at[to].type : side_by_side(m, m->value.at[from].type, r);
	expr_id index = steps ? reshard_step_index(m, op, r) : op_scalar_expr(m, s->slice[s->n - 1], 0);
	for (unsigned k = 0; k + !steps < s->n; k++) {
		op_id like = s->slice[k], cut = ir_op_new(m, OP_SHARD_BY_STREAM, at, NULL, 0);
		type_id part = side_by_side(m, m->value.at[op_def(m, like, 0)].type, r);
		value_id v = ir_value_new(m, infer_shard(m, part), 0, at);
		ir_insert_before(m, op, cut);
		make_slice(m, cut, view, v, op_scalar_expr(m, like, 0));
		view = v;
	}
	make_slice(m, op, view, to, index);
	type = infer_shard(m, type);
	m->value.at[to].type = type;
	for (unsigned k = s->n; k-- > 0;)
		if (!is_read(m, op_def(m, s->slice[k], 0)))
			ir_remove(m, s->slice[k]);
}

const char *gathers(struct module *m, struct pass_context *cx, struct gathers *g, op_id op,
                    const struct reshard *r)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	op_id outer = symmetric_in(m, m->body, op), last = 0;
	unsigned dim = (unsigned)r->dim;
	bool steps = r->kind != RESHARD_ALLGATHER;
	struct gather_source s;
	if (!find_source(m, from, &s))
		return "it is in too many loops";
	op_id def = m->value.at[s.of].def;
	expr_id index = def && m->op.at[def].parent != m->body ? made_in(m, s.of, op) : 0;
	bool inside = index != 0;
	if (def && m->op.at[def].parent != m->body && !inside)
		return "its operand is made in the loop";
	type_id type = side_by_side(m, m->value.at[s.of].type, r);
	if (!type)
		return "the ranks' blocks do not stand in the order of its elements";
	const char *why = inside ? NULL : unsettled(m, s.of, outer);
	if (why)
		return why;
	if (m->value.at[to].flags & VALUE_OUTPUT)
		return "the program returns it: there must be a copy";
	if (!m->op.at[op].def_n)
		return "it is put into a buffer: there must be a copy";
	if (!is_loop_by_loop(m, op, r))
		return "its slices are not those of its operand";
	/* a step's block is that of one rank; slices of blocks are not side by side */
	bool one =
	    steps || (!s.n && !inside &&
	              symmetric_is_one(m, m->value.at[s.of].type, dim, cx->option[PASS_ZERO_COPY_PAGE]));
	if (!one && r->axis_n > 1)
		return "the ranks' blocks along its mesh axes have gaps between them";
	why = symmetric_unreadable(m, to, dim, one, inside ? m->op.at[op].parent : m->body, &last);
	if (why || !last)
		return why ? why : "nothing reads it";
	struct gathered v = {.of = s.of, .view = to};
	if (!s.n && !steps && !inside) {
		read_all(m, g, op, &v, type, outer, last);
		return NULL;
	}
	if (inside) {
		make_whole(m, cx, s.of, index);
		find_source(m, op_read(m, op, 0), &s);
		v.of = s.of;
		outer = op;
	}
	v.view = find_open(m, g, v.of, type, last);
	if (!v.view) {
		op_id view = ir_op_new(m, OP_SYMMETRIC_VIEW, m->op.at[op].at, NULL, 0);
		v.view = ir_value_new(m, type, 0, m->op.at[op].at);
		ir_insert_before(m, outer, view);
		open_view(m, g, view, &v, type, last);
	}
	read_slices(m, op, &s, r, v.view);
	return NULL;
}
