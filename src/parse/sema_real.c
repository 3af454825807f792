/* sema_real: reads the scalars of a listing that integers cannot stand for.
 *
 *     d4 = reciprocal(d3);                 with -D d3=0.25 the number 4.0
 *     d5 = double(2) * d4;                 8.0
 *     i6 = (int64_t)(d5);                  8
 *     T1… = T0… * d4;                      T0… * 4.0
 *
 * They are computed in f64, as C does, where the listing is read. If a param has no value, the scalar is a param itself,
 * called by its formula: reciprocal(d3). Other scalars are index expressions, see sema_expr.c. */
#include "parse/nvfuser.h"
#include "parse/sema_call.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPERANDS = 3, MOST_FORMULA = 4096 };

enum outcome {
	KNOWN,
	OPEN,  /* a param has no value */
	FAILED /* it is reported */
};

/* Returns true for d3 and f3: nvFuser's names of doubles and floats. */
static bool is_float_word(const struct sema *s, name_id name)
{
	return sema_numbered(s, name, 'd') >= 0 || sema_numbered(s, name, 'f') >= 0;
}

static bool is_float_name(const struct sema *s, ast_id e)
{
	return is_float_word(s, sema_name(s, e));
}

static bool is_operator(const struct sema *s, ast_id e, const char *const *list)
{
	while (*list && strcmp(*list, ast_text(s->a, e)))
		list++;
	return *list != NULL;
}

static unsigned count_operands(const struct sema *s, ast_id call)
{
	unsigned n = 0;
	ast_each (s->a, x, call)
		n += ast_at(s->a, x)->kind == AST_KEY ? MOST_OPERANDS + 1u : 1u;
	return n;
}

/* Finds the function of floats that a call is. Returns false if it is none. */
static bool find_function(const struct sema *s, ast_id call, enum pointwise *out)
{
	const char *name = ast_text(s->a, call);
	unsigned n = count_operands(s, call);
	enum op_kind kind = nv_function(name, n);
	kind = kind == OP_NONE ? op_by_hir(name) : kind;
	return op_pointwise(kind, out) && (unsigned)pointwise_operands(*out) == n &&
	       pointwise_class(*out) != CLASS_INTEGER;
}

/* Returns true if an expression has the type double or float in C. */
static bool is_float(const struct sema *s, ast_id e)
{
	static const char *const conditions[] = {"==", "!=", "<", "<=", ">", ">=", "and", "or", "not", NULL};
	const struct ast_node *n = ast_at(s->a, e);
	enum pointwise function;
	double number;
	bool some = false;
	switch (n->kind) {
	case AST_FLOAT:
		return true;
	case AST_NAME:
		return is_float_name(s, e) || sema_find_number(s, e, &number);
	case AST_CALL:
		if (sema_conversion(ast_text(s->a, e)) != CONVERSION_NONE)
			return sema_conversion(ast_text(s->a, e)) == CONVERSION_FLOAT;
		if (find_function(s, e, &function) && (pointwise_class(function) == CLASS_COMPARE ||
		                                       pointwise_class(function) == CLASS_LOGICAL))
			return false;
		some = !strcmp(ast_text(s->a, e), "reciprocal") ||
		       (find_function(s, e, &function) && pointwise_class(function) == CLASS_REAL);
		break;
	case AST_UNARY:
	case AST_BINARY:
		if (is_operator(s, e, conditions))
			return false;
		break;
	case AST_PAREN:
		break;
	default:
		return false;
	}
	ast_each (s->a, child, e)
		some |= is_float(s, child);
	return some;
}

static bool is_formula(const struct sema *s, const struct expr *x)
{
	return x->kind == EXPR_PARAM && s->m->param.at[x->k].name &&
	       strchr(names_text(s->m->names, s->m->param.at[x->k].name), '(');
}

/* Returns true if an expression has a param without a value that need not be an integer. */
static bool has_open_float(const struct sema *s, expr_id e)
{
	const struct expr *x = &s->m->expr.at[e];
	if (x->kind == EXPR_PARAM && !s->m->param.at[x->k].has_value) {
		name_id name = s->m->param.at[x->k].name;
		return is_formula(s, x) || (name && is_float_word(s, name));
	}
	return (x->a && has_open_float(s, x->a)) || (x->b && has_open_float(s, x->b));
}

/* Returns true if numbers with a point may be needed for an operand. */
static bool may_be_fraction(const struct sema *s, ast_id e)
{
	if (ast_at(s->a, e)->kind == AST_NAME) {
		const struct scope_entry *x = sema_find_scalar(s, sema_name(s, e));
		if (x && x->kind == SCOPE_LET)
			return has_open_float(s, x->id);
		if (x && x->kind == SCOPE_PARAM)
			return is_float_name(s, e) && !s->m->param.at[x->id].has_value;
		return !x && is_float_name(s, e) && !sema_find_define(s, ast_text(s->a, e));
	}
	ast_each (s->a, child, e)
		if (may_be_fraction(s, child))
			return true;
	return false;
}

/* Returns true if a name stands for a formula. */
static bool is_formula_name(const struct sema *s, ast_id e)
{
	const struct scope_entry *x = sema_find_scalar(s, sema_name(s, e));
	return x && x->kind == SCOPE_LET && is_formula(s, &s->m->expr.at[x->id]);
}

bool sema_is_real(const struct sema *s, ast_id e)
{
	static const char *const bits[] = {"&", "|", "^", "~", "<<", ">>", NULL};
	const struct ast_node *n = ast_at(s->a, e);
	enum pointwise function;
	double number;
	bool some = false;
	switch (n->kind) {
	case AST_FLOAT:
		return n->value.f != floor(n->value.f) || !(fabs(n->value.f) < 0x1p53);
	case AST_NAME:
		return sema_find_number(s, e, &number) || is_formula_name(s, e);
	case AST_CALL:
		if (op_by_hir(ast_text(s->a, e)) != OP_NONE && !find_function(s, e, &function))
			return false; /* an operation on tensors */
		some = sema_conversion(ast_text(s->a, e)) == CONVERSION_BOOL ||
		       (sema_conversion(ast_text(s->a, e)) == CONVERSION_INTEGER && may_be_fraction(s, e)) ||
		       (sema_conversion(ast_text(s->a, e)) == CONVERSION_NONE &&
		        !sema_is_index_function(ast_text(s->a, e)));
		break;
	case AST_BINARY:
		some = is_operator(s, e, bits) ||
		       (is_operator(s, e, (const char *const[]){"/", NULL}) && is_float(s, e));
		break;
	case AST_UNARY:
		some = is_operator(s, e, bits);
		break;
	case AST_PAREN:
		break;
	default:
		return false;
	}
	ast_each (s->a, child, e)
		some = some || sema_is_real(s, child);
	return some;
}

/* ---- values */

static enum outcome evaluate(struct sema *s, ast_id e, double *out);

static enum outcome refuse(struct sema *s, ast_id e, enum diagnostic code, const char *message)
{
	const struct ast_node *n = ast_at(s->a, e);
	diag_error_span(s->d, code, n->at, n->end - n->at, "%s", message);
	return FAILED;
}

/* Computes an index expression. */
static enum outcome evaluate_integer(struct sema *s, ast_id e, double *out)
{
	const struct expr_env env = {.rank = -1, .streams = INT32_MAX};
	expr_id x = sema_expr(s, e);
	int64_t k;
	if (!x)
		return FAILED;
	switch (expr_eval(s->m, x, &env, &k, NULL)) {
	case EXPR_OK:
		*out = (double)k;
		return KNOWN;
	case EXPR_UNDEFINED_PARAM:
		return OPEN;
	case EXPR_UNKNOWN:
		return refuse(s, e, E_NOT_INTEGER,
		              "a scalar that depends on the rank or a loop is computed in integers");
	default:
		return refuse(s, e, E_OVERFLOW, "the value does not fit in 64 bits");
	}
}

static int64_t to_integer(double x)
{
	return isnan(x) ? 0 : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

static double apply_bits(char sign, int64_t a, int64_t b)
{
	const bool inside = b >= 0 && b < 64;
	switch (sign) {
	case '&':
		return (double)(a & b);
	case '|':
		return (double)(a | b);
	case '^':
		return (double)(a ^ b);
	case '<':
		return inside ? (double)(int64_t)((uint64_t)a << b) : 0;
	default:
		return (double)(a >> (inside ? b : 63));
	}
}

/* Computes an operator as C does: of integers, / rounds towards zero. */
static enum outcome apply_operator(struct sema *s, ast_id e, double a, double b, double *out)
{
	const char *sign = ast_text(s->a, e);
	const bool floats = is_float(s, e);
	if ((*sign == '/' || *sign == '%') && b == 0 && !floats)
		return refuse(s, e, E_DIVISION_BY_ZERO, "division by zero");
	if (!strcmp(sign, "and") || !strcmp(sign, "or"))
		*out = *sign == 'a' ? a && b : a || b;
	else if (sign[1] == '=' || (strchr("<>", *sign) && !sign[1]))
		*out = *sign == '='   ? a == b
		       : *sign == '!' ? a != b
		       : *sign == '<' ? (sign[1] ? a <= b : a < b)
		       : sign[1]      ? a >= b
		                      : a > b;
	else if (*sign == '/')
		*out = floats ? a / b : trunc(a / b);
	else if (strchr("+-*%", *sign))
		*out = *sign == '+' ? a + b : *sign == '-' ? a - b : *sign == '*' ? a * b : fmod(a, b);
	else
		*out = apply_bits(*sign, to_integer(a), to_integer(b));
	return KNOWN;
}

static double apply_function(enum pointwise function, const double *x)
{
	switch (function) {
	case POINTWISE_WHERE:
		return x[0] != 0 ? x[1] : x[2];
	case POINTWISE_AND:
		return x[0] != 0 && x[1] != 0;
	case POINTWISE_OR:
		return x[0] != 0 || x[1] != 0;
	case POINTWISE_NOT:
		return x[0] == 0;
	default:
		return pointwise_value(function, x);
	}
}

/* Computes a function that is none of ops.def. Returns false if it is another one. */
static bool apply_other(const char *name, unsigned n, const double *x, double *out)
{
	if (n == 2 && (!strcmp(name, "ceilDiv") || !strcmp(name, "floorDiv")))
		*out = *name == 'c' ? ceil(x[0] / x[1]) : floor(x[0] / x[1]);
	else if (n == 1 && !strcmp(name, "reciprocal"))
		*out = 1 / *x;
	else if (n == 1 && !strcmp(name, "frac"))
		*out = *x - trunc(*x);
	else if (n == 3 && !strcmp(name, "clamp"))
		*out = fmin(fmax(x[0], x[1]), x[2]);
	else if (n == 3 && !strcmp(name, "threshold"))
		*out = x[0] <= x[1] ? x[2] : x[0];
	else if (n == 3 && !strcmp(name, "lerp"))
		*out = x[0] + x[2] * (x[1] - x[0]);
	else if (n == 3 && !strcmp(name, "fma"))
		*out = fma(x[0], x[1], x[2]);
	else
		return false;
	return true;
}

static enum outcome apply_call(struct sema *s, ast_id e, const double *x, double *out)
{
	const char *name = ast_text(s->a, e);
	enum pointwise function;
	switch (sema_conversion(name)) {
	case CONVERSION_FLOAT:
		*out = strstr(name, "float") ? (double)(float)*x : *x;
		return KNOWN;
	case CONVERSION_INTEGER:
		*out = (double)to_integer(*x);
		return KNOWN;
	case CONVERSION_BOOL:
		*out = *x != 0;
		return KNOWN;
	default:
		break;
	}
	if (find_function(s, e, &function))
		*out = apply_function(function, x);
	else if (!apply_other(name, count_operands(s, e), x, out)) {
		diag_error_span(s->d, E_FUNCTION_UNKNOWN, ast_at(s->a, e)->at, (uint32_t)strlen(name),
		                "unknown function '%s' of numbers", name);
		return FAILED;
	}
	return KNOWN;
}

/* Computes a call or operator of one to three operands. */
static enum outcome evaluate_operation(struct sema *s, ast_id e, double *out)
{
	double x[MOST_OPERANDS] = {0};
	unsigned n = 0;
	enum outcome all = KNOWN;
	if (count_operands(s, e) - 1 >= MOST_OPERANDS)
		return refuse(s, e, E_FUNCTION_ARGUMENTS, "a function of numbers takes one to three numbers");
	ast_each (s->a, child, e) {
		enum outcome one = evaluate(s, child, &x[n++]);
		all = one > all ? one : all;
	}
	if (all != KNOWN)
		return all;
	if (ast_at(s->a, e)->kind == AST_BINARY)
		return apply_operator(s, e, x[0], x[1], out);
	if (ast_at(s->a, e)->kind == AST_CALL)
		return apply_call(s, e, x, out);
	const char sign = *ast_text(s->a, e);
	*out = sign == '-' ? -*x : sign == '~' ? (double)~to_integer(*x) : *x == 0;
	return KNOWN;
}

static enum outcome evaluate(struct sema *s, ast_id e, double *out)
{
	e = call_strip(s, e);
	const struct ast_node *n = ast_at(s->a, e);
	if (n->kind == AST_FLOAT) {
		*out = n->value.f;
		return KNOWN;
	}
	if (n->kind == AST_NAME && sema_find_number(s, e, out))
		return KNOWN;
	if (n->kind == AST_NAME)
		return evaluate_integer(s, e, out);
	return sema_is_real(s, e) ? evaluate_operation(s, e, out) : evaluate_integer(s, e, out);
}

/* ---- scalars without a value */

static void put_formula(const struct sema *s, ast_id e, struct buf *out)
{
	const struct ast_node *n = ast_at(s->a, e);
	const struct scope_entry *x = n->kind == AST_NAME ? sema_find_scalar(s, sema_name(s, e)) : NULL;
	const bool rounds = n->kind == AST_BINARY && *ast_text(s->a, e) == '/' && !is_float(s, e);
	double number;
	unsigned k = 0;
	if (out->n > MOST_FORMULA)
		return;
	if (n->kind == AST_FLOAT)
		buf_printf(out, "%.17g", n->value.f);
	else if (n->kind == AST_INT)
		buf_puti(out, n->value.i);
	else if (n->kind == AST_NAME && sema_find_number(s, e, &number))
		buf_printf(out, "%.17g", number);
	else if (x && x->kind == SCOPE_LET)
		expr_print_hir(s->m, x->id, out);
	else
		buf_puts(out, n->kind == AST_BINARY || n->kind == AST_PAREN ? "" : ast_text(s->a, e));
	bool operands =
	    n->kind == AST_BINARY || n->kind == AST_PAREN || n->kind == AST_UNARY || n->kind == AST_CALL;
	if (!operands)
		return;
	buf_putc(out, '(');
	ast_each (s->a, child, e) {
		if (k++)
			buf_printf(out, n->kind == AST_BINARY ? " %s%s " : ", ", ast_text(s->a, e),
			           rounds ? "/" : "");
		put_formula(s, child, out);
	}
	buf_putc(out, ')');
}

/* Returns the param that stands for an expression; 0 after reporting. */
static expr_id formula_param(struct sema *s, ast_id e)
{
	struct buf text = {0};
	if (ast_at(s->a, e)->kind == AST_NAME)
		return sema_expr(s, e);
	put_formula(s, e, &text);
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) /* names of params inside it may be in backquotes */
		if (text.at[i] != '`')
			text.at[n++] = text.at[i];
	name_id name = names_intern(s->m->names, text.at, n);
	bool fits = text.n <= MOST_FORMULA;
	buf_free(&text);
	if (!fits)
		refuse(s, e, E_EXPRESSION_TOO_LARGE, "the formula is too large: -D gives its params values");
	const struct scope_entry *known = sema_find_scalar(s, name);
	if (fits && known && known->kind == SCOPE_PARAM)
		return expr_param(s->m, known->id);
	return fits ? sema_foreign_scalar(s, name, ast_at(s->a, e)->at) : 0;
}

bool sema_real(struct sema *s, ast_id e, enum scope_kind *kind, uint32_t *id)
{
	double number;
	enum outcome outcome = evaluate(s, e, &number);
	if (outcome == FAILED)
		return false;
	*kind = SCOPE_LET;
	if (outcome == OPEN) {
		*id = formula_param(s, e);
	} else if (is_float(s, e)) {
		*kind = SCOPE_NUMBER;
		*id = ir_scalar_literal(s->m, number);
	} else {
		*id = expr_const(s->m, to_integer(number));
	}
	return *id != 0;
}

double sema_real_value(struct sema *s, ast_id e)
{
	const struct ast_node n = *ast_at(s->a, e);
	enum scope_kind kind;
	uint32_t id;
	int64_t k;
	if (!sema_real(s, e, &kind, &id))
		return 0;
	if (kind == SCOPE_NUMBER)
		return s->m->scalar.at[id].literal;
	if (expr_is_const(s->m, id, &k))
		return (double)k;
	diag_error_span(s->d, E_NOT_CONSTANT, n.at, n.end - n.at, "a number is needed here");
	diag_note(s->d, DIAG_NOWHERE, "-D gives the params of the scalar values");
	return 0;
}
