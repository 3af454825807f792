/* sema_product: products of nvFuser with operands that those of ops.def do not take.
 *
 *     matmul(T0…, T1…)     of a vector T1: reshape(matmul(T0…, reshape(T1…, [k, 1])))
 *     linear(T0…, T1…)     of a vector T1: reshape(linear(T0…, reshape(T1…, [1, k])))
 *     linear(T0…, T1…)     of T1 [2@x, n, k]: matmul(reshape(T0…, [1, m, k]), permute(T1…, (0, 2, 1)))
 *
 * The tree is changed in place. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"

static const struct domain *domain_of(struct nv_reader *r, const struct nv_tensor *t)
{
	return ir_domain(r->s->m, r->s->m->type.at[t->type].domain);
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
	expr_id one = expr_const(r->s->m, 1), n = nv_find_domain(r, vector)->axis[0].extent;
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
	const struct domain *a = nv_find_domain(r, first), *b = nv_find_domain(r, second);
	bool row = is_vector(a), column = is_vector(b);
	unsigned vectors = row + column, rank = row ? (b ? b->rank : 0) : a ? a->rank : 0;
	if (!vectors || !result || domain_of(r, result)->rank + vectors != (rank > 2 ? rank : 2))
		return;
	ast_id inner = nv_node(r, AST_CALL, call, "matmul");
	nv_node_append(r, inner, row ? add_matrix(r, first, false) : nv_node_copy(r, first));
	nv_node_append(r, inner, column ? add_matrix(r, second, true) : nv_node_copy(r, second));
	take_product(r, call, inner);
}

/* Makes reshape(T0…, [front, 1, …, rest]) of a tensor of front + rest axes, of n axes in all. */
static ast_id add_axes(struct nv_reader *r, ast_id operand, const struct domain *d, unsigned front,
                       unsigned n)
{
	expr_id extent[IR_MAX_LOGICAL], one = expr_const(r->s->m, 1);
	unsigned more = n - d->rank;
	for (unsigned i = 0; i < n; i++)
		extent[i] = i < front ? d->axis[i].extent : i < front + more ? one : d->axis[i - more].extent;
	return more ? add_reshape(r, nv_node_copy(r, operand), extent, n) : nv_node_copy(r, operand);
}

/* Makes permute(T0…, …) that swaps the last two of n axes. */
static ast_id add_transpose(struct nv_reader *r, ast_id operand, unsigned n)
{
	ast_id call = nv_node(r, AST_CALL, operand, "permute"), dims = nv_node(r, AST_TUPLE, operand, NULL);
	nv_node_append(r, call, operand);
	for (unsigned i = 0; i < n; i++)
		nv_node_append(r, dims, nv_node_int(r, operand, i == n - 1 ? n - 2 : i == n - 2 ? n - 1 : i));
	nv_node_key(r, call, "dims", dims);
	return call;
}

/* Makes matmul(T0…, permute(T1…)) + T2… of a linear whose weight has axes over the devices in front. The result has
 * them, too, and the first operand may. */
static void read_batches(struct nv_reader *r, ast_id call, ast_id first, ast_id weight,
                         const struct nv_tensor *result)
{
	ast_id bias = ast_at(r->s->a, weight)->next;
	const struct domain *x = nv_find_domain(r, first), *w = nv_find_domain(r, weight),
	                    *b = nv_find_domain(r, bias);
	unsigned front = w->rank - 2, n = domain_of(r, result)->rank;
	if (n < w->rank || (n != x->rank && n != x->rank + front) ||
	    (nv_is(r, bias, AST_TENSOR) && (!b || !b->rank || b->rank > n)))
		return;
	ast_id inner = nv_node(r, AST_CALL, call, "matmul");
	nv_node_append(r, inner, add_axes(r, first, x, 0, n));
	nv_node_append(r, inner, add_transpose(r, add_axes(r, weight, w, front, n), n));
	if (!b) {
		r->s->a->nodes.at[call].first = ast_at(r->s->a, inner)->first;
		nv_rename_call(r, call, "matmul");
		return;
	}
	r->s->a->nodes.at[call].first = 0;
	nv_node_append(r, call, inner);
	nv_node_append(r, call, add_axes(r, bias, b, b->rank - 1, n));
	r->s->a->nodes.at[call].kind = AST_BINARY;
	nv_rename_call(r, call, "+");
}

void nv_linear(struct nv_reader *r, ast_id call, ast_id first, ast_id weight, const struct nv_tensor *result)
{
	const struct domain *x = nv_find_domain(r, first), *w = nv_find_domain(r, weight);
	ast_id bias = ast_at(r->s->a, weight)->next;
	if (result && x && w && w->rank > 2)
		read_batches(r, call, first, weight, result);
	if (!result || !x || !is_vector(w) || domain_of(r, result)->rank + 1 != x->rank)
		return;
	ast_id inner = nv_node(r, AST_CALL, call, "linear");
	nv_node_append(r, inner, nv_node_copy(r, first));
	nv_node_append(r, inner, add_matrix(r, weight, false));
	if (nv_is(r, bias, AST_TENSOR)) /* one number */
		nv_node_append(r, inner,
		               add_reshape(r, nv_node_copy(r, bias), (expr_id[]){expr_const(r->s->m, 1)}, 1));
	take_product(r, call, inner);
}
