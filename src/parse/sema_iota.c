/* sema_iota: reads the numbers of a row, and the matrix with ones on its diagonal.
 *
 *     T0 = iota(8, 0, 1, int64_t)       T0 = iota()
 *     T0 = iota(8, 3, 2, int64_t)       T1 = iota(); T0 = T1 * 2 + 3
 *
 *     T0 = eye(4, float)                T1 = iota(); T0 = one_hot(T1)
 *
 * The result tells the extents and the dtype, so the call must not tell others. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

/* Returns false if both are known and differ. Scalars may have other names in the result. */
static bool may_be_extent(struct nv_reader *r, ast_id stated, expr_id of_result)
{
	int64_t extent;
	return !nv_is(r, stated, AST_INT) || !expr_is_const(r->s->m, of_result, &extent) ||
	       extent == ast_at(r->s->a, stated)->value.i;
}

bool nv_check_extents(struct nv_reader *r, ast_id tuple, const struct nv_tensor *result)
{
	const struct domain *d = ir_domain(r->s->m, r->s->m->type.at[result->type].domain);
	unsigned n = 0;
	ast_each (r->s->a, e, tuple) {
		if (n < d->rank && !may_be_extent(r, e, d->axis[n].extent))
			break;
		n++;
	}
	return n == d->rank || nv_refuse(r, E_SHAPES_DIFFER, tuple, "the result has another shape");
}

/* Returns false after reporting a number that is not the extent of an axis of the result. */
static bool check_extent(struct nv_reader *r, ast_id stated, const struct nv_tensor *result, unsigned axis)
{
	const struct domain *d = ir_domain(r->s->m, r->s->m->type.at[result->type].domain);
	return may_be_extent(r, stated, d->axis[axis].extent) ||
	       nv_refuse(r, E_SHAPES_DIFFER, stated, "the result has another extent");
}

bool nv_check_dtype(struct nv_reader *r, ast_id stated, const struct nv_tensor *result)
{
	enum dtype dtype = DTYPE_I64;
	bool known = nv_is(r, stated, AST_NAME) && (dtype_parse_nvfuser(ast_text(r->s->a, stated), &dtype) ||
	                                            !strcmp(ast_text(r->s->a, stated), "nvfuser_index_t"));
	return (known && dtype == (enum dtype)r->s->m->type.at[result->type].dtype) ||
	       nv_refuse(r, E_OPERAND_DTYPE, stated, "the result has another dtype");
}

/* Makes the number a float if the result is one. */
static ast_id number_of(struct nv_reader *r, ast_id number, const struct nv_tensor *result)
{
	ast_id id = nv_node_copy(r, number);
	struct ast_node *n = &r->s->a->nodes.at[id];
	if (n->kind == AST_INT && dtype_is_float((enum dtype)r->s->m->type.at[result->type].dtype)) {
		n->kind = AST_FLOAT;
		n->value.f = (double)n->value.i;
	}
	return id;
}

void nv_make_binary(struct nv_reader *r, ast_id node, const char *sign, ast_id left, ast_id number)
{
	struct ast_node *n = &r->s->a->nodes.at[node];
	n->kind = AST_BINARY;
	n->name = names_intern_z(r->s->m->names, sign);
	n->first = 0;
	nv_node_append(r, node, left);
	nv_node_append(r, node, number);
}

bool nv_term(struct nv_reader *r, ast_id call, type_id type, const char *term, ast_id *out)
{
	struct sema *s = r->s;
	uint32_t at = ast_at(s->a, call)->at;
	value_id v;
	struct nv_tensor named = {.name = names_intern_z(s->m->names, term)};
	*out = nv_node(r, AST_NAME, call, term);
	if (!sema_call(s, call, &(struct sema_result){.type = type, .at = at}, 1, 0, at, &v))
		return false;
	nv_stand_for(r, &named, v);
	return true;
}

bool nv_iota(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	struct sema *s = r->s;
	ast_id length = ast_at(s->a, call)->first, start = ast_at(s->a, length)->next,
	       step = start ? ast_at(s->a, start)->next : 0;
	s->a->nodes.at[call].first = 0;
	if (!step)
		return nv_refuse(r, E_OPERAND_COUNT, call, "iota takes `iota(length, start, step, dtype)`");
	if (ir_domain(s->m, s->m->type.at[result->type].domain)->rank != 1)
		return nv_refuse(r, E_OPERAND_RANK, call, "the result of iota has one axis");
	ast_id dtype = ast_at(s->a, step)->next;
	if (!check_extent(r, length, result, 0) || (dtype && !nv_check_dtype(r, dtype, result)))
		return false;
	bool from_zero = nv_is_int(r, start, 0), by_one = nv_is_int(r, step, 1);
	if (from_zero && by_one)
		return true;
	ast_id left;
	if (!nv_term(r, nv_node(r, AST_CALL, call, "iota"), result->type, "the row of an iota", &left))
		return false;
	start = number_of(r, start, result);
	step = number_of(r, step, result);
	if (from_zero) {
		nv_make_binary(r, call, "*", left, step);
		return true;
	}
	if (!by_one) {
		ast_id product = nv_node(r, AST_BINARY, call, "*");
		nv_make_binary(r, product, "*", left, step);
		left = product;
	}
	nv_make_binary(r, call, "+", left, start);
	return true;
}

bool nv_eye(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	struct module *m = r->s->m;
	const struct type *t = &m->type.at[result->type];
	const struct domain *d = ir_domain(m, t->domain);
	struct domain_builder b;
	ast_id row;
	if (d->rank != 2)
		return nv_refuse(r, E_OPERAND_RANK, call, "the result of eye has two axes");
	unsigned axis = 0;
	ast_each (r->s->a, stated, call)
		if (nv_is(r, stated, AST_NAME) && !ast_at(r->s->a, stated)->next
		        ? !nv_check_dtype(r, stated, result)
		        : axis < 2 && !check_extent(r, stated, result, axis++))
			return false;
	domain_begin(&b);
	domain_add_axis(&b, AXIS_ITER, d->axis[0].extent);
	domain_allocate_default(&b, false);
	const type_id row_type = type_make(m, DTYPE_I64, MEMORY_GLOBAL, t->mesh, domain_finish(m, &b));
	if (!nv_term(r, nv_node(r, AST_CALL, call, "iota"), row_type, "the row of an iota", &row))
		return false;
	r->s->a->nodes.at[call].first = 0;
	nv_node_append(r, call, row);
	nv_rename_call(r, call, "one_hot");
	return true;
}
