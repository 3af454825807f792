/* print_order: walks the program once in the order of nvFuser's surface. Numbering and the sections
 * after the container use the lists made here. */
#include "ir/print_order.h"
#include "ir/expr.h"
#include "ir/print_experts.h"
#include "ir/print_terms.h"
#include "ir/printed.h"
#include "ir/unit.h"
#include <string.h>

struct walk {
	struct module *m;
	struct print_order *out;
	VEC(value_id) term; /* values that are not printed */
	uint8_t *value_seen, *domain_seen, *param_seen, *index_seen, *handle_seen;
	uint8_t *expr_seen;
};

static void walk_param(struct walk *w, param_id id)
{
	if (w->param_seen[id])
		return;
	w->param_seen[id] = 1;
	vec_push(&w->out->scalar, id);
}

static void walk_expr(struct walk *w, expr_id e)
{
	const struct expr *x = &w->m->expr.at[e];
	if (!e || w->expr_seen[e])
		return;
	w->expr_seen[e] = 1;
	if (x->kind == EXPR_PARAM) {
		walk_param(w, (param_id)x->k);
	} else if (x->kind == EXPR_INDEX && !w->index_seen[x->k]) {
		w->index_seen[x->k] = 1;
		vec_push(&w->out->scalar, (uint32_t)x->k | PRINT_ORDER_INDEX);
	}
	bool swap = x->kind == EXPR_MUL && w->m->expr.at[x->a].kind == EXPR_CONST;
	walk_expr(w, swap ? x->b : x->a);
	walk_expr(w, swap ? x->a : x->b);
}

static void walk_value(struct walk *w, value_id v)
{
	if (!v || w->value_seen[v])
		return;
	w->value_seen[v] = 1;
	vec_push(&w->out->value, v);
	domain_id id = value_type(w->m, v)->domain;
	if (w->domain_seen[id])
		return;
	w->domain_seen[id] = 1;
	const struct domain *d = ir_domain(w->m, id);
	for (unsigned i = 0; i < d->loop_n; i++)
		walk_expr(w, d->axis[d->loop[i]].extent);
	for (unsigned i = 0; i < d->axis_n; i++)
		walk_expr(w, d->axis[i].extent);
}

static void walk_handle(struct walk *w, handle_id h)
{
	if (!h || w->handle_seen[h])
		return;
	w->handle_seen[h] = 1;
	vec_push(&w->out->handle, h);
}

static void walk_index(struct walk *w, index_id i)
{
	if (!i || w->index_seen[i])
		return;
	w->index_seen[i] = 1;
	vec_push(&w->out->scalar, i | PRINT_ORDER_INDEX);
}

static void walk_statement(struct walk *w, op_id op)
{
	if (w->out->flags[op] & PRINT_SEEN)
		return;
	w->out->flags[op] |= PRINT_SEEN;
	vec_push(&w->out->numbered, op);
}

static void walk_region(struct walk *w, region_id r);

static void walk_named(struct walk *w, op_id op, op_id named)
{
	const struct op *o = &w->m->op.at[op];
	uint8_t *flags = &w->out->flags[named];
	if (o->kind == OP_POST) {
		*flags |= PRINT_POSTED;
		if (!(*flags & PRINT_SEEN))
			w->out->flags[op] |= PRINT_NAMES_LATER;
		else if (o->operand_n == 1 && w->out->posts[named] < 2)
			w->out->posts[named]++;
	}
	if (o->kind == OP_SHARE_MEM_HANDLES && !(*flags & PRINT_SEEN))
		*flags |= PRINT_SHARED_EARLY;
}

/* Walks the line that posts a unit. */
static void walk_unit(struct walk *w, op_id op)
{
	struct ir_unit_operands x;
	ir_unit_operands_find(w->m, op, &x);
	for (uint32_t i = 0; i < x.in.n; i++)
		walk_value(w, x.in.at[i]);
	for (uint32_t i = 0; i < x.out.n; i++)
		walk_value(w, x.out.at[i]);
	vec_free(&x.in);
	vec_free(&x.out);
	vec_push(&w->out->unit, op);
}

/* Finds the stream axis that a statement of a region selects by an expression of the loop's index, or by any if index
 * is 0: a listing may not show what its scalars are. */
static bool find_selected(struct module *m, region_id region, index_id index, expr_id extent, value_id *v,
                          unsigned *axis)
{
	region_each (m, op, region) {
		for (region_id r = m->op.at[op].region; r; r = m->region.at[r].sibling)
			if (find_selected(m, r, index, extent, v, axis))
				return true;
		expr_id at = m->op.at[op].kind == OP_SELECT ? op_scalar_expr(m, op, 0) : 0;
		if (!at || (index && !expr_uses_index(m, at, index)))
			continue;
		value_id from = op_read(m, op, 0);
		op_id def = m->value.at[from].def;
		int64_t a = op_attr_int(m, op, "axis", -1);
		if (!def || m->op.at[def].kind != OP_ALLOCATE) /* nvFuser names an axis that the loop fills */
			continue;
		const struct domain *d = value_domain(m, from);
		if (a < 0 || a >= d->rank || d->axis[a].place != PLACE_STREAM || d->axis[a].extent != extent)
			continue;
		*v = from;
		*axis = (unsigned)a;
		return true;
	}
	return false;
}

static bool is_named_by_nvfuser(const struct module *m, index_id index)
{
	const char *name = m->index.at[index].name ? names_text(m->names, m->index.at[index].name) : "";
	return !strcmp(name, "streamIdx") || !strcmp(name, "StreamIdx");
}

bool print_order_loop_axis(struct module *m, op_id loop, value_id *v, unsigned *axis)
{
	index_id index = m->region.at[m->op.at[loop].region].index;
	expr_id stop = op_scalar_expr(m, loop, 1);
	int64_t start;
	if (!(m->op.at[loop].flags & OP_STREAM_LOOP) || !is_named_by_nvfuser(m, index) ||
	    !expr_is_const(m, op_scalar_expr(m, loop, 0), &start) || start != 0)
		return false;
	for (op_id outer = m->region.at[m->op.at[loop].parent].owner; outer;
	     outer = m->region.at[m->op.at[outer].parent].owner)
		if (m->op.at[outer].kind == OP_FOR &&
		    is_named_by_nvfuser(m, m->region.at[m->op.at[outer].region].index))
			return false;
	for (op_id op = loop; op; op = m->op.at[op].next) { /* nvFuser's first loop only synchronizes */
		if (m->op.at[op].kind != OP_FOR || op_scalar_expr(m, op, 1) != stop)
			continue;
		region_id body = m->op.at[op].region;
		if (find_selected(m, body, m->region.at[body].index, stop, v, axis) ||
		    find_selected(m, body, 0, stop, v, axis))
			return true;
	}
	return false;
}

static void walk_attrs(struct walk *w, op_id op)
{
	const struct attrs *l = &w->m->attrs.at[w->m->op.at[op].attrs];
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->at[i].kind == ATTR_EXPR)
			walk_expr(w, l->at[i].u.expr);
		for (uint32_t k = 0; l->at[i].kind == ATTR_EXPRS && k < l->at[i].n; k++)
			walk_expr(w, l->at[i].u.exprs[k]);
	}
}

static void walk_operand(struct walk *w, op_id op, value_id v)
{
	op_id product = print_term_product(w->m, w->out, op);
	walk_value(w, print_term_operand(w->m, w->out, v));
	if (product)
		walk_value(w, print_term_operand(w->m, w->out, op_read(w->m, product, 1)));
}

static void walk_op(struct walk *w, op_id op)
{
	struct module *m = w->m;
	const struct op *o = &m->op.at[op];
	if (print_term_is_made(m, w->out, op)) {
		vec_push(&w->term, op_result(m, op, 0));
		walk_attrs(w, op);
		return;
	}
	if (o->kind == OP_PERMUTE || printed_is_view(m, op))
		w->out->maker[op_result(m, op, 0)] = op;
	bool experts = print_experts_is_short(m, w->out, op);
	if (experts || o->flags & OP_ASYNC || op_info[o->kind].traits & (TRAIT_P2P | TRAIT_ASYNC))
		walk_statement(w, op);
	if (o->kind == OP_FOR) {
		vec_push(&w->out->loop, op);
		index_id index = m->region.at[o->region].index;
		value_id v;
		unsigned axis;
		m->index.at[index].by_name = print_order_loop_axis(m, op, &v, &axis);
		walk_index(w, index);
	}
	/* the results of a statement are printed first, except for Communications */
	bool results_first = !(o->flags & OP_ASYNC) && !experts;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < o->operand_n; i++) {
			const struct operand *p = &m->operand.at[o->operand + i];
			bool is_result = p->role == ROLE_DEF || (p->role == ROLE_WRITE && !o->def_n);
			if (is_result != (results_first == (pass == 0)))
				continue;
			if (experts && w->out->term[p->id]) {
				if (p->role == ROLE_DEF)
					vec_push(&w->term, p->id);
			} else if (p->role <= ROLE_FREE)
				walk_operand(w, is_result ? 0 : op, p->id);
			else if (p->role == ROLE_SCALAR)
				walk_expr(w, m->scalar.at[p->id].expr);
			else if (p->role == ROLE_HANDLE)
				walk_handle(w, p->id);
			else if (p->role == ROLE_STATEMENT)
				walk_named(w, op, p->id);
		}
	if (o->kind == OP_SELECT) {
		value_id from = op_read(m, op, 0);
		int64_t axis = op_attr_int(m, op, "axis", 0);
		if (from && axis >= 0 && axis < value_domain(m, from)->rank)
			w->out->selected[from] |= (uint64_t)1 << axis;
	}
	walk_attrs(w, op);
	if (op_is_unit(m, op)) {
		walk_unit(w, op);
		return;
	}
	for (region_id r = o->region; r; r = m->region.at[r].sibling)
		walk_region(w, r);
}

static void walk_region(struct walk *w, region_id r)
{
	for (op_id o = w->m->region.at[r].first; o; o = w->m->op.at[o].next)
		walk_op(w, o);
}

void print_order_make(struct module *m, struct print_order *out)
{
	*out = (struct print_order){0};
	out->selected = mem_zalloc(sizeof *out->selected * m->value.n);
	out->maker = mem_zalloc(sizeof *out->maker * m->value.n);
	out->term = mem_zalloc(m->value.n);
	out->posts = mem_zalloc(m->op.n);
	print_terms_find(m, out);
	print_experts_find(m, out);
	out->flags = mem_zalloc(m->op.n);
	struct walk w = {
	    .m = m,
	    .out = out,
	    .value_seen = mem_zalloc(m->value.n),
	    .domain_seen = mem_zalloc(m->domain.n),
	    .param_seen = mem_zalloc(m->param.n),
	    .index_seen = mem_zalloc(m->index.n),
	    .handle_seen = mem_zalloc(m->handle.n),
	    .expr_seen = mem_zalloc(m->expr.n),
	};
	for (uint32_t i = 0, k = 0; i <= m->input.n; i++) {
		for (; k < m->input_param.n && m->input_param.at[k].before == i; k++)
			walk_param(&w, m->input_param.at[k].param);
		if (i < m->input.n)
			walk_value(&w, m->input.at[i].value);
	}
	for (uint32_t i = 0; i < m->output.n; i++)
		walk_value(&w, m->output.at[i]);
	walk_region(&w, m->body);
	for (uint32_t i = 0; i < out->unit.n; i++)
		walk_region(&w, m->op.at[out->unit.at[i]].region);
	for (uint32_t i = 0; i < w.term.n; i++) /* they have numbers in the concise surface */
		vec_push(&out->value, w.term.at[i]);
	vec_free(&w.term);
	out->printed_n = out->scalar.n;
	for (param_id p = 1; p < m->param.n; p++)
		if (!w.param_seen[p])
			vec_push(&out->scalar, p);
	free(w.value_seen);
	free(w.domain_seen);
	free(w.param_seen);
	free(w.index_seen);
	free(w.handle_seen);
	free(w.expr_seen);
}

void print_order_free(struct print_order *o)
{
	free(o->term);
	free(o->maker);
	free(o->choice);
	vec_free(&o->value);
	vec_free(&o->scalar);
	vec_free(&o->handle);
	vec_free(&o->numbered);
	vec_free(&o->loop);
	vec_free(&o->unit);
	vec_free(&o->block);
	printed_numbers_free(&o->numbers);
	free(o->selected);
	free(o->posts);
	free(o->flags);
}

static bool is_posted_transfer(const struct module *m, const struct print_order *o, op_id op)
{
	return op_traits(m, op) & TRAIT_P2P && o->flags[op] & PRINT_POSTED;
}

/* Return the printed statement before or after another one. */
static op_id printed_prev(const struct module *m, const struct print_order *o, op_id op)
{
	do
		op = m->op.at[op].prev;
	while (op && print_term_is_made(m, o, op));
	return op;
}

static op_id printed_next(const struct module *m, const struct print_order *o, op_id op)
{
	do
		op = m->op.at[op].next;
	while (op && print_term_is_made(m, o, op));
	return op;
}

/* Returns true if the n operands of a share_mem_handles are the n statements before it, in order. */
static bool names_the_ones_before(const struct module *m, const struct print_order *o, op_id share)
{
	op_id at = printed_prev(m, o, share);
	for (unsigned k = m->op.at[share].operand_n; k-- > 0; at = printed_prev(m, o, at))
		if (!at || m->operand.at[m->op.at[share].operand + k].id != at ||
		    !is_posted_transfer(m, o, at) || o->flags[at] & PRINT_SHARED_EARLY)
			return false;
	return true;
}

bool print_order_elides(const struct module *m, const struct print_order *o, op_id op)
{
	if (print_term_is_made(m, o, op))
		return true;
	if (!is_posted_transfer(m, o, op) || o->flags[op] & PRINT_SHARED_EARLY)
		return false;
	op_id next = printed_next(m, o, op);
	if (next && m->op.at[next].kind == OP_POST)
		return m->op.at[next].operand_n == 1 && op_operand_id(m, next, ROLE_STATEMENT, 0) == op &&
		       o->posts[op] > 1;
	unsigned after = 0;
	while (next && after < IR_MAX_OPERANDS && is_posted_transfer(m, o, next))
		next = printed_next(m, o, next), after++;
	return next && m->op.at[next].kind == OP_SHARE_MEM_HANDLES && after < m->op.at[next].operand_n &&
	       names_the_ones_before(m, o, next);
}

bool print_order_loop_is_stream(const struct module *m, op_id loop)
{
	const struct region *body = &m->region.at[m->op.at[loop].region];
	if (!body->first || m->op.at[body->first].kind != OP_SET_CURRENT_STREAM)
		return false;
	expr_id e = op_scalar_expr(m, body->first, 0);
	return e && expr_uses_index(m, e, body->index);
}

bool print_order_loop_kind_stated(const struct module *m, op_id loop)
{
	return print_order_loop_is_stream(m, loop) != ((m->op.at[loop].flags & OP_STREAM_LOOP) != 0);
}
