/* sema_expr: reads index expressions, extents and constants. */
#include "parse/other_names.h"
#include "parse/sema_internal.h"
#include "parse/vocabulary.h"
#include <math.h>
#include <string.h>

static const struct {
	const char *text;
	enum expr_kind kind;
} operators[] =
    {
        {"+", EXPR_ADD}, {"-", EXPR_SUB},   {"*", EXPR_MUL}, {"/", EXPR_DIV}, {"%", EXPR_MOD},
        {"==", EXPR_EQ}, {"!=", EXPR_NE},   {"<", EXPR_LT},  {"<=", EXPR_LE}, {">", EXPR_GT},
        {">=", EXPR_GE}, {"and", EXPR_AND}, {"or", EXPR_OR},
},
  functions[] = {
      {"ceilDiv", EXPR_CEIL_DIV},
      {"floorDiv", EXPR_FLOOR_DIV},
      {"min", EXPR_MIN},
      {"max", EXPR_MAX},
};

static const char *const builtins[] = {"axis_index", "size", "device"};
static const char *const values[] = {"rank", "streams", "inf", "nan"};

enum { FUNCTIONS = sizeof functions / sizeof *functions, BUILTINS = sizeof builtins / sizeof *builtins };

const char *vocabulary_function(unsigned k)
{
	if (k < FUNCTIONS)
		return functions[k].text;
	return k - FUNCTIONS < BUILTINS ? builtins[k - FUNCTIONS] : NULL;
}

const char *vocabulary_value(unsigned k)
{
	return k < sizeof values / sizeof *values ? values[k] : NULL;
}

static enum expr_kind function_kind(const char *name)
{
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(functions[i].text, name))
			return functions[i].kind;
	return EXPR_NONE;
}

static unsigned at_most(unsigned x, unsigned limit)
{
	return x < limit ? x : limit;
}

/* Returns e, or 0 after reporting an expression that is too large or too deep to walk. Lets are shared, so a
 * chain of lets can grow exponentially. */
static expr_id bounded(struct sema *s, ast_id node, expr_id e)
{
	for (expr_id i = s->measure.n; e && i <= e; i++) { /* operands have smaller ids */
		const struct expr *x = &s->m->expr.at[i];
		struct expr_measure a = x->a ? s->measure.at[x->a] : (struct expr_measure){0},
		                    b = x->b ? s->measure.at[x->b] : (struct expr_measure){0};
		struct expr_measure m = {
		    .depth = (uint16_t)at_most(1u + (a.depth > b.depth ? a.depth : b.depth),
		                               SEMA_MAX_EXPR_DEPTH + 1),
		    .size = (uint16_t)at_most(1u + a.size + b.size, SEMA_MAX_EXPR_SIZE + 1),
		};
		vec_push(&s->measure, m);
	}
	if (!e ||
	    (s->measure.at[e].depth <= SEMA_MAX_EXPR_DEPTH && s->measure.at[e].size <= SEMA_MAX_EXPR_SIZE))
		return e;
	const struct ast_node *n = ast_at(s->a, node);
	diag_error_span(
	    s->d, E_EXPRESSION_TOO_LARGE, n->at, n->end - n->at,
	    "the expression is too large: with its names written out, at most %d operands, %d deep",
	    SEMA_MAX_EXPR_SIZE, SEMA_MAX_EXPR_DEPTH);
	return 0;
}

/* Returns true if the `/` of a listing, which rounds as in C, may have a remainder here. hirc prints the `/` of an index
 * or of the rank so, too, but no other. */
static bool rounds(const struct sema *s, expr_id a, expr_id b)
{
	const struct expr_env env = {.rank = -1, .streams = INT32_MAX};
	struct module *m = s->m;
	int64_t x, y;
	if (!s->is_listing || expr_division_rounds(m, a, b))
		return s->is_listing;
	if (!s->is_foreign)
		return false;
	return expr_eval(m, a, &env, &x, NULL) == EXPR_OK && expr_eval(m, b, &env, &y, NULL) == EXPR_OK &&
	       y != 0 && x % y != 0;
}

static expr_id make_binary(struct sema *s, ast_id node, enum expr_kind kind, expr_id a, expr_id b)
{
	if (!a || !b)
		return 0;
	expr_id e = expr_op(s->m, kind, a, b);
	if (e)
		return bounded(s, node, e);
	int64_t x, y;
	uint32_t at = ast_at(s->a, node)->at, length = ast_at(s->a, node)->end - at;
	bool zero = expr_is_const(s->m, b, &y) && y == 0;
	if (zero && kind != EXPR_ADD && kind != EXPR_SUB && kind != EXPR_MUL)
		diag_error_span(s->d, E_DIVISION_BY_ZERO, at, length, "division by zero");
	else if (kind == EXPR_DIV && expr_is_const(s->m, a, &x) && expr_is_const(s->m, b, &y)) {
		diag_error_span(s->d, E_NOT_DIVISIBLE, at, length, "%lld is not divisible by %lld",
		                (long long)x, (long long)y);
		diag_note(s->d, DIAG_NOWHERE, "`/` must divide; ceilDiv and floorDiv round");
	} else
		diag_error_span(s->d, E_OVERFLOW, at, length,
		                "integer overflow: the value does not fit in 64 bits");
	return 0;
}

/* Finds a mesh axis by name, in the named mesh, the program's mesh, or the only mesh that has it. */
static bool find_mesh_axis(struct sema *s, ast_id name, ast_id mesh_name, mesh_id *mesh, unsigned *axis)
{
	name_id n = sema_name(s, name);
	if (mesh_name) {
		*mesh = sema_find_mesh(s, sema_name(s, mesh_name));
		if (!*mesh) {
			const struct ast_node *x = ast_at(s->a, mesh_name);
			sema_unknown_mesh(s, sema_name(s, mesh_name), x->at, x->end - x->at);
			return false;
		}
	} else {
		*mesh = s->mesh;
	}
	int k = *mesh ? mesh_find_axis(&s->m->mesh.at[*mesh], n) : -1;
	for (mesh_id i = 1; k < 0 && !mesh_name && i < s->m->mesh.n; i++) {
		k = mesh_find_axis(&s->m->mesh.at[i], n);
		*mesh = i;
	}
	if (k < 0) {
		struct suggest g = suggest_start(names_text(s->m->names, n));
		diag_error_span(s->d, E_AXIS_UNKNOWN, ast_at(s->a, name)->at,
		                (uint32_t)strlen(names_text(s->m->names, n)), "unknown mesh axis '%s'",
		                names_text(s->m->names, n));
		for (mesh_id i = 1; i < s->m->mesh.n; i++)
			for (unsigned a = 0; a < s->m->mesh.at[i].rank; a++)
				suggest_try(&g, names_text(s->m->names, s->m->mesh.at[i].axis_name[a]));
		diag_suggest(s->d, &g);
		return false;
	}
	*axis = (unsigned)k;
	return true;
}

enum conversion sema_conversion(const char *name)
{
	static const struct {
		const char *name;
		enum conversion to;
	} conversions[] = {{"(double)", CONVERSION_FLOAT},     {"__to_double", CONVERSION_FLOAT},
	                   {"double", CONVERSION_FLOAT},       {"(float)", CONVERSION_FLOAT},
	                   {"__to_float", CONVERSION_FLOAT},   {"float", CONVERSION_FLOAT},
	                   {"(int64_t)", CONVERSION_INTEGER},  {"__to_int64", CONVERSION_INTEGER},
	                   {"int64_t", CONVERSION_INTEGER},    {"(int)", CONVERSION_INTEGER},
	                   {"__to_int32", CONVERSION_INTEGER}, {"(nvfuser_index_t)", CONVERSION_INTEGER},
	                   {"__to_index", CONVERSION_INTEGER}, {"(int32_t)", CONVERSION_INTEGER},
	                   {"(bool)", CONVERSION_BOOL},        {"__to_bool", CONVERSION_BOOL}};
	for (unsigned i = 0; i < sizeof conversions / sizeof *conversions; i++)
		if (!strcmp(conversions[i].name, name))
			return conversions[i].to;
	return CONVERSION_NONE;
}

/* Returns true for nvFuser's conversion of a whole number that keeps its value. */
static bool is_conversion(const struct sema *s, const char *name)
{
	enum conversion to = sema_conversion(name);
	return s->a->surface == SURFACE_NVFUSER && to != CONVERSION_NONE && to != CONVERSION_BOOL;
}

bool sema_is_index_function(const char *name)
{
	for (unsigned i = 0; i < BUILTINS; i++)
		if (!strcmp(builtins[i], name))
			return true;
	return function_kind(name) != EXPR_NONE;
}

static expr_id resolve_call(struct sema *s, ast_id e)
{
	const char *name = ast_text(s->a, e);
	uint32_t at = ast_at(s->a, e)->at;
	unsigned n = 0;
	ast_each (s->a, child, e) {
		n++;
		if (ast_at(s->a, child)->kind == AST_KEY || ast_at(s->a, child)->kind == AST_ATTRS)
			n = 99; /* no function has attributes */
	}
	ast_id first = ast_child(s->a, e, 0), second = ast_child(s->a, e, 1), third = ast_child(s->a, e, 2);
	bool printed = s->a->surface == SURFACE_NVFUSER && (!strcmp(name, "fmin") || !strcmp(name, "fmax"));
	enum expr_kind kind = function_kind(printed ? name + 1 : name); /* fmin(i2, 3) of whole numbers */
	if (s->is_listing && !strcmp(name, "exactDiv"))
		kind = EXPR_DIV;
	if (kind != EXPR_NONE) {
		if (n != 2) {
			diag_error(s->d, E_FUNCTION_ARGUMENTS, at, "%s takes two arguments", name);
			return 0;
		}
		expr_id a = sema_expr(s, first);
		return make_binary(s, e, kind, a, sema_expr(s, second));
	}
	if (n == 1 && is_conversion(s, name))
		return sema_expr(s, first);
	mesh_id mesh;
	unsigned axis;
	bool is_device = !strcmp(name, "device");
	if (is_device || !strcmp(name, "axis_index") || !strcmp(name, "size")) {
		unsigned least = is_device ? 2 : 1;
		if (n < least || n > least + 1 || ast_at(s->a, first)->kind != AST_NAME) {
			diag_error(s->d, E_FUNCTION_ARGUMENTS, at,
			           is_device ? "device takes a mesh axis and an index"
			                     : "%s takes a mesh axis",
			           name);
			return 0;
		}
		if (!find_mesh_axis(s, first, is_device ? third : second, &mesh, &axis))
			return 0;
		if (is_device)
			return bounded(s, e, expr_device(s->m, mesh, axis, sema_expr(s, second)));
		return !strcmp(name, "size") ? expr_const(s->m, s->m->mesh.at[mesh].size[axis])
		                             : expr_axis_index(s->m, mesh, axis);
	}
	struct suggest g = suggest_start(name);
	diag_error_span(s->d, E_FUNCTION_UNKNOWN, at, (uint32_t)strlen(name),
	                "unknown function '%s' in an index expression", name);
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
		suggest_try(&g, functions[i].text);
	for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++)
		suggest_try(&g, builtins[i]);
	if (op_by_hir(name) != OP_NONE)
		diag_note(s->d, DIAG_NOWHERE,
		          "'%s' is an operation on tensors, and this is a number; a tensor is defined as `A "
		          "= %s(X)`",
		          name, name);
	else if (!other_name_note(s->d, OTHER_FUNCTION, name))
		diag_suggest(s->d, &g);
	return 0;
}

/* Returns the meaning of a line of `Index definitions:`. The line is read at its first use. */
static expr_id index_definition(struct sema *s, ast_id line)
{
	const struct ast_node *n = ast_at(s->a, line);
	for (uint32_t i = 0; i < s->defining.n; i++)
		if (s->defining.at[i] == line) {
			diag_error(s->d, E_DEFINITION_CIRCLE, n->at, "the definition of '%s' uses itself",
			           ast_text(s->a, line));
			return 0;
		}
	if (s->defining.n == SEMA_MAX_EXPR_DEPTH) {
		diag_error(s->d, E_DEFINITIONS_TOO_DEEP, n->at, "definitions are nested deeper than %d",
		           SEMA_MAX_EXPR_DEPTH);
		return 0;
	}
	vec_push(&s->defining, line);
	expr_id e = sema_expr(s, n->first);
	s->defining.n--;
	if (!e)
		s->a->nodes.at[line].first = 0; /* report it only once */
	return e;
}

param_id sema_foreign_param(struct sema *s, name_id name, uint32_t at, expr_id *e)
{
	struct sema_define *define = sema_find_define(s, names_text(s->m->names, name));
	int64_t value;
	*e = 0;
	for (uint32_t i = 0; i < s->index_def.n && !define; i++)
		if (ast_at(s->a, s->index_def.at[i])->name == name) {
			*e = index_definition(s, s->index_def.at[i]);
			return 0;
		}
	if (define) {
		*e = sema_define_expr(s, define, at, NULL);
		if (!*e || !expr_is_const(s->m, *e, &value))
			return 0;
	}
	int32_t number = sema_numbered(s, name, 'i');
	struct param x = {.name = number >= 0 ? 0 : name, .number = number, .at = at};
	if (define) {
		x.has_value = x.set_by_user = true;
		x.value = value;
	}
	param_id p = sema_add_param(s, &x, name);
	/* visible in the whole container */
	uint32_t depth = s->depth;
	s->depth = 0;
	sema_define_scalar(s, name, SCOPE_PARAM, p, at);
	s->depth = depth;
	return p;
}

expr_id sema_foreign_scalar(struct sema *s, name_id name, uint32_t at)
{
	expr_id e;
	param_id p = sema_foreign_param(s, name, at, &e);
	return p ? expr_param(s->m, p) : e;
}

/* Reads the -D of a name that is read anew at each use. Reports errors once. */
static expr_id define_use(struct sema *s, uint32_t entry, uint32_t at)
{
	expr_id e = sema_define_expr(s, &s->options->define[s->entry.at[entry].id], at, NULL);
	if (!e)
		s->entry.at[entry].kind = SCOPE_BROKEN;
	return e;
}

/* Reads deviceIdx.x: the rank, or the index of this device along the mesh's last axis; y: along the one before. */
static expr_id device_index(struct sema *s, const char *text, uint32_t at)
{
	char letter = text[strlen("deviceIdx.")];
	unsigned from_last = letter >= 'x' && letter <= 'z'   ? (unsigned)(letter - 'x')
	                     : letter >= '3' && letter <= '9' ? (unsigned)(letter - '0')
	                                                      : 99;
	if (!from_last && expr_device_index_is_rank(s->m))
		return expr_rank(s->m);
	if (s->mesh && from_last < s->m->mesh.at[s->mesh].rank)
		return expr_axis_index(s->m, s->mesh, s->m->mesh.at[s->mesh].rank - 1 - from_last);
	diag_error_span(s->d, E_MESH_NEEDED, at, (uint32_t)strlen(text),
	                s->mesh ? "the mesh has no such axis" : "a device index needs a DeviceMesh");
	return 0;
}

static expr_id resolve_name(struct sema *s, ast_id e)
{
	name_id n = sema_name(s, e);
	const char *text = names_text(s->m->names, n);
	uint32_t at = ast_at(s->a, e)->at;
	const struct scope_entry *x = sema_find_scalar(s, n);
	if (x)
		switch ((enum scope_kind)x->kind) {
		case SCOPE_CONST:
		case SCOPE_LET:
			return x->id;
		case SCOPE_PARAM:
			return expr_param(s->m, x->id);
		case SCOPE_INDEX:
			return expr_index(s->m, x->id);
		case SCOPE_BROKEN:
			return 0;
		case SCOPE_NUMBER:
			diag_error_span(s->d, E_NOT_INTEGER, at, (uint32_t)strlen(text),
			                "an integer is expected here, and '%s' is %.9g", text,
			                s->m->scalar.at[x->id].literal);
			return 0;
		case SCOPE_DEFINE:
			return define_use(s, (uint32_t)(x - s->entry.at), at);
		default:
			diag_error_span(s->d, E_NAME_OF_OTHER_KIND, at, (uint32_t)strlen(text),
			                "'%s' is a stream, not a number", text);
			return 0;
		}
	if (!strcmp(text, values[0]))
		return expr_rank(s->m);
	if (!strcmp(text, values[1]) || !strcmp(text, "numberOfStreams"))
		return expr_streams(s->m);
	if (sema_find_tensor(s, n)) {
		diag_error_span(s->d, E_NAME_OF_OTHER_KIND, at, (uint32_t)strlen(text),
		                "'%s' is a tensor, not a number", text);
		if (s->is_listing)
			diag_note(s->d, DIAG_NOWHERE,
			          "a scalar of a float that differs by iteration or rank is a tensor; an "
			          "index is made "
			          "of integers alone: ( ( i5 * 3 ) / 4 )");
		return 0;
	}
	if (s->a->surface == SURFACE_NVFUSER && !strncmp(text, "deviceIdx.", 10))
		return device_index(s, text, at);
	if (s->a->surface == SURFACE_NVFUSER && s->a->names == s->m->names)
		return sema_foreign_scalar(s, n, at);
	sema_unknown_scalar(s, n, at);
	return 0;
}

/* Reports an operation on bits, which only tensors have. */
static expr_id refuse_bits(struct sema *s, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	diag_error_span(s->d, E_NOT_INTEGER, n->at, n->end - n->at,
	                "'%s' is an operation on tensors; an index expression has + - * / and %%",
	                ast_text(s->a, e));
	return 0;
}

expr_id sema_expr(struct sema *s, ast_id e)
{
	if (!e)
		return 0;
	const struct ast_node *n = ast_at(s->a, e);
	switch (n->kind) {
	case AST_INT:
		return expr_const(s->m, n->value.i);
	case AST_FLOAT:
		if (s->is_listing && n->value.f == floor(n->value.f) && fabs(n->value.f) < 0x1p53)
			return expr_const(
			    s->m, (int64_t)n->value.f); /* double(2) beside a scalar without a value */
		break;
	case AST_NAME:
		return resolve_name(s, e);
	case AST_PAREN:
		return sema_expr(s, n->first);
	case AST_CALL:
		return resolve_call(s, e);
	case AST_UNARY: {
		bool minus = !strcmp(ast_text(s->a, e), "-");
		if (*ast_text(s->a, e) == '~')
			return refuse_bits(s, e);
		expr_id a = sema_expr(s, n->first);
		if (!a)
			return 0;
		return minus ? make_binary(s, e, EXPR_SUB, expr_const(s->m, 0), a)
		             : bounded(s, e, expr_op(s->m, EXPR_NOT, a, 0));
	}
	case AST_BINARY: {
		const char *text = ast_text(s->a, e);
		ast_id right = ast_at(s->a, n->first)->next;
		expr_id a = sema_expr(s, n->first), b = a ? sema_expr(s, right) : 0;
		for (unsigned i = 0; i < sizeof operators / sizeof *operators; i++)
			if (!strcmp(operators[i].text, text)) {
				bool rounded = operators[i].kind == EXPR_DIV && a && b && rounds(s, a, b);
				return make_binary(s, e, rounded ? EXPR_FLOOR_DIV : operators[i].kind, a, b);
			}
		return b ? refuse_bits(s, e) : 0;
	}
	default:
		break;
	}
	diag_error_span(s->d, E_NOT_INTEGER, n->at, n->end - n->at, "an integer expression is expected here");
	return 0;
}

bool sema_const(struct sema *s, ast_id e, int64_t *out)
{
	bool outer = s->wants_const;
	s->wants_const = true;
	expr_id x = sema_expr(s, e);
	s->wants_const = outer;
	if (!x)
		return false;
	if (expr_is_const(s->m, x, out))
		return true;
	const struct ast_node *n = ast_at(s->a, e);
	diag_error_span(s->d, E_NOT_CONSTANT, n->at, n->end - n->at,
	                "a constant is needed here: consts, np and numbers only");
	if (s->m->expr.at[x].flags & EXPR_HAS_PARAM)
		diag_note(s->d, DIAG_NOWHERE, "a param stays symbolic; declare it with `const` instead");
	return false;
}

expr_id sema_extent(struct sema *s, ast_id e)
{
	expr_id x = sema_expr(s, e), c = x ? expr_canon(s->m, x) : 0;
	const struct ast_node *n = ast_at(s->a, e);
	int64_t k;
	if (x && !c)
		diag_error_span(s->d, E_OVERFLOW, n->at, n->end - n->at,
		                "the extent does not fit in 64 bits, or is a sum of more than 64 products");
	if (c && expr_is_const(s->m, c, &k) && k < 0) {
		diag_error_span(s->d, E_EXTENT_NEGATIVE, n->at, n->end - n->at,
		                "an extent cannot be negative (%lld)", (long long)k);
		if (k == -1)
			diag_note(s->d, DIAG_NOWHERE, "write the extent: -1 does not stand for the rest");
		return 0;
	}
	if (c && s->m->expr.at[c].flags & (EXPR_HAS_INDEX | EXPR_HAS_RANK)) {
		diag_error_span(
		    s->d, E_EXTENT_VARIES, n->at, n->end - n->at,
		    "an extent is the same on all ranks and in all iterations: no rank, no loop index");
		return 0;
	}
	return c;
}

bool sema_is_late(const struct sema *s, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	const char *text = ast_text(s->a, e);
	bool device = n->kind == AST_CALL && !strcmp(text, "device");
	if (n->kind == AST_NAME)
		return strcmp(text, "rank") && strcmp(text, "streams") && strcmp(text, "numberOfStreams") &&
		       !sema_find_scalar(s, sema_name(s, e));
	if (n->kind == AST_CALL && !device && function_kind(text) == EXPR_NONE)
		return false; /* it names a mesh axis */
	for (ast_id child = device ? ast_child(s->a, e, 1) : n->first; child;
	     child = ast_at(s->a, child)->next)
		if (sema_is_late(s, child))
			return true;
	return false;
}

bool sema_has_tensor(const struct sema *s, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	switch (n->kind) {
	case AST_TENSOR:
		return true;
	case AST_NAME:
		return sema_find_tensor(s, sema_name(s, e)) != 0;
	case AST_CALL: {
		const char *text = ast_text(s->a, e);
		if (n->flags & AST_EXTERN)
			return true;
		for (unsigned i = 0; i < sizeof builtins / sizeof *builtins; i++)
			if (!strcmp(builtins[i], text)) { /* the other functions take mesh axes and meshes */
				ast_id index = strcmp(text, "device") ? 0 : ast_child(s->a, e, 1);
				return index && sema_has_tensor(s, index);
			}
		if (function_kind(text) == EXPR_NONE)
			return op_by_hir(text) != OP_NONE;
		ast_each (s->a, child, e)
			if (ast_at(s->a, child)->kind != AST_KEY && sema_has_tensor(s, child))
				return true;
		return false;
	}
	case AST_BINARY:
	case AST_UNARY:
	case AST_PAREN:
		ast_each (s->a, child, e)
			if (sema_has_tensor(s, child))
				return true;
		return false;
	default:
		return false;
	}
}
