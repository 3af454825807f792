/* sema_random: reads random numbers.
 *
 *     T3 = rng_uniform({4, 6}, float, i5)             uniform(seed=i5, offset=0)
 *     T3 = rng_uniform({4, 6}, float)                 uniform(seed=0, offset=3): the number of the tensor
 *     T3 = rng_uniform_range({4}, 2, 5, float, i5)    T = uniform(seed=i5, offset=0); T3 = T * 3 + 2
 *
 * nvFuser prints no offset; hirc prints one that is not 0 after the seed. */
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

/* Returns false after reporting a shape that is not that of the result. Scalars may have other names there. */
static bool check_shape(struct nv_reader *r, ast_id shape, const struct nv_tensor *result)
{
	const struct domain *d = ir_domain(r->s->m, r->s->m->type.at[result->type].domain);
	int64_t extent;
	unsigned n = 0;
	ast_each (r->s->a, e, shape) {
		if (n < d->rank && nv_is(r, e, AST_INT) &&
		    expr_is_const(r->s->m, d->axis[n].extent, &extent) &&
		    extent != ast_at(r->s->a, e)->value.i)
			break;
		n++;
	}
	return n == d->rank || nv_refuse(r, E_SHAPES_DIFFER, shape, "the result has another shape");
}

/* Makes uniform(seed=, offset=) of a call. dtype: the argument before the seed. */
static void make_uniform(struct nv_reader *r, ast_id call, ast_id shape, ast_id dtype,
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
	            offset ? nv_node_copy(r, offset)
	                   : nv_node_int(r, call, seed ? 0 : number_of_tensor(r, result)));
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

static ast_id add_float(struct nv_reader *r, ast_id like, double value)
{
	ast_id id = nv_node(r, AST_FLOAT, like, NULL);
	r->s->a->nodes.at[id].value.f = value;
	return id;
}

/* Makes U * (high - low) + low of a call, with the statement of U before it. */
static bool make_range(struct nv_reader *r, ast_id call, ast_id shape, ast_id low,
                       const struct nv_tensor *result)
{
	ast_id high = ast_at(r->s->a, low)->next, dtype = high ? ast_at(r->s->a, high)->next : 0, one,
	       product;
	double from, to;
	if (!dtype || !read_number(r, low, &from) || !read_number(r, high, &to))
		return nv_refuse(r, E_OPERAND_NUMBER, call,
		                 "rng_uniform_range takes `rng_uniform_range({4, 8}, low, high, dtype, "
		                 "seed)`, of numbers");
	ast_id uniform = nv_node(r, AST_CALL, call, "uniform");
	make_uniform(r, uniform, shape, dtype, result);
	if (!nv_term(r, uniform, result->open ? 0 : result->type, &one))
		return false;
	product = nv_node(r, AST_BINARY, call, "*");
	nv_make_binary(r, product, "*", one, add_float(r, call, to - from));
	nv_make_binary(r, call, "+", product, add_float(r, call, from));
	return true;
}

bool nv_random(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	const bool in_range = !strcmp(ast_text(r->s->a, call), "rng_uniform_range");
	ast_id shape = ast_at(r->s->a, call)->first, next = shape ? ast_at(r->s->a, shape)->next : 0;
	if (!nv_is(r, shape, AST_TUPLE) || !next)
		return nv_refuse(r, E_OPERAND_COUNT, call,
		                 "rng_uniform takes `rng_uniform({4, 8}, dtype, seed)`");
	if (!check_shape(r, shape, result))
		return false;
	if (in_range)
		return make_range(r, call, shape, next, result);
	make_uniform(r, call, shape, next, result);
	return true;
}
