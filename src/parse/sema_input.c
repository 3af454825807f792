/* sema_input: reads inputs with their initialisers, and outputs, of the concise surface. */
#include "ir/edit.h"
#include "parse/sema_internal.h"
#include "parse/vocabulary.h"
#include <string.h>

bool sema_is_exported(const struct sema *s, name_id name)
{
	return name < s->output_at.n && s->output_at.at[name];
}

void sema_note_exports(struct sema *s)
{
	for (uint32_t i = 0; i < s->a->exports.n; i++) {
		name_id name = ast_at(s->a, s->a->exports.at[i])->name;
		while (s->output_at.n <= name)
			vec_push(&s->output_at, 0);
		s->output_at.at[name] = 1;
	}
}

/* Kinds of arguments of an initialiser. */
enum argument { ARGUMENT_INTEGER, ARGUMENT_NUMBER, ARGUMENT_STRING };

struct initialiser {
	const char *name;
	bool needs; /* its first argument is required */
	struct {
		const char *key; /* NULL: end of the list */
		enum argument kind;
	} argument[2];
};

static const struct initialiser initialisers[] = {
    {"random", false, {{"seed", ARGUMENT_INTEGER}, {"scale", ARGUMENT_NUMBER}}},
    {"iota", false, {{NULL, 0}, {NULL, 0}}},
    {"zeros", false, {{NULL, 0}, {NULL, 0}}},
    {"full", true, {{"value", ARGUMENT_NUMBER}, {NULL, 0}}},
    {"file", true, {{"path", ARGUMENT_STRING}, {NULL, 0}}},
};
enum { INITIALISERS = sizeof initialisers / sizeof *initialisers };

const char *vocabulary_initialiser(unsigned k)
{
	return k < INITIALISERS ? initialisers[k].name : NULL;
}

const char *vocabulary_argument(const char *initialiser, unsigned k)
{
	for (unsigned i = 0; i < INITIALISERS; i++)
		if (!strcmp(initialisers[i].name, initialiser))
			return k < 2 ? initialisers[i].argument[k].key : NULL;
	return NULL;
}

static const struct initialiser *find_initialiser(struct sema *s, ast_id init)
{
	const struct ast_node *n = ast_at(s->a, init);
	const char *name = n->kind == AST_CALL ? ast_text(s->a, init) : "";
	struct suggest g = suggest_start(name);
	for (unsigned k = 0; k < INITIALISERS; k++) {
		if (!strcmp(initialisers[k].name, name))
			return &initialisers[k];
		suggest_try(&g, initialisers[k].name);
	}
	diag_error_span(s->d, E_INITIALISER, n->at, n->end - n->at,
	                "an input's data is random(seed=1), iota(), zeros(), full(2.0) or file(\"x.npy\")");
	diag_suggest(s->d, &g);
	return NULL;
}

static bool read_argument(struct sema *s, const char *name, ast_id value, enum argument kind, struct attr *a)
{
	const struct ast_node *w = ast_at(s->a, value);
	bool minus = w->kind == AST_UNARY;
	const struct ast_node *u = minus ? ast_at(s->a, w->first) : w;
	if (u->kind == AST_FLOAT && kind == ARGUMENT_NUMBER) {
		a->kind = ATTR_FLOAT;
		a->u.f = minus ? -u->value.f : u->value.f;
		return true;
	}
	if (u->kind == AST_STRING && kind == ARGUMENT_STRING) {
		a->kind = ATTR_STRING;
		a->u.name = sema_name(s, value);
		return true;
	}
	a->kind = ATTR_INT;
	if (kind != ARGUMENT_STRING && u->kind != AST_STRING && u->kind != AST_FLOAT)
		return sema_const(s, value, &a->u.i);
	diag_error_span(s->d, E_INITIALISER, w->at, w->end - w->at, "%s takes %s", name,
	                kind == ARGUMENT_STRING   ? "a string"
	                : kind == ARGUMENT_NUMBER ? "a number"
	                                          : "an integer");
	return false;
}

/* Returns the index of an argument, by its key or its place; -1 after reporting. */
static int find_argument(struct sema *s, const struct initialiser *x, ast_id arg, unsigned place,
                         unsigned seen)
{
	const struct ast_node *v = ast_at(s->a, arg);
	for (unsigned k = 0; k < 2 && x->argument[k].key; k++) {
		bool it = v->kind == AST_KEY ? !strcmp(ast_text(s->a, arg), x->argument[k].key) : k == place;
		if (it && !(seen >> k & 1))
			return (int)k;
	}
	if (!x->argument[0].key)
		diag_error(s->d, E_INITIALISER, v->at, "%s takes no argument", x->name);
	else if (!x->argument[1].key)
		diag_error(s->d, E_INITIALISER, v->at, "%s takes one argument, %s=", x->name,
		           x->argument[0].key);
	else
		diag_error(s->d, E_INITIALISER, v->at, "%s takes %s= and %s=", x->name, x->argument[0].key,
		           x->argument[1].key);
	return -1;
}

bool sema_initialiser(struct sema *s, ast_id init, struct input *x)
{
	const struct initialiser *known = find_initialiser(s, init);
	struct attr list[2] = {0};
	unsigned count = 0, seen = 0;
	if (!known)
		return false;
	ast_each (s->a, arg, init) {
		const struct ast_node *v = ast_at(s->a, arg);
		int k = find_argument(s, known, arg, count, seen);
		if (k < 0 || !read_argument(s, known->name, v->kind == AST_KEY ? v->first : arg,
		                            known->argument[k].kind, &list[count]))
			return false;
		list[count++].key = names_intern_z(s->m->names, known->argument[k].key);
		seen |= 1u << k;
	}
	if (known->needs && !count) {
		diag_error(s->d, E_INITIALISER, ast_at(s->a, init)->at, "%s needs its %s", known->name,
		           known->argument[0].key);
		return false;
	}
	x->init = names_intern_z(s->m->names, known->name);
	x->init_args = count ? ir_attrs(s->m, list, count) : 0;
	return true;
}

static attrs_id braced_attrs(struct sema *s, ast_id attrs)
{
	struct attr list[64];
	unsigned n = 0;
	ast_each (s->a, key, attrs) {
		struct attr a = {.key = sema_name(s, key)};
		ast_id v = ast_at(s->a, key)->first;
		const struct ast_node *x = ast_at(s->a, v);
		if (x->kind == AST_STRING || (x->kind == AST_NAME && !sema_find_scalar(s, sema_name(s, v)))) {
			a.kind = x->kind == AST_STRING ? ATTR_STRING : ATTR_NAME;
			a.u.name = sema_name(s, v);
		} else if (x->kind == AST_FLOAT) {
			a.kind = ATTR_FLOAT;
			a.u.f = x->value.f;
		} else if (!sema_const(s, v, &a.u.i)) {
			return 0;
		}
		if (n < 64)
			list[n++] = a;
	}
	return ir_attrs(s->m, list, n);
}

/* Puts inputs that are also outputs before the other outputs, wherever they stand, since all inputs are
 * printed first. */
static void add_inout(struct module *m, value_id v)
{
	uint32_t n = 0;
	while (n < m->output.n && m->value.at[m->output.at[n]].flags & VALUE_INOUT)
		n++;
	vec_push(&m->output, v);
	memmove(&m->output.at[n + 1], &m->output.at[n], sizeof *m->output.at * (m->output.n - 1 - n));
	m->output.at[n] = v;
}

void sema_input(struct sema *s, ast_id stmt)
{
	const struct ast_node *n = ast_at(s->a, stmt);
	ast_id type = ast_child(s->a, stmt, 0), init = ast_child(s->a, stmt, 1),
	       attrs = ast_child(s->a, stmt, 2);
	uint32_t at = sema_name_at(s, stmt);
	if (s->depth > 1) {
		diag_error(s->d, E_TOP_ONLY, n->at, "inputs stand at the top of the program, not in a block");
		sema_break_tensor(s, n->name);
		return;
	}
	type_id t = sema_type(s, type, true);
	if (!t) {
		sema_break_tensor(s, n->name);
		return;
	}
	int32_t number = sema_numbered(s, n->name, 'T');
	value_id v = ir_value_new(s->m, t, number >= 0 ? 0 : n->name, at);
	struct value *x = &s->m->value.at[v];
	x->number = number;
	x->flags = VALUE_INPUT | (n->flags & AST_INOUT ? VALUE_INOUT | VALUE_OUTPUT : 0) |
	           (sema_is_exported(s, n->name) ? VALUE_OUTPUT : 0);
	struct input in = {.value = v};
	sema_define_tensor(s, n->name, v, at);
	if (init && ast_at(s->a, init)->kind != AST_NONE && !sema_initialiser(s, init, &in))
		return;
	if (attrs && ast_at(s->a, attrs)->kind == AST_ATTRS)
		in.attrs = braced_attrs(s, attrs);
	vec_push(&s->m->input, in);
	if (n->flags & AST_INOUT)
		add_inout(s->m, v);
}

void sema_export(struct sema *s, ast_id stmt)
{
	const struct ast_node *n = ast_at(s->a, stmt);
	uint32_t at = sema_name_at(s, stmt);
	value_id v = sema_find_tensor(s, n->name);
	if (!v) {
		sema_unknown_tensor(s, n->name, at);
		return;
	}
	if (s->depth > 1) {
		diag_error(s->d, E_TOP_ONLY, n->at,
		           "outputs stand at the top of the program, not in a block");
		return;
	}
	if (!sema_is_visible(s, v, n->name, at))
		return;
	for (uint32_t i = 0; i < s->m->output.n; i++)
		if (s->m->output.at[i] == v) {
			diag_error_span(s->d, E_DEFINED_TWICE, at, (uint32_t)strlen(ast_text(s->a, stmt)),
			                "'%s' is an output already", ast_text(s->a, stmt));
			return;
		}
	s->m->value.at[v].flags |= VALUE_OUTPUT;
	vec_push(&s->m->output, v);
}
