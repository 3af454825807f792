/* sema_number: reads numbers with a point, and arithmetic on numbers with one, as one number.
 *
 *     X * (2.0 / 1024)            X * 0.001953125
 *     where(C, X, -inf)           inf and nan are numbers, unless the program calls another thing so */
#include "parse/sema_call.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum number_kind { NUMBER_NONE, NUMBER_INTEGER, NUMBER_POINT };

bool sema_number_word(const char *text, double *out)
{
	bool inf = !strcmp(text, "inf"), nan = !strcmp(text, "nan");
	if (inf || nan)
		*out = inf ? INFINITY : NAN;
	return inf || nan;
}

bool sema_define_number(const struct sema_define *define, double *out)
{
	char *end;
	double number = strtod(define->text, &end);
	if (*end || !strpbrk(define->text, ".eEnN") || define->text[1] == 'x')
		return false;
	*out = number;
	return true;
}

bool sema_find_number(const struct sema *s, ast_id e, double *out)
{
	name_id name = sema_name(s, e);
	const char *text = names_text(s->m->names, name);
	const struct scope_entry *x = sema_find_scalar(s, name);
	if (x && x->kind == SCOPE_NUMBER)
		*out = s->m->scalar.at[x->id].literal;
	if (x || sema_find_tensor(s, name))
		return x && x->kind == SCOPE_NUMBER;
	struct sema_define *define = s->is_listing ? sema_find_define(s, text) : NULL;
	return define ? sema_define_number(define, out) : sema_number_word(text, out);
}

/* Tells integers, floats and tensors apart. Arithmetic on numbers is a float if one of them has a point. */
static enum number_kind number_kind(const struct sema *s, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	const char *sign = n->kind == AST_BINARY || n->kind == AST_UNARY ? ast_text(s->a, e) : "+";
	enum number_kind kind = NUMBER_INTEGER;
	double number;
	switch (n->kind) {
	case AST_FLOAT:
		return NUMBER_POINT;
	case AST_INT:
		return NUMBER_INTEGER;
	case AST_PAREN:
	case AST_UNARY:
	case AST_BINARY:
		if (sign[1] || !strchr("+-*/", *sign))
			break;
		ast_each (s->a, child, e) {
			enum number_kind k = number_kind(s, child);
			if (k == NUMBER_NONE)
				return k;
			kind = k == NUMBER_POINT ? k : kind;
		}
		return kind;
	case AST_NAME:
		if (sema_find_number(s, e, &number))
			return NUMBER_POINT;
		break;
	case AST_CALL:
		break;
	default:
		return NUMBER_NONE;
	}
	return sema_has_tensor(s, e) ? NUMBER_NONE : NUMBER_INTEGER;
}

bool sema_is_number(const struct sema *s, ast_id e)
{
	return number_kind(s, e) == NUMBER_POINT;
}

/* Returns the value of a number with a point, or of an integer in one; 0 after an error. */
static double fold(struct sema *s, ast_id e)
{
	e = call_strip(s, e);
	const struct ast_node *n = ast_at(s->a, e);
	double number;
	if (n->kind == AST_FLOAT)
		return n->value.f;
	if (n->kind == AST_NAME && sema_find_number(s, e, &number))
		return number;
	if (!sema_is_number(s, e)) {
		int64_t k;
		return sema_const(s, e, &k) ? (double)k : 0;
	}
	unsigned before = diag_error_count(s->d);
	double a = fold(s, n->first);
	if (n->kind == AST_UNARY)
		return -a;
	double b = diag_error_count(s->d) == before ? fold(s, ast_at(s->a, n->first)->next) : 0;
	if (diag_error_count(s->d) > before)
		return 0;
	char sign = *ast_text(s->a, e);
	if (sign == '/' && b == 0) {
		diag_error_span(s->d, E_DIVISION_BY_ZERO, n->at, n->end - n->at, "division by zero");
		return 0;
	}
	double x = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
	if (isfinite(x) || !isfinite(a) || !isfinite(b))
		return x;
	diag_error_span(s->d, E_OVERFLOW, n->at, n->end - n->at, "the value does not fit in f64");
	return 0;
}

void sema_note_float(struct sema *s, ast_id value)
{
	if (value && sema_is_number(s, value))
		diag_note(
		    s->d, DIAG_NOWHERE,
		    "names stand for integers; a number with a point is written where an operation uses "
		    "it, as in `X * (1.0 / 8)`");
}

bool call_literal(struct sema *s, ast_id e, double *out)
{
	if (!sema_is_number(s, e))
		return false;
	*out = fold(s, e);
	return true;
}
