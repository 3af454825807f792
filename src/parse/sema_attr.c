/* sema_attr: checks the attributes of operations against their row in ops.def. */
#include "parse/lex.h"
#include "parse/other_names.h"
#include "parse/sema_call.h"
#include "parse/vocabulary.h"
#include <stdio.h>
#include <string.h>

static bool ints_of(struct sema *s, ast_id tuple, struct attr *a)
{
	uint32_t n = 0;
	ast_each (s->a, child, tuple)
		if (n++ == IR_MAX_OPERANDS) {
			diag_error(s->d, E_STATEMENT_LIMIT, ast_at(s->a, child)->at,
			           "a list of numbers has at most %d", IR_MAX_OPERANDS);
			return false;
		}
	int64_t *list = arena_new_array(s->m->arena, int64_t, n + 1);
	a->kind = ATTR_INTS;
	a->u.ints = list;
	ast_each (s->a, child, tuple)
		if (!sema_const(s, child, &list[a->n++]))
			return false;
	return true;
}

static bool exprs_of(struct sema *s, ast_id list, struct attr *a)
{
	expr_id *copy = arena_new_array(s->m->arena, expr_id, IR_MAX_LOGICAL);
	a->kind = ATTR_EXPRS;
	a->u.exprs = copy;
	ast_each (s->a, child, list) {
		bool is_axis = ast_at(s->a, child)->kind == AST_AXIS;
		ast_id extent = is_axis ? ast_at(s->a, child)->first : child;
		if (is_axis && ast_at(s->a, extent)->next) {
			diag_error(s->d, E_PLACEMENT_MISPLACED, ast_at(s->a, child)->at,
			           "a placement stands in the type of the result, not here");
			return false;
		}
		if (a->n == IR_MAX_LOGICAL) {
			diag_error(s->d, E_AXES_LIMIT, ast_at(s->a, child)->at,
			           "a tensor has at most %d axes", IR_MAX_LOGICAL);
			return false;
		}
		if (!(copy[a->n] = sema_extent(s, extent)))
			return false;
		a->n++;
	}
	return true;
}

/* Reads an attribute value. */
bool call_attr_value(struct sema *s, ast_id value, struct attr *a)
{
	const struct ast_node *n = ast_at(s->a, value);
	double v;
	switch (n->kind) {
	case AST_STRING:
		a->kind = ATTR_STRING;
		a->u.name = sema_name(s, value);
		return true;
	case AST_TUPLE:
		return ints_of(s, value, a);
	case AST_LIST:
		return exprs_of(s, value, a);
	case AST_NAME:
		if (!sema_find_scalar(s, sema_name(s, value)) &&
		    !(s->is_listing && sema_find_define(s, ast_text(s->a, value)))) {
			a->kind = ATTR_NAME;
			a->u.name = sema_name(s, value);
			return true;
		}
		break;
	default:
		break;
	}
	const bool is_real = s->is_listing && sema_is_real(s, value);
	if (is_real || call_literal(s, value, &v)) {
		a->kind = ATTR_FLOAT;
		a->u.f = is_real ? sema_real_value(s, value) : v;
		return true;
	}
	expr_id e = sema_expr(s, value);
	if (!e)
		return false;
	if (n->kind == AST_PAREN && expr_is_const(s->m, e, &a->u.i)) /* (0) is a list of one */
		return ints_of(s, value, a);
	a->kind = expr_is_const(s->m, e, &a->u.i) ? ATTR_INT : ATTR_EXPR;
	if (a->kind == ATTR_EXPR)
		a->u.expr = e;
	return true;
}

bool call_may_add_attr(struct sema *s, const struct call *c, const struct attr *a, ast_id node)
{
	if (c->attr_n == MAX_ATTRS) {
		diag_error(s->d, E_STATEMENT_LIMIT, ast_at(s->a, node)->at,
		           "an operation has at most %d attributes", MAX_ATTRS);
		return false;
	}
	for (unsigned i = 0; i < c->attr_n; i++)
		if (c->attr[i].key == a->key) {
			diag_error(s->d, E_ATTRIBUTE_TWICE, ast_at(s->a, node)->at, "%s= is given twice",
			           names_text(s->m->names, a->key));
			return false;
		}
	return true;
}

/* Returns true if a list of words contains a word. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* Returns true if an operation has an attribute or a scalar operand of the name. */
static bool has_key(enum op_kind kind, const char *name)
{
	bool found = has_word(op_info[kind].attributes, name);
	for (unsigned k = 0; k < OP_MAX_SCALARS && op_info[kind].scalar[k]; k++)
		found |= !strcmp(op_info[kind].scalar[k], name);
	return found;
}

/* Returns true if an operation takes an attribute: its row in ops.def lists it. */
static bool takes_attr(struct sema *s, const struct call *c, ast_id key)
{
	const char *known = op_info[c->kind].attributes, *name = ast_text(s->a, key);
	char word[64];
	if (c->kind == OP_NONE || *known == '*' || has_word(known, name))
		return true;
	struct suggest g = suggest_start(name);
	diag_error_span(s->d, E_ATTRIBUTE_UNKNOWN, ast_at(s->a, key)->at, (uint32_t)strlen(name),
	                "%s takes no attribute '%s'", op_info[c->kind].hir, name);
	for (const char *at = known; *at;) {
		size_t n = strcspn(at, " ");
		snprintf(word, sizeof word, "%.*s", (int)n, at);
		suggest_try(&g, names_text(s->m->names, names_intern_z(s->m->names, word)));
		at += n + (at[n] == ' ');
	}
	const char *here = other_name_find(OTHER_KEY, name);
	if (here && lex_is_word(here) && !has_key(c->kind, here))
		other_name_show_form(s->d, c->kind);
	else if (!other_name_note(s->d, OTHER_KEY, name))
		diag_suggest(s->d, &g);
	return false;
}

bool vocabulary_is_switch(const char *attribute)
{
	return has_word("zero_init resets_to_zero keepdims causal by_place segment", attribute);
}

/* Checks an attribute that is a number, also a param with a value. */
static bool check_number(struct sema *s, ast_id key, struct attr *a)
{
	const struct ast_node *n = ast_at(s->a, ast_at(s->a, key)->first);
	int64_t k;
	if (a->kind == ATTR_EXPR &&
	    expr_eval(s->m, a->u.expr, &(struct expr_env){.rank = -1}, &k, NULL) == EXPR_OK) {
		a->kind = ATTR_INT;
		a->u.i = k;
	}
	if (a->kind == ATTR_INT || a->kind == ATTR_FLOAT)
		return true;
	diag_error_span(s->d, E_ATTRIBUTE_VALUE, n->at, n->end - n->at, "%s= is a number",
	                ast_text(s->a, key));
	if (s->is_listing)
		diag_note(s->d, DIAG_NOWHERE, "-D gives the params of the scalar values");
	return false;
}

bool call_push_attr(struct sema *s, struct call *c, ast_id key)
{
	struct attr a = {.key = sema_name(s, key)};
	if (!takes_attr(s, c, key) || !call_may_add_attr(s, c, &a, key))
		return false;
	if (!call_attr_value(s, ast_at(s->a, key)->first, &a))
		return false;
	if (vocabulary_is_switch(ast_text(s->a, key))) {
		const char *value = a.kind == ATTR_NAME ? names_text(s->m->names, a.u.name) : "";
		if (!strcmp(value, "false"))
			return true; /* the default is not stored */
		if (strcmp(value, "true")) {
			diag_error(s->d, E_ATTRIBUTE_VALUE, ast_at(s->a, ast_at(s->a, key)->first)->at,
			           "%s= is true or false", ast_text(s->a, key));
			return false;
		}
	}
	if (*op_info[c->kind].attributes != '*' && has_word("scale eps", ast_text(s->a, key)) &&
	    !check_number(s, key, &a))
		return false;
	c->attr[c->attr_n++] = a;
	return true;
}

bool sema_attrs(struct sema *s, enum op_kind kind, ast_id keys, const char *const *but, attrs_id *out)
{
	struct call c = {.kind = kind};
	ast_each (s->a, key, keys) {
		const char *const *b = but;
		while (*b && strcmp(*b, ast_text(s->a, key)))
			b++;
		if (ast_at(s->a, key)->kind == AST_KEY && !*b && !call_push_attr(s, &c, key))
			return false;
	}
	*out = ir_attrs(s->m, c.attr, c.attr_n);
	return true;
}
