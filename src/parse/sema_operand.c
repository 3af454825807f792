/* sema_operand: reads operands: tensors, scalars, nested operations. Numbers with a point: sema_number.c. */
#include "parse/other_names.h"
#include "parse/sema_call.h"
#include <stdio.h>
#include <string.h>

enum op_kind call_find_op(struct sema *s, name_id name)
{
	enum { UNKNOWN = 0 }; /* or kind + 1: each name is looked up once */
	while (s->op_of.n <= name)
		vec_push(&s->op_of, UNKNOWN);
	if (s->op_of.at[name] == UNKNOWN) {
		const char *text = names_text(s->m->names, name);
		enum op_kind k = op_by_hir(text);
		if (k == OP_NONE && s->a->surface == SURFACE_NVFUSER)
			k = op_by_nvfuser(text);
		s->op_of.at[name] = (uint16_t)(k + 1);
	}
	return (enum op_kind)(s->op_of.at[name] - 1);
}

void call_unknown_op(struct sema *s, ast_id node)
{
	const char *name = ast_text(s->a, node);
	struct suggest g = suggest_start(name);
	diag_error_span(s->d, E_OPERATION_UNKNOWN, ast_at(s->a, node)->at, (uint32_t)strlen(name),
	                "unknown operation '%s'", name);
	if (other_name_note(s->d, OTHER_OPERATION, name))
		return;
	for (unsigned k = 1; k < OP_KIND_COUNT; k++)
		if (op_info[k].form != FORM_CONTROL)
			suggest_try(&g,
			            s->a->surface == SURFACE_NVFUSER ? op_info[k].nvfuser : op_info[k].hir);
	if (s->is_listing && !(g.best && g.distance <= 1)) /* nvFuser makes no spelling mistakes */
		diag_note(s->d, DIAG_NOWHERE,
		          "hirc has no such operation: `extern \"%s\"(T0…)` can be scheduled, "
		          "but not run",
		          name);
	else
		diag_suggest(s->d, &g);
}

ast_id call_strip(const struct sema *s, ast_id e)
{
	while (e && ast_at(s->a, e)->kind == AST_PAREN)
		e = ast_at(s->a, e)->first;
	return e;
}

/* Returns true if an expression has a tensor in it. */
static bool has_tensor_inside(const struct sema *s, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	if (n->kind == AST_TENSOR || (n->kind == AST_NAME && sema_find_tensor(s, sema_name(s, e))))
		return true;
	ast_each (s->a, child, e)
		if (has_tensor_inside(s, child))
			return true;
	return false;
}

/* Returns true if an expression of a listing has a scalar without a value in it: ( d6 + double(1) ). */
static bool is_open(const struct sema *s, ast_id e)
{
	double number;
	if (ast_at(s->a, e)->kind == AST_NAME)
		return s->is_listing && !sema_find_number(s, e, &number);
	ast_each (s->a, child, e)
		if (is_open(s, child))
			return true;
	return false;
}

bool sema_operand(struct sema *s, ast_id e, struct ir_use *out)
{
	ast_id inner = call_strip(s, e);
	const struct ast_node *n = ast_at(s->a, inner);
	double v;
	if (n->kind == AST_NAME || n->kind == AST_TENSOR) {
		name_id name = sema_name(s, inner);
		value_id t = sema_find_tensor(s, name);
		if (t) {
			*out = (struct ir_use){ROLE_READ, t};
			return sema_is_visible(s, t, name, n->at);
		}
		if (n->kind == AST_TENSOR) {
			diag_error(s->d, E_USED_BEFORE, n->at, "%s is used before it is defined",
			           ast_text(s->a, inner));
			return false;
		}
		if (!sema_find_scalar(s, name) && s->a->surface == SURFACE_HIR && !sema_is_number(s, inner) &&
		    strcmp(ast_text(s->a, inner), "rank") && strcmp(ast_text(s->a, inner), "streams")) {
			sema_unknown_tensor(s, name, n->at);
			return false;
		}
	}
	if (s->is_listing && !has_tensor_inside(s, inner) && sema_is_real(s, inner)) {
		enum scope_kind kind;
		uint32_t id;
		if (!sema_real(s, inner, &kind, &id))
			return false;
		*out = (struct ir_use){ROLE_SCALAR, kind == SCOPE_NUMBER ? id : ir_scalar_expr(s->m, id)};
		return true;
	}
	if (!is_open(s, inner) && call_literal(s, inner, &v)) {
		*out = (struct ir_use){ROLE_SCALAR, ir_scalar_literal(s->m, v)};
		return true;
	}
	if (n->kind == AST_CALL &&
	    (n->flags & AST_EXTERN || call_find_op(s, sema_name(s, inner)) != OP_NONE) &&
	    sema_has_tensor(s, inner)) {
		value_id temporary = 0;
		if (!sema_call(s, inner, &(struct sema_result){.at = n->at}, 1, 0, n->at, &temporary))
			return false;
		*out = (struct ir_use){ROLE_READ, temporary};
		return true;
	}
	if ((n->kind == AST_BINARY || n->kind == AST_UNARY) && sema_has_tensor(s, inner)) {
		value_id temporary = 0;
		if (!sema_call(s, inner, &(struct sema_result){.at = n->at}, 1, 0, n->at, &temporary))
			return false;
		*out = (struct ir_use){ROLE_READ, temporary};
		return true;
	}
	expr_id x = sema_expr(s, inner);
	if (!x && n->kind == AST_BINARY && !strcmp(ast_text(s->a, inner), "/") &&
	    ast_at(s->a, n->first)->kind == AST_INT)
		diag_note(s->d, DIAG_NOWHERE, "a number with a point is divided as a float: `%lld.0 / …`",
		          (long long)ast_at(s->a, n->first)->value.i);
	*out = (struct ir_use){ROLE_SCALAR, x ? ir_scalar_expr(s->m, x) : 0};
	return x != 0;
}

bool call_push_read(struct sema *s, struct call *c, struct ir_use use, ast_id at)
{
	if (c->read_n == IR_MAX_OPERANDS) {
		diag_error(s->d, E_STATEMENT_LIMIT, ast_at(s->a, at)->at,
		           "an operation has at most %d operands", IR_MAX_OPERANDS);
		return false;
	}
	if (c->read_n >= FEW_USES && !(c->read_n & (c->read_n - 1))) { /* a power of two: full */
		struct ir_use *more = arena_new_array(s->m->arena, struct ir_use, 2 * c->read_n);
		memcpy(more, c->read, sizeof *more * c->read_n);
		c->read = more;
	}
	c->read[c->read_n++] = use;
	return true;
}

bool call_push_scalar(struct sema *s, struct call *c, ast_id e)
{
	expr_id x = e ? sema_expr(s, e) : 0;
	return x && call_push_read(s, c, (struct ir_use){ROLE_SCALAR, ir_scalar_expr(s->m, x)}, e);
}
