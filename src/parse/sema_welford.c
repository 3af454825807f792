/* sema_welford: reads the mean and the squares that nvFuser computes together.
 *
 *     T1_g_float[iS2{4}, rS3{6}](Avg),              T1 = mean(T0, axis=1)
 *     T2_g_float[iS4{4}, rS5{6}](Var),              T2 = sum((T0 - mean(T0, axis=1, keepdims=true))^2, axis=1)
 *     T3_g_int64_t[iS6{4}, rS7{6}](Count)           T3 = full(6)
 *      = Welford ( T0_g_float[iS0{4}, iS1{6}](Avg), allreduce = false )
 *
 * Var is the sum of squares, not yet divided by the count. The lexer drops the words in parentheses. */
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

enum { AVERAGE, SQUARES, COUNT, RESULTS };

/* Returns the axes that a result prints with r, as axis= takes them. */
static ast_id reduced_axes(struct nv_reader *r, ast_id like, const uint8_t *axis, unsigned n)
{
	if (n == 1)
		return nv_node_int(r, like, axis[0]);
	ast_id list = nv_node(r, AST_TUPLE, like, NULL);
	for (unsigned i = 0; i < n; i++)
		nv_node_append(r, list, nv_node_int(r, like, axis[i]));
	return list;
}

static ast_id add_call(struct nv_reader *r, const char *name, ast_id operand, const uint8_t *axis, unsigned n)
{
	ast_id call = nv_node(r, AST_CALL, operand, name);
	nv_node_append(r, call, operand);
	nv_node_key(r, call, "axis", reduced_axes(r, operand, axis, n));
	return call;
}

/* Makes T0 - mean(T0, axis=…, keepdims=true). */
static ast_id add_difference(struct nv_reader *r, ast_id operand, const uint8_t *axis, unsigned n)
{
	ast_id mean = add_call(r, "mean", nv_node_copy(r, operand), axis, n),
	       minus = nv_node(r, AST_BINARY, operand, "-");
	nv_node_key(r, mean, "keepdims", nv_node(r, AST_NAME, operand, "true"));
	nv_node_append(r, minus, nv_node_copy(r, operand));
	nv_node_append(r, minus, mean);
	return minus;
}

/* Appends the statement of a result. Returns false after reporting. */
static bool add_statement(struct nv_reader *r, ast_id call, struct nv_tensor *t, value_id bound, uint32_t at)
{
	struct sema_result x = {.type = t->open ? 0 : t->type, .bound = bound, .at = at};
	value_id value;
	if (!sema_call(r->s, call, &x, 1, 0, at, &value))
		return false;
	if (!bound)
		nv_settle(r, t, value);
	return true;
}

bool nv_welford(struct nv_reader *r, ast_id targets, ast_id call)
{
	struct sema *s = r->s;
	struct nv_tensor *t[RESULTS] = {0};
	value_id bound[RESULTS], from;
	struct printed_tensor p;
	uint8_t axis[IR_MAX_AXES];
	if (!targets || !nv_is(r, call, AST_CALL) || strcmp(ast_text(s->a, call), "Welford") != 0)
		return false;
	uint32_t at = ast_at(s->a, call)->at;
	ast_id operand = ast_at(s->a, call)->first, all = nv_key(r, call, "allreduce"),
	       second = operand ? ast_at(s->a, operand)->next : 0;
	for (unsigned k = 0; k < RESULTS; k++) {
		ast_id target = ast_child(s->a, targets, k);
		if (!target || !nv_result(r, target, &t[k], &bound[k])) {
			if (!target)
				nv_refuse(r, E_RESULT_COUNT, call, "Welford has three results");
			return true;
		}
	}
	bool fits = nv_is(r, operand, AST_TENSOR) && (!second || nv_is(r, second, AST_KEY)) &&
	            !nv_key(r, call, "initial_value") && (!all || nv_is_name(r, all, "false"));
	if (!fits)
		nv_refuse(
		    r, E_OPERAND_COUNT, call,
		    "Welford is read of one tensor, without an initial value and with allreduce = false");
	fits = fits && (from = nv_operand(r, operand)) &&
	       nv_ids(r, t[AVERAGE], s->m->type.at[t[AVERAGE]->type].mesh, &p);
	if (fits) {
		unsigned n = printed_reduced(s->m, &p, axis);
		expr_id count = expr_const(s->m, 1);
		for (unsigned i = 0; i < n && count; i++)
			count = expr_mul(s->m, count, value_domain(s->m, from)->axis[axis[i]].extent);
		ast_id square = nv_node(r, AST_BINARY, operand, "*");
		nv_node_append(r, square, add_difference(r, operand, axis, n));
		nv_node_append(r, square, add_difference(r, operand, axis, n));
		fits = count &&
		       add_statement(r, add_call(r, "mean", nv_node_copy(r, operand), axis, n), t[AVERAGE],
		                     bound[AVERAGE], at) &&
		       add_statement(r, add_call(r, "sum", square, axis, n), t[SQUARES], bound[SQUARES], at);
		if (fits) {
			struct ir_use number = {ROLE_SCALAR, ir_scalar_expr(s->m, count)},
			              define[] = {{ROLE_DEF, 0}, number},
			              write[] = {number, {ROLE_WRITE, bound[COUNT]}};
			if (!bound[COUNT])
				define[0].id = nv_define(r, t[COUNT], at);
			nv_append(r, ir_op_new(s->m, OP_FULL, at, bound[COUNT] ? write : define, 2));
		}
	}
	for (unsigned k = 0; k < RESULTS && !fits; k++) /* so that uses of the results are not errors, too */
		if (!t[k]->value)
			nv_define(r, t[k], at);
	return true;
}
