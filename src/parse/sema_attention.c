/* sema_attention: reads attention as nvFuser prints it.
 *
 *     T3…,                                            T3…, T7 = sdpa(T0…, T1…, T2…, causal=true)
 *     T4…,                                            T4… = reshape(T7)
 *     T5…,                                            T5… = full(0), T6… = full(0)
 *     T6…
 *        = sdpa(T0…, T1…, T2…, dropout_p = double(0), is_causal=true, )
 *
 * T4 is the logarithm of the sums, which has an axis more here. T5 and T6 are the state of random numbers for dropout;
 * without dropout nothing uses it, so it is zero. sdpa_bwd is sdpa_backward, with the axis put back. A bias= beside a mask=
 * is where(mask, bias, -inf). */
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <math.h>
#include <string.h>

enum { OUT, LOGS, SEED, OFFSET, RESULTS };
enum { GRADIENTS = 3, WITHOUT_KEY = 5, MOST_OPERANDS = 7 }; /* of sdpa_bwd */

static bool is_zero(struct nv_reader *r, ast_id e)
{
	const struct ast_node *n = ast_at(r->s->a, e);
	if (n->kind == AST_CALL && n->first && !ast_at(r->s->a, n->first)->next) /* double(0) */
		return is_zero(r, n->first);
	return (n->kind == AST_INT && n->value.i == 0) || (n->kind == AST_FLOAT && n->value.f == 0);
}

/* Returns the expression where(mask, bias, -inf). */
static ast_id add_masked(struct nv_reader *r, ast_id mask, ast_id bias)
{
	ast_id where = nv_node(r, AST_CALL, mask, "where"), least = nv_node(r, AST_FLOAT, bias, NULL);
	r->s->a->nodes.at[least].value.f = -INFINITY;
	nv_node_append(r, where, nv_node_copy(r, mask));
	nv_node_append(r, where, nv_node_copy(r, bias));
	nv_node_append(r, where, least);
	return where;
}

/* Moves the keys of nvFuser to those of a call. Returns false after reporting. */
static bool add_keys(struct nv_reader *r, ast_id from, ast_id call)
{
	ast_id dropout = nv_key(r, from, "dropout_p"), causal = nv_key(r, from, "is_causal"),
	       scale = nv_key(r, from, "scale"), bias = nv_key(r, from, "bias"),
	       mask = nv_key(r, from, "mask");
	if (dropout && !is_zero(r, dropout))
		return nv_refuse(r, E_ATTRIBUTE_VALUE, dropout, "attention has no dropout: dropout_p is 0");
	if (causal && !nv_is_name(r, causal, "true") && !nv_is_name(r, causal, "false"))
		return nv_refuse(r, E_ATTRIBUTE_VALUE, causal, "is_causal is true or false");
	if (bias && mask)
		nv_node_append(r, call, add_masked(r, mask, bias));
	else if (bias || mask)
		nv_node_append(r, call, nv_node_copy(r, bias ? bias : mask));
	if (causal && nv_is_name(r, causal, "true"))
		nv_node_key(r, call, "causal", nv_node_copy(r, causal));
	if (!scale)
		return true;
	nv_unwrap_numbers(r, scale);
	nv_node_key(r, call, "scale", nv_node_copy(r, scale));
	return true;
}

/* Appends the operands without a key. Returns their number. */
static unsigned add_operands(struct nv_reader *r, ast_id from, ast_id call)
{
	unsigned n = 0;
	ast_each (r->s->a, child, from)
		if (!nv_is(r, child, AST_KEY)) {
			nv_node_append(r, call, nv_node_copy(r, child));
			n++;
		}
	return n;
}

void nv_append_result(struct nv_reader *r, struct nv_tensor *t, value_id bound, enum op_kind kind,
                      value_id from, uint32_t at)
{
	struct ir_use operand =
	    from ? (struct ir_use){ROLE_READ, from}
	         : (struct ir_use){ROLE_SCALAR, ir_scalar_expr(r->s->m, expr_const(r->s->m, 0))};
	if (bound) {
		struct ir_use use[] = {operand, {ROLE_WRITE, bound}};
		nv_append(r, ir_op_new(r->s->m, kind, at, use, 2));
		return;
	}
	struct ir_use use[] = {{ROLE_DEF, nv_define(r, t, at)}, operand};
	nv_append(r, ir_op_new(r->s->m, kind, at, use, 2));
}

/* Reads a target. Returns false after reporting. */
static bool read_target(struct nv_reader *r, ast_id targets, unsigned k, struct nv_tensor **t,
                        value_id *bound)
{
	ast_id target = ast_child(r->s->a, targets, k);
	return target && nv_result(r, target, t, bound);
}

static void define_all(struct nv_reader *r, struct nv_tensor **t, unsigned n, uint32_t at)
{
	for (unsigned k = 0; k < n; k++) /* so that uses of the results are not errors, too */
		if (t[k] && !t[k]->value)
			nv_define(r, t[k], at);
}

static void read_forward(struct nv_reader *r, ast_id targets, ast_id from)
{
	struct sema *s = r->s;
	struct nv_tensor *t[RESULTS] = {0};
	value_id bound[RESULTS] = {0}, value[2];
	uint32_t at = ast_at(s->a, from)->at;
	ast_id call = nv_node(r, AST_CALL, from, "sdpa");
	for (unsigned k = 0; k < RESULTS; k++)
		if (!read_target(r, targets, k, &t[k], &bound[k])) {
			nv_refuse(r, E_RESULT_COUNT, from,
			          "sdpa has four results: the attention, log_sumexp, philox_seed and "
			          "philox_offset");
			return;
		}
	add_operands(r, from, call);
	struct sema_result x[2] = {{.type = t[OUT]->type, .at = at}, {.at = at}};
	op_id op = add_keys(r, from, call) ? sema_call(s, call, x, 2, 0, at, value) : 0;
	if (!op) {
		define_all(r, t, RESULTS, at);
		return;
	}
	if (bound[OUT])
		nv_append_result(r, t[OUT], bound[OUT], OP_SET, value[0], at);
	else
		nv_settle(r, t[OUT], value[0]);
	struct infer_draft draft = {.kind = OP_RESHAPE,
	                            .operand_n = 1,
	                            .operand = &value[1],
	                            .result_n = 1,
	                            .stated = t[LOGS]->type,
	                            .at = at};
	if (value_domain(s->m, value[1])->rank !=
	    ir_domain(s->m, s->m->type.at[t[LOGS]->type].domain)->rank + 1)
		nv_refuse(r, E_RESULT_TYPE_OTHER, from,
		          "log_sumexp has the axes of the attention without the last one");
	infer_check(s->m, s->d, &draft);
	nv_append_result(r, t[LOGS], bound[LOGS], OP_RESHAPE, value[1], at);
	nv_append_result(r, t[SEED], bound[SEED], OP_FULL, 0, at);
	nv_append_result(r, t[OFFSET], bound[OFFSET], OP_FULL, 0, at);
}

/* Returns log_sumexp with one more axis, as sdpa_backward takes it; 0 after reporting. */
static value_id add_axis(struct nv_reader *r, value_id from, uint32_t at)
{
	struct module *m = r->s->m;
	const struct domain *d = value_domain(m, from);
	unsigned n = d->rank;
	expr_id *shape = arena_new_array(m->arena, expr_id, n + 1);
	for (unsigned i = 0; i < n; i++)
		shape[i] = d->axis[i].extent;
	shape[n] = expr_const(m, 1);
	struct attr a = {
	    .key = names_intern_z(m->names, "shape"), .kind = ATTR_EXPRS, .n = n + 1, .u.exprs = shape};
	const struct infer_draft draft = {.kind = OP_RESHAPE,
	                                  .operand_n = 1,
	                                  .operand = &from,
	                                  .attrs = ir_attrs_with(m, 0, &a),
	                                  .result_n = 1,
	                                  .at = at};
	type_id type = infer_type(m, r->s->d, &draft);
	if (!type)
		return 0;
	value_id v = ir_value_new(m, type, 0, at);
	m->value.at[v].flags |= VALUE_OPEN;
	struct ir_use use[] = {{ROLE_DEF, v}, {ROLE_READ, from}};
	op_id op = ir_op_new(m, OP_RESHAPE, at, use, 2);
	nv_append(r, op);
	nv_op(r, op)->attrs = draft.attrs;
	return v;
}

/* Counts log_sumexp, and adds the mask that add_keys appended to a call, if any. Returns false after reporting. */
static bool read_mask(struct nv_reader *r, ast_id call, value_id *operand, unsigned *n)
{
	ast_id mask = ast_at(r->s->a, call)->first;
	struct ir_use use;
	*n += 1;
	if (!mask || nv_is(r, mask, AST_KEY))
		return true;
	if (!sema_operand(r->s, mask, &use) || use.role != ROLE_READ)
		return false;
	operand[(*n)++] = use.id;
	return true;
}

/* Reads the operands of sdpa_bwd. Returns false after reporting. */
static bool read_operands(struct nv_reader *r, ast_id from, ast_id keys, uint32_t at, value_id *operand,
                          unsigned *n)
{
	unsigned count = 0;
	ast_each (r->s->a, child, from)
		count += !nv_is(r, child, AST_KEY);
	if (count != WITHOUT_KEY)
		return nv_refuse(r, E_OPERAND_COUNT, from, "sdpa_bwd has five operands without a name");
	ast_each (r->s->a, child, from)
		if (!nv_is(r, child, AST_KEY) && !(operand[(*n)++] = nv_operand(r, child)))
			return false;
	ast_id logs = nv_need_key(r, from, "logsum_exp");
	return logs && add_keys(r, from, keys) && (operand[*n] = nv_operand(r, logs)) &&
	       (operand[*n] = add_axis(r, operand[*n], at)) && read_mask(r, keys, operand, n);
}

static void read_backward(struct nv_reader *r, ast_id targets, ast_id from)
{
	struct sema *s = r->s;
	struct nv_tensor *t[GRADIENTS] = {0};
	value_id bound[GRADIENTS] = {0}, operand[MOST_OPERANDS] = {0};
	uint32_t at = ast_at(s->a, from)->at;
	ast_id keys = nv_node(r, AST_CALL, from, "sdpa_backward");
	unsigned n = 0;
	bool fits = true;
	for (unsigned k = 0; k < GRADIENTS; k++)
		if (!read_target(r, targets, k, &t[k], &bound[k]))
			return;
	if (!read_operands(r, from, keys, at, operand, &n)) {
		define_all(r, t, GRADIENTS, at);
		return;
	}
	static const char *const no_keys[] = {NULL};
	attrs_id attrs = nv_attrs(r, OP_SDPA_BACKWARD, keys, no_keys);
	struct ir_use use[GRADIENTS + MOST_OPERANDS];
	for (unsigned k = 0; k < n; k++)
		use[bound[0] ? k : k + GRADIENTS] = (struct ir_use){ROLE_READ, operand[k]};
	for (unsigned k = 0; k < GRADIENTS; k++) {
		const struct infer_draft draft = {.kind = OP_SDPA_BACKWARD,
		                                  .operand_n = n,
		                                  .operand = operand,
		                                  .attrs = attrs,
		                                  .result = k,
		                                  .result_n = GRADIENTS,
		                                  .stated = t[k]->type,
		                                  .at = at};
		if (!bound[k] != !bound[0])
			fits = nv_refuse(r, E_RESULT_FORM, from,
			                 "a statement writes all its results or defines all of them");
		fits = fits && infer_check(s->m, s->d, &draft);
		use[bound[0] ? k + n : k] = bound[k] ? (struct ir_use){ROLE_WRITE, bound[k]}
		                                     : (struct ir_use){ROLE_DEF, nv_define(r, t[k], at)};
	}
	if (!fits)
		return;
	op_id op = ir_op_new(s->m, OP_SDPA_BACKWARD, at, use, GRADIENTS + n);
	nv_append(r, op);
	nv_op(r, op)->attrs = attrs;
}

bool nv_attention(struct nv_reader *r, ast_id targets, ast_id call)
{
	bool is_call = targets && nv_is(r, call, AST_CALL) && !(ast_at(r->s->a, call)->flags & AST_EXTERN);
	if (is_call && !strcmp(ast_text(r->s->a, call), "sdpa_bwd"))
		read_backward(r, targets, call);
	else if (is_call && !strcmp(ast_text(r->s->a, call), "sdpa") && nv_key(r, call, "dropout_p"))
		read_forward(r, targets, call);
	else
		return false;
	return true;
}

/* Marks a tensor as state of random numbers. */
static void mark_state(struct nv_reader *r, ast_id tensor)
{
	struct nv_tensor *t =
	    nv_is(r, tensor, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, tensor)->name) : NULL;
	if (t)
		t->random_state = true;
}

void nv_attention_collect(struct nv_reader *r, ast_id targets, ast_id call)
{
	if (!nv_is(r, call, AST_CALL) || strncmp(ast_text(r->s->a, call), "sdpa", 4) != 0)
		return;
	mark_state(r, ast_child(r->s->a, targets, SEED));
	mark_state(r, ast_child(r->s->a, targets, OFFSET));
	mark_state(r, nv_key(r, call, "philox_seed"));
	mark_state(r, nv_key(r, call, "philox_offset"));
}
