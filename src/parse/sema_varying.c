/* sema_varying: reads the floats of a listing that differ by iteration or rank as tensors without axes.
 *
 *     FOR i5 from 0 to 4:                     for i5 in 0..4 {
 *       d6 = (double)(i5);                      d6: f64[] = full(i5)
 *       d7 = d6 * double(0.5);          →       d7: f64[] = d6 * 0.5
 *       T1… = T0… * d7;                         x: f32[] = cast(d7)
 *                                               T1 = T0 * x
 *
 * They are doubles. Where one meets a tensor of floats, it is rounded to the tensor's dtype, as nvFuser does. Other floats
 * are numbers that are known where the listing is read: sema_real.c. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <stdio.h>
#include <string.h>

/* Returns the tensor that a name stands for; 0: another name. */
static value_id find_varying(const struct nv_reader *r, ast_id e)
{
	if (ast_at(r->s->a, e)->kind != AST_NAME)
		return 0;
	for (uint32_t i = r->varying.n; i-- > 0;)
		if (r->varying.at[i].name == ast_at(r->s->a, e)->name)
			return r->varying.at[i].value;
	return 0;
}

/* Returns true if an integer differs by iteration or rank. */
static bool is_varying_integer(struct nv_reader *r, ast_id e)
{
	const struct sema *s = r->s;
	if (nv_is(r, e, AST_NAME)) {
		const struct scope_entry *x = sema_find_scalar(s, ast_at(s->a, e)->name);
		const char *name = ast_text(s->a, e);
		return (x && x->kind == SCOPE_INDEX) || !strcmp(name, "rank") ||
		       !strncmp(name, "deviceIdx.", 10) ||
		       (x && x->kind == SCOPE_LET &&
		        s->m->expr.at[x->id].flags & (EXPR_HAS_INDEX | EXPR_HAS_RANK));
	}
	ast_each (s->a, child, e)
		if (is_varying_integer(r, child))
			return true;
	return false;
}

static bool has_varying(struct nv_reader *r, ast_id e)
{
	if (find_varying(r, e))
		return true;
	ast_each (r->s->a, child, e)
		if (has_varying(r, child))
			return true;
	return false;
}

static void stand_for_name(struct nv_reader *r, name_id name, value_id value)
{
	struct sema *s = r->s;
	while (s->tensor_of.n <= name)
		vec_push(&s->tensor_of, 0);
	s->tensor_of.at[name] = value;
}

static void note_number(struct nv_reader *r, name_id name, value_id value)
{
	vec_push(&r->varying, (struct nv_varying_number){.name = name, .value = value});
	stand_for_name(r, name, value);
}

ast_id nv_node_value(struct nv_reader *r, ast_id like, value_id value)
{
	char text[32];
	snprintf(text, sizeof text, "value %u", value);
	ast_id name = nv_node(r, AST_NAME, like, text);
	stand_for_name(r, ast_at(r->s->a, name)->name, value);
	return name;
}

static type_id number_type(struct nv_reader *r, enum dtype dtype)
{
	struct domain_builder b;
	domain_begin(&b);
	return type_make(r->s->m, dtype, MEMORY_LOCAL, r->s->m->default_mesh, domain_finish(r->s->m, &b));
}

/* Returns true for an integer that varies and is a float by its name or a conversion: d6, (double)(i5). */
static bool is_converted(struct nv_reader *r, ast_id e)
{
	const char *name = ast_text(r->s->a, e);
	if (nv_is(r, e, AST_NAME))
		return (*name == 'd' || *name == 'f') && is_varying_integer(r, e);
	return nv_is(r, e, AST_CALL) && sema_conversion(name) == CONVERSION_FLOAT &&
	       ast_at(r->s->a, e)->first && !has_varying(r, e) &&
	       is_varying_integer(r, ast_at(r->s->a, e)->first);
}

/* Returns true if integers cannot stand for an expression of numbers that varies. */
static bool is_fraction(struct nv_reader *r, ast_id e)
{
	return has_varying(r, e) || (sema_is_real(r->s, e) && is_varying_integer(r, e));
}

/* Puts a name in the place of a number that is a tensor. */
static void name_number(struct nv_reader *r, ast_id e, value_id value)
{
	ast_id name = nv_node_value(r, e, value);
	struct ast_node *n = &r->s->a->nodes.at[e];
	n->kind = AST_NAME;
	n->name = ast_at(r->s->a, name)->name;
	n->first = 0;
	note_number(r, n->name, value);
}

/* Makes the tensor of an integer that is converted. Returns 0 after reporting. */
static value_id add_converted(struct nv_reader *r, ast_id e)
{
	const struct sema_result result = {.type = number_type(r, DTYPE_F64), .at = ast_at(r->s->a, e)->at};
	ast_id call = nv_node(r, AST_CALL, e, "full");
	value_id value;
	nv_node_append(r, call, nv_node_copy(r, nv_is(r, e, AST_NAME) ? e : ast_at(r->s->a, e)->first));
	return sema_call(r->s, call, &result, 1, 0, result.at, &value) ? value : 0;
}

/* Returns true for (int64_t)(d6) and (double)(i7) of numbers that are tensors. */
static bool converts_varying(struct nv_reader *r, ast_id e)
{
	enum conversion to = nv_is(r, e, AST_CALL) ? sema_conversion(ast_text(r->s->a, e)) : CONVERSION_NONE;
	return (to == CONVERSION_FLOAT || to == CONVERSION_INTEGER) && ast_at(r->s->a, e)->first &&
	       has_varying(r, ast_at(r->s->a, e)->first);
}

/* Makes the tensor of a number that is converted from one that varies. Returns 0 after reporting. */
static value_id add_cast(struct nv_reader *r, ast_id e)
{
	bool whole = sema_conversion(ast_text(r->s->a, e)) == CONVERSION_INTEGER;
	const struct sema_result result = {.type = number_type(r, whole ? DTYPE_I64 : DTYPE_F64),
	                                   .at = ast_at(r->s->a, e)->at};
	ast_id call = nv_node(r, AST_CALL, e, "cast");
	value_id value;
	nv_node_append(r, call, nv_node_copy(r, ast_at(r->s->a, e)->first));
	return sema_call(r->s, call, &result, 1, 0, result.at, &value) ? value : 0;
}

/* Returns the dtype of the first tensor of floats in an expression that are no doubles; else DTYPE_F64 if there is a double,
 * tensor or number, and DTYPE_I64 if there is none. */
static enum dtype find_dtype(struct nv_reader *r, ast_id e)
{
	const struct module *m = r->s->m;
	const struct nv_tensor *t =
	    nv_is(r, e, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, e)->name) : NULL;
	value_id number = find_varying(r, e);
	enum dtype found = t        ? (enum dtype)m->type.at[t->type].dtype
	                   : number ? (enum dtype)value_type(m, number)->dtype
	                            : DTYPE_I64;
	if (!dtype_is_float(found))
		found = DTYPE_I64;
	ast_each (r->s->a, child, e) {
		enum dtype dtype =
		    found == DTYPE_I64 || found == DTYPE_F64 ? find_dtype(r, child) : DTYPE_I64;
		found = dtype == DTYPE_I64 ? found : dtype;
	}
	return found;
}

void nv_round_numbers(struct nv_reader *r, ast_id e, enum dtype dtype)
{
	struct module *m = r->s->m;
	value_id v = find_varying(r, e);
	if (v && value_type(m, v)->dtype != dtype) {
		const uint32_t at = ast_at(r->s->a, e)->at;
		value_id rounded = ir_value_new(m, number_type(r, dtype), 0, at);
		nv_append(r, ir_op_new(m, OP_CAST, at,
		                       (const struct ir_use[]){{ROLE_DEF, rounded}, {ROLE_READ, v}}, 2));
		ast_id name = nv_node_value(r, e, rounded);
		r->s->a->nodes.at[e].name = ast_at(r->s->a, name)->name;
	}
	ast_each (r->s->a, child, e)
		nv_round_numbers(r, child, dtype);
}

/* Makes the tensor of an operation on numbers of which one varies. Returns 0 after reporting. */
static value_id add_operation(struct nv_reader *r, ast_id e)
{
	const struct sema_result result = {
	    .type = number_type(r, DTYPE_F64), .any_dtype = true, .at = ast_at(r->s->a, e)->at};
	value_id value;
	if (converts_varying(r, e))
		return add_cast(r, e);
	nv_round_numbers(r, e, find_dtype(r, e));
	return nv_spelling(r, e, NULL) && sema_call(r->s, e, &result, 1, 0, result.at, &value) ? value : 0;
}

/* Puts names in the place of the operands that are tensors. of_numbers: the operation has no tensor that is printed.
 * Returns false after reporting. */
static bool name_operands(struct nv_reader *r, ast_id e, bool of_numbers)
{
	struct ast *a = r->s->a;
	for (ast_id child = ast_at(a, e)->first; child; child = ast_at(a, child)->next) {
		bool converted = is_converted(r, child), tensor = nv_prints_tensor(r, child);
		if (find_varying(r, child) ||
		    (!is_fraction(r, child) && !(converted && of_numbers) && !tensor))
			continue;
		if (!converted && !name_operands(r, child, of_numbers || !tensor))
			return false;
		if (tensor || nv_is(r, child, AST_PAREN))
			continue;
		value_id value = converted ? add_converted(r, child) : add_operation(r, child);
		if (!value)
			return false;
		name_number(r, child, value);
	}
	return true;
}

bool nv_varying(struct nv_reader *r, ast_id target, ast_id expr)
{
	const name_id name = ast_at(r->s->a, target)->name;
	while (nv_is(r, expr, AST_PAREN))
		expr = ast_at(r->s->a, expr)->first;
	if (!is_fraction(r, expr) || is_converted(r, expr) ||
	    (nv_is(r, expr, AST_CALL) && sema_conversion(ast_text(r->s->a, expr)) != CONVERSION_NONE &&
	     !converts_varying(r, expr)))
		return false;
	value_id value = name_operands(r, expr, true) ? add_operation(r, expr) : 0;
	if (value)
		note_number(r, name, value);
	return true;
}

void nv_round_varying(struct nv_reader *r, ast_id expr)
{
	bool random = expr && nv_is(r, expr, AST_CALL) && nv_is_random(ast_text(r->s->a, expr));
	if (expr && name_operands(r, expr, random) && r->varying.n && !random)
		nv_round_numbers(r, expr, find_dtype(r, expr));
}
