/* sema_product: products of nvFuser with operands that those of ops.def do not take.
 *
 *     matmul(T0…, T1…)     of a vector T1: reshape(matmul(T0…, reshape(T1…, [k, 1])))
 *     linear(T0…, T1…)     of a vector T1: reshape(linear(T0…, reshape(T1…, [1, k])))
 *
 * The tree is changed in place. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"

static const struct domain *domain_of(struct nv_reader *r, const struct nv_tensor *t)
{
	return ir_domain(r->s->m, r->s->m->type.at[t->type].domain);
}

/* Returns the domain of an operand, or NULL. */
static const struct domain *find_domain(struct nv_reader *r, ast_id operand)
{
	const struct nv_tensor *t =
	    nv_is(r, operand, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, operand)->name) : NULL;
	return t ? domain_of(r, t) : NULL;
}

static bool is_vector(const struct domain *d)
{
	return d && d->rank == 1;
}

/* Makes reshape(…, [n, k]) of a node. */
static ast_id add_reshape(struct nv_reader *r, ast_id operand, const expr_id *extent, unsigned n)
{
	ast_id call = nv_node(r, AST_CALL, operand, "reshape"), shape = nv_node(r, AST_LIST, operand, NULL);
	nv_node_append(r, call, operand);
	for (unsigned i = 0; i < n; i++) {
		ast_id axis = nv_node(r, AST_AXIS, operand, NULL);
		nv_node_append(r, axis, nv_node_expr(r, operand, extent[i]));
		nv_node_append(r, shape, axis);
	}
	nv_node_append(r, call, shape);
	return call;
}

/* Makes reshape(T0…, [n, 1]), or [1, n], of a vector. */
static ast_id add_matrix(struct nv_reader *r, ast_id vector, bool column)
{
	expr_id one = expr_const(r->s->m, 1), n = find_domain(r, vector)->axis[0].extent;
	return add_reshape(r, nv_node_copy(r, vector), column ? (expr_id[]){n, one} : (expr_id[]){one, n}, 2);
}

/* Makes reshape(…) of a call, which a product takes the place of. */
static void take_product(struct nv_reader *r, ast_id call, ast_id product)
{
	r->s->a->nodes.at[call].first = 0;
	nv_node_append(r, call, product);
	nv_rename_call(r, call, "reshape");
}

void nv_matmul(struct nv_reader *r, ast_id call, ast_id first, ast_id second, const struct nv_tensor *result)
{
	const struct domain *a = find_domain(r, first), *b = find_domain(r, second);
	bool row = is_vector(a), column = is_vector(b);
	unsigned vectors = row + column, rank = row ? (b ? b->rank : 0) : a ? a->rank : 0;
	if (!vectors || !result || domain_of(r, result)->rank + vectors != (rank > 2 ? rank : 2))
		return;
	ast_id inner = nv_node(r, AST_CALL, call, "matmul");
	nv_node_append(r, inner, row ? add_matrix(r, first, false) : nv_node_copy(r, first));
	nv_node_append(r, inner, column ? add_matrix(r, second, true) : nv_node_copy(r, second));
	take_product(r, call, inner);
}

void nv_linear(struct nv_reader *r, ast_id call, ast_id first, ast_id weight, const struct nv_tensor *result)
{
	const struct domain *x = find_domain(r, first);
	ast_id bias = ast_at(r->s->a, weight)->next;
	if (!is_vector(find_domain(r, weight)) || !result || !x || domain_of(r, result)->rank + 1 != x->rank)
		return;
	ast_id inner = nv_node(r, AST_CALL, call, "linear");
	nv_node_append(r, inner, nv_node_copy(r, first));
	nv_node_append(r, inner, add_matrix(r, weight, false));
	if (nv_is(r, bias, AST_TENSOR)) /* one number */
		nv_node_append(
		    r, inner,
		    add_reshape(r, nv_node_copy(r, bias), (expr_id[]){expr_const(r->s->m, 1)}, 1));
	take_product(r, call, inner);
}
