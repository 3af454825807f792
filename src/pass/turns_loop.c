/* turns_loop: joins the products of a loop's steps into one. */
#include "pass/turns_loop.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "pass/place.h"
#include "pass/symmetric.h"
#include "pass/turns.h"

struct step {
	op_id loop, product, slice, allocate;
	value_id left, right, sum, parts;
};

static unsigned read_count(const struct module *m, value_id v)
{
	unsigned n = 0;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		n += m->operand.at[u].role == ROLE_READ;
	return n;
}

/* Returns true if only this statement uses the buffer to which the loop reduces, until the end of the
 * loop. */
static bool is_made_by(const struct module *m, value_id v, op_id op, op_id loop)
{
	op_id def = m->value.at[v].def;
	if (!def || m->op.at[def].kind != OP_ALLOCATE || m->op.at[def].parent != m->body)
		return false;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		const struct operand *o = &m->operand.at[u];
		bool after = o->role == ROLE_READ && ir_before(m, loop, symmetric_in(m, m->body, o->op));
		if (o->role != ROLE_DEF && o->op != op && !after)
			return false;
	}
	return true;
}

/* Finds the step of a product, by blocks of the rows of its first operand. Returns NULL, or the reason
 * why it is none. */
static const char *find_step(const struct module *m, op_id op, struct step *s)
{
	region_id body = m->op.at[op].parent;
	s->loop = m->region.at[body].owner;
	s->sum = op_read(m, op, 0);
	s->product = m->value.at[s->sum].def;
	s->parts = op_write(m, op, 0);
	if (m->op.at[s->loop].kind != OP_FOR || m->op.at[s->loop].parent != m->body)
		return "it is reduced in nested loops";
	if (!s->product || m->op.at[s->product].parent != body || !m->op.at[s->product].def_n ||
	    (m->op.at[s->product].kind != OP_MATMUL && m->op.at[s->product].kind != OP_LINEAR))
		return "no product of the step makes it";
	if (read_count(m, s->sum) > 1)
		return "another statement reads the product";
	if (op_role_count(m, s->product, ROLE_READ) > 2)
		return "the product has a bias";
	s->slice = m->value.at[op_read(m, s->product, 0)].def;
	s->right = op_read(m, s->product, 1);
	if (!s->slice || m->op.at[s->slice].kind != OP_SHARD_BY_STREAM || m->op.at[s->slice].parent != body ||
	    op_scalar_expr(m, s->slice, 0) != expr_index((struct module *)m, m->region.at[body].index) ||
	    (m->value.at[s->right].def && m->op.at[m->value.at[s->right].def].parent == body))
		return "its operands are made in the loop";
	s->left = op_read(m, s->slice, 0);
	if (m->value.at[s->left].def && m->op.at[m->value.at[s->left].def].parent == body)
		return "its operands are made in the loop";
	if (!s->parts || !is_made_by(m, s->parts, op, s->loop))
		return "another statement uses the sum";
	s->allocate = m->value.at[s->parts].def;
	return NULL;
}

/* Returns the type of the product of all steps; 0: it is not cut by rows. */
static type_id whole_type(struct module *m, value_id sum)
{
	const struct type t = *value_type(m, sum);
	struct sugar s;
	const char *reason;
	if (!sugar_from_domain(m, t.domain, t.mesh, &s))
		return 0;
	sugar_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		if (s.axis[a].place_n == 1 && place_is_loop(&s.axis[a].place[0]))
			s.axis[a].place_n = 0;
	return place_type(m, m->value.at[sum].type, t.mesh, &s, false, &reason);
}

static op_id with_operands(struct module *m, op_id like, value_id to, value_id left, value_id right)
{
	struct ir_use use[] = {{ROLE_DEF, to}, {ROLE_READ, left}, {ROLE_READ, right}};
	op_id op = ir_op_new(m, (enum op_kind)m->op.at[like].kind, m->op.at[like].at, use, right ? 3 : 2);
	m->op.at[op].attrs = m->op.at[like].attrs;
	return op;
}

/* Replaces one value by another. */
static void put_in_place(struct module *m, struct pass_context *cx, value_id from, value_id to)
{
	type_id type = m->value.at[from].type;
	m->value.at[to].type = type;
	while (m->value.at[from].first_use)
		ir_operand_set(m, m->value.at[from].first_use, to);
	for (uint32_t k = cx->allocated.n; k-- > 0;)
		if (cx->allocated.at[k] == to || cx->allocated.at[k] == from)
			cx->allocated.at[k] = cx->allocated.at[--cx->allocated.n];
	if (!(m->value.at[to].flags & VALUE_OUTPUT))
		vec_push(&cx->allocated, to);
}

const char *turns_loop(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r)
{
	struct step s = {0};
	const char *why = find_step(m, op, &s);
	if (why)
		return why;
	type_id type = whole_type(m, s.sum);
	if (!type)
		return "the steps are not those of a product's rows";
	value_id sum = ir_value_new(m, type, 0, m->op.at[s.product].at),
	         parts = ir_value_new(m, m->value.at[s.parts].type, 0, m->op.at[op].at);
	op_id product = with_operands(m, s.product, sum, s.left, s.right),
	      set = with_operands(m, op, parts, sum, 0);
	struct reshard whole;
	ir_insert_before(m, s.loop, product);
	ir_insert_before(m, s.loop, set);
	reshard_classify(m, type, m->value.at[parts].type, &whole);
	why = whole.kind == RESHARD_REDUCE_SCATTER && whole.dim == r->dim
	          ? turns(m, cx, set, &whole)
	          : "the steps are not those of a product's rows";
	if (why) {
		ir_remove(m, set);
		ir_remove(m, product);
		return why;
	}
	ir_remove(m, s.allocate);
	put_in_place(m, cx, parts, s.parts);
	ir_remove(m, op);
	ir_remove(m, s.product);
	if (!read_count(m, op_def(m, s.slice, 0)))
		ir_remove(m, s.slice);
	if (!m->region.at[m->op.at[s.loop].region].first)
		ir_remove(m, s.loop);
	return NULL;
}
