/* sema_random: reads random numbers.
 *
 *     T3 = rng_uniform({4, 6}, float, i5)             uniform(seed=i5, offset=0)
 *     T3 = rng_uniform({4, 6}, float)                 uniform(seed=0, offset=3): the number of the tensor
 *     T3 = rng_uniform_range({4}, 2, 5, float, i5)    T = uniform(seed=i5, offset=0); T3 = T * 3 + 2
 *
 *     rng_normal_standard({4}, float, i5)             T = uniform(seed=i5, offset=0); V = uniform(seed=i5, offset=-1);
 *                                                     T3 = sqrt(-2 log(1 - T)) * cos(2 pi V)
 *
 * nvFuser prints no offset; hirc prints one that is not 0 after the seed. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <stdlib.h>
#include <string.h>

/* Returns the number N of a tensor TN. */
static int64_t number_of_tensor(struct nv_reader *r, const struct nv_tensor *t)
{
	const char *name = names_text(r->s->m->names, t->name);
	return *name ? strtoll(name + 1, NULL, 10) : 0;
}

/* Returns the offset, or -1 - offset, which no other tensor has. offset: 0 if none is given. */
static ast_id make_offset(struct nv_reader *r, ast_id call, ast_id offset, int64_t otherwise, bool second)
{
	ast_id id =
	    offset ? nv_node_copy(r, offset) : nv_node_int(r, call, second ? -1 - otherwise : otherwise);
	if (!second || !offset)
		return id;
	ast_id difference = nv_node(r, AST_BINARY, call, "-");
	nv_make_binary(r, difference, "-", nv_node_int(r, call, -1), id);
	return difference;
}

/* Makes uniform(seed=, offset=) of a call. dtype: the argument before the seed. second: other numbers than those of the
 * same call without it. */
static void make_uniform(struct nv_reader *r, ast_id call, ast_id shape, ast_id dtype, bool second,
                         const struct nv_tensor *result)
{
	const struct ast *a = r->s->a;
	ast_id seed = ast_at(a, dtype)->next, offset = seed ? ast_at(a, seed)->next : 0;
	r->s->a->nodes.at[call].first = 0;
	nv_rename_call(r, call, "uniform");
	if (result->open) { /* its type is left out */
		ast_id list = nv_node(r, AST_LIST, call, NULL);
		for (ast_id e = ast_at(a, shape)->first; e; e = ast_at(a, e)->next) {
			ast_id axis = nv_node(r, AST_AXIS, call, NULL);
			nv_node_append(r, axis, nv_node_copy(r, e));
			nv_node_append(r, list, axis);
		}
		nv_node_append(r, call, list);
	}
	nv_node_key(r, call, "seed", seed ? nv_node_copy(r, seed) : nv_node_int(r, call, 0));
	nv_node_key(r, call, "offset",
	            make_offset(r, call, offset, seed ? 0 : number_of_tensor(r, result), second));
}

/* Reads a number, with a sign or without. Returns false if it is none. */
static bool read_number(struct nv_reader *r, ast_id e, double *out)
{
	bool minus = nv_is(r, e, AST_UNARY) && !strcmp(ast_text(r->s->a, e), "-");
	const struct ast_node *n = ast_at(r->s->a, minus ? ast_at(r->s->a, e)->first : e);
	if (n->kind != AST_INT && n->kind != AST_FLOAT)
		return false;
	*out = (minus ? -1 : 1) * (n->kind == AST_INT ? (double)n->value.i : n->value.f);
	return true;
}

/* A scalar operand: a written number, or a node. */
struct random_number {
	bool is_number;
	double number;
	ast_id node;
};

static ast_id add_float(struct nv_reader *r, ast_id like, double value)
{
	ast_id id = nv_node(r, AST_FLOAT, like, NULL);
	r->s->a->nodes.at[id].value.f = value;
	return id;
}

static ast_id add_binary(struct nv_reader *r, const char *sign, ast_id left, ast_id right)
{
	ast_id id = nv_node(r, AST_BINARY, left, sign);
	nv_make_binary(r, id, sign, left, right);
	return id;
}

static ast_id add_call(struct nv_reader *r, const char *name, ast_id operand)
{
	ast_id id = nv_node(r, AST_CALL, operand, name);
	nv_node_append(r, id, operand);
	return id;
}

static ast_id add_scalar(struct nv_reader *r, ast_id like, const struct random_number *x)
{
	return x->is_number ? add_float(r, like, x->number) : nv_node_copy(r, x->node);
}

static ast_id add_difference(struct nv_reader *r, ast_id like, const struct random_number *x,
                             const struct random_number *y)
{
	if (x->is_number && y->is_number)
		return add_float(r, like, x->number - y->number);
	return add_binary(r, "-", add_scalar(r, like, x), add_scalar(r, like, y));
}

/* Adds the statement of uniform numbers before a call. *out: a node with their name. */
static bool add_uniform(struct nv_reader *r, ast_id call, ast_id shape, ast_id dtype, bool second,
                        type_id type, const struct nv_tensor *result, ast_id *out)
{
	ast_id uniform = nv_node(r, AST_CALL, call, "uniform");
	make_uniform(r, uniform, shape, dtype, second, result);
	return nv_term(r, uniform, type, second ? "the second numbers" : "the first numbers", out);
}

/* Makes U * (high - low) + low of a call, with the statement of U before it. */
static bool make_range(struct nv_reader *r, ast_id call, ast_id shape, const struct random_number *x,
                       ast_id dtype, const struct nv_tensor *result)
{
	ast_id one;
	if (!add_uniform(r, call, shape, dtype, false, result->open ? 0 : result->type, result, &one))
		return false;
	nv_make_binary(r, call, "+", add_binary(r, "*", one, add_difference(r, call, &x[1], &x[0])),
	               add_scalar(r, call, &x[0]));
	nv_round_numbers(r, call, (enum dtype)r->s->m->type.at[result->type].dtype);
	return true;
}

/* Makes sqrt(-2 log(1 - U)) * cos(2 pi V) * deviation + mean of a call, with the statements of U and V before it. U and
 * V are f32 for narrower results. x: mean and deviation; NULL: 0 and 1. */
static bool make_normal(struct nv_reader *r, ast_id call, ast_id shape, const struct random_number *x,
                        ast_id dtype, const struct nv_tensor *result)
{
	struct module *m = r->s->m;
	const struct type t = m->type.at[result->type];
	const bool narrow = dtype_is_float((enum dtype)t.dtype) && dtype_bytes((enum dtype)t.dtype) < 4;
	const type_id type =
	    narrow ? type_make(m, DTYPE_F32, (enum memory)t.memory, t.mesh, t.domain) : result->type;
	ast_id u, v;
	if (!add_uniform(r, call, shape, dtype, false, type, result, &u) ||
	    !add_uniform(r, call, shape, dtype, true, type, result, &v))
		return false;
	ast_id log = add_call(r, "log", add_binary(r, "-", add_float(r, call, 1), u));
	ast_id radius = add_call(r, "sqrt", add_binary(r, "*", add_float(r, call, -2), log));
	ast_id cosine = add_call(r, "cos", add_binary(r, "*", add_float(r, call, 6.2831853071795862), v));
	ast_id made = narrow ? nv_node(r, AST_BINARY, call, "*") : call;
	if (x)
		nv_make_binary(
		    r, made, "+",
		    add_binary(r, "*", add_binary(r, "*", radius, cosine), add_scalar(r, call, &x[1])),
		    add_scalar(r, call, &x[0]));
	else
		nv_make_binary(r, made, "*", radius, cosine);
	nv_round_numbers(r, made, (enum dtype)m->type.at[type].dtype);
	if (!narrow)
		return true;
	r->s->a->nodes.at[call].first = 0;
	nv_rename_call(r, call, "cast");
	nv_node_append(r, call, made);
	return true;
}

static const struct distribution {
	const char *name, *form;
	bool (*make)(struct nv_reader *r, ast_id call, ast_id shape, const struct random_number *x,
	             ast_id dtype, const struct nv_tensor *result);
	bool has_numbers; /* two, before the dtype */
} distributions[] = {
    {"rng_uniform", "rng_uniform takes `rng_uniform({4, 8}, dtype, seed)`", NULL, false},
    {"rng_uniform_range", "rng_uniform_range takes `rng_uniform_range({4, 8}, low, high, dtype, seed)`",
     make_range, true},
    {"rng_normal_standard", "rng_normal_standard takes `rng_normal_standard({4, 8}, dtype, seed)`",
     make_normal, false},
    {"rng_normal_general",
     "rng_normal_general takes `rng_normal_general({4, 8}, mean, deviation, dtype, seed)`", make_normal,
     true},
};

static const struct distribution *find_distribution(const char *name)
{
	for (unsigned k = 0; k < sizeof distributions / sizeof *distributions; k++)
		if (!strcmp(distributions[k].name, name))
			return &distributions[k];
	return NULL;
}

bool nv_is_random(const char *name)
{
	return find_distribution(name) != NULL;
}

bool nv_random(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	const struct ast *a = r->s->a;
	const struct distribution *d = find_distribution(ast_text(a, call));
	ast_id shape = ast_at(a, call)->first, next = shape ? ast_at(a, shape)->next : 0;
	struct random_number x[2];
	for (unsigned k = 0; k < 2 && d->has_numbers && next; k++) {
		x[k].is_number = read_number(r, next, &x[k].number);
		x[k].node = next;
		next = ast_at(a, next)->next;
	}
	if (!nv_is(r, shape, AST_TUPLE) || !next)
		return nv_refuse(r, E_OPERAND_COUNT, call, d->form);
	if (!nv_check_extents(r, shape, result) || !nv_check_dtype(r, next, result))
		return false;
	if (d->make)
		return d->make(r, call, shape, d->has_numbers ? x : NULL, next, result);
	make_uniform(r, call, shape, next, false, result);
	return true;
}
