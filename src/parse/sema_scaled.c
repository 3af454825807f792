/* sema_scaled: reads products of scaled matrices as the operations that they are made of.
 *
 *     T9… = ScaledMmaOp(mat1=T0…, mat2=T1…, scale1=T2…, scale2=T3…,      p: f32 = matmul(T0, T1)
 *                       alpha=T4…, bias=T5…, beta=T6…)                   T9 = cast(p * T2 * T3 * T4 + cast(T5) * T6)
 *
 *     T5… = GroupedMmaOp(mat1=T0…, mat2=T1…, offsets=T2…,                p: f32 = grouped_matmul(T0 * T3, T1 * T4, T2)
 *                        scale1=T3…, scale2=T4…)                         T5 = cast(p)
 *
 *     T4… = mma(T2…, T3…)                                                 p: f32 = T2 * T3
 *                                                                         T4 = sum(p, axis=2)
 *
 * The product is of f32 whatever the matrices are, and only the sum of all is rounded. A scale has one element, or one
 * for each row of mat1 or column of mat2: a scale for each block along the summed axis has no form here. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

/* Appends an operation on n values that has a result of f32. type: the result's; 0: as the operation has it. Returns the
 * result, or 0 after reporting. */
static value_id add_operation(struct nv_reader *r, enum op_kind kind, type_id type, value_id *operand,
                              unsigned n, uint32_t at)
{
	struct module *m = r->s->m;
	const struct infer_draft draft = {
	    .kind = kind, .operand_n = n, .operand = operand, .result_n = 1, .stated = type, .at = at};
	if (type ? !infer_check(m, r->s->d, &draft) : !(type = infer_type(m, r->s->d, &draft)))
		return 0;
	value_id v = ir_value_new(m, type, 0, at);
	struct ir_use use[4] = {{ROLE_DEF, v}};
	for (unsigned i = 0; i < n; i++)
		use[i + 1] = (struct ir_use){ROLE_READ, operand[i]};
	op_id op = ir_op_new(m, kind, at, use, n + 1);
	nv_append(r, op);
	if (kind == OP_MATMUL)
		m->value.at[v].type = infer_reduce_axes(m, op, type);
	return v;
}

static value_id add_value(struct nv_reader *r, enum op_kind kind, type_id type, value_id a, value_id b,
                          uint32_t at)
{
	value_id operand[] = {a, b};
	return add_operation(r, kind, type, operand, b ? 2 : 1, at);
}

static type_id type_of_f32(struct nv_reader *r, type_id t)
{
	return type_with_dtype(r->s->m, t, DTYPE_F32);
}

static enum dtype dtype_of(struct nv_reader *r, value_id v)
{
	return (enum dtype)value_type(r->s->m, v)->dtype;
}

/* Returns a value as f32; 0 after reporting. */
static value_id as_f32(struct nv_reader *r, value_id v, uint32_t at)
{
	return !v || dtype_of(r, v) == DTYPE_F32
	           ? v
	           : add_value(r, OP_CAST, type_of_f32(r, r->s->m->value.at[v].type), v, 0, at);
}

/* Reads a scale, which has one element along the summed axis: the last one of mat1, the first one of mat2. Returns 0 after
 * reporting. */
static value_id read_scale(struct nv_reader *r, ast_id node, bool second)
{
	value_id v = nv_operand(r, node);
	const struct domain *d = v ? value_domain(r->s->m, v) : NULL;
	if (!d)
		return 0;
	const unsigned summed = second ? 0 : d->rank - 1u;
	bool fits = dtype_of(r, v) == DTYPE_F32 && d->rank <= 2 &&
	            (!d->rank || expr_is_one(r->s->m, d->axis[summed].extent));
	if (!fits)
		nv_refuse(r, E_SHAPES_DIFFER, node,
		          "a scale is of float, with one element or one for each row of mat1 or column of "
		          "mat2: scales of "
		          "blocks are not read");
	return fits ? v : 0;
}

/* Reads an operand with a key and multiplies by it. type: the result's, or 0. Returns x without one, 0 after reporting. */
static value_id multiply(struct nv_reader *r, type_id type, value_id x, ast_id call, const char *key,
                         uint32_t at)
{
	ast_id node = nv_key(r, call, key);
	value_id factor = x && node ? as_f32(r, nv_operand(r, node), at) : 0;
	if (!x || !node)
		return x;
	return factor ? add_value(r, OP_MUL, type, x, factor, at) : 0;
}

/* Returns the scaled product with its bias, of the given type; 0 after reporting. */
static value_id add_product(struct nv_reader *r, type_id type, ast_id call, uint32_t at)
{
	ast_id mat1 = nv_need_key(r, call, "mat1"), mat2 = nv_need_key(r, call, "mat2"),
	       scale1 = nv_need_key(r, call, "scale1"), scale2 = nv_need_key(r, call, "scale2"),
	       bias = nv_key(r, call, "bias");
	if (!mat1 || !mat2 || !scale1 || !scale2)
		return 0;
	value_id a = nv_operand(r, mat1), b = nv_operand(r, mat2), x = read_scale(r, scale1, false),
	         y = read_scale(r, scale2, true);
	if (!a || !b || !x || !y)
		return 0;
	value_id v = add_value(r, OP_MATMUL, type, a, b, at);
	v = v ? add_value(r, OP_MUL, type, v, x, at) : 0;
	v = v ? add_value(r, OP_MUL, type, v, y, at) : 0;
	v = multiply(r, type, v, call, "alpha", at);
	if (!v || !bias)
		return v;
	value_id addend = multiply(r, 0, as_f32(r, nv_operand(r, bias), at), call, "beta", at);
	return addend ? add_value(r, OP_ADD, type, v, addend, at) : 0;
}

/* Returns a matrix as f32, times a scale that has one element along the summed axis; 0 after reporting. */
static value_id scale_matrix(struct nv_reader *r, ast_id matrix, ast_id scale, unsigned summed, uint32_t at)
{
	value_id a = as_f32(r, nv_operand(r, matrix), at), x = nv_operand(r, scale);
	if (!a || !x)
		return 0;
	const struct domain *d = value_domain(r->s->m, x);
	if (dtype_of(r, x) == DTYPE_F32 && d->rank == value_domain(r->s->m, a)->rank &&
	    expr_is_one(r->s->m, d->axis[summed].extent))
		return add_value(r, OP_MUL, r->s->m->value.at[a].type, a, x, at);
	nv_refuse(
	    r, E_SHAPES_DIFFER, scale,
	    "a scale of a grouped product is of float, with the axes of its matrix and one element along the "
	    "summed axis: scales of blocks are not read");
	return 0;
}

/* Returns the grouped product of scaled matrices; 0 after reporting. */
static value_id add_grouped(struct nv_reader *r, type_id type, ast_id call, uint32_t at)
{
	ast_id mat1 = nv_need_key(r, call, "mat1"), mat2 = nv_need_key(r, call, "mat2"),
	       offsets = nv_need_key(r, call, "offsets"), scale1 = nv_need_key(r, call, "scale1"),
	       scale2 = nv_need_key(r, call, "scale2");
	unsigned n = 0;
	ast_each (r->s->a, key, call)
		n++;
	if (!mat1 || !mat2 || !offsets || !scale1 || !scale2)
		return 0;
	if (n > 5) {
		nv_refuse(r, E_OPERAND_COUNT, call, "alpha and a bias of a GroupedMmaOp are not read");
		return 0;
	}
	value_id operand[] = {scale_matrix(r, mat1, scale1, 1, at), scale_matrix(r, mat2, scale2, 1, at),
	                      nv_operand(r, offsets)};
	return operand[0] && operand[1] && operand[2]
	           ? add_operation(r, OP_GROUPED_MATMUL, type, operand, 3, at)
	           : 0;
}

bool nv_scaled(struct nv_reader *r, ast_id targets, ast_id call)
{
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound, v = 0;
	if (!targets || !nv_is(r, call, AST_CALL))
		return false;
	const bool grouped = !strcmp(ast_text(s->a, call), "GroupedMmaOp") && nv_key(r, call, "scale1");
	if (!grouped && strcmp(ast_text(s->a, call), "ScaledMmaOp") != 0)
		return false;
	const uint32_t at = ast_at(s->a, call)->at;
	ast_id target = ast_at(s->a, targets)->first;
	if (ast_at(s->a, target)->next) {
		nv_refuse(r, E_RESULT_COUNT, call,
		          "a product of scaled matrices has one result here: scales of its blocks are not "
		          "computed");
		ast_each (s->a, other, targets) /* so that uses of the results are not errors, too */
			if (nv_result(r, other, &t, &bound) && !t->value)
				nv_define(r, t, at);
		return true;
	}
	if (!nv_result(r, target, &t, &bound))
		return true;
	const type_id type = type_of_f32(r, infer_without_reduce(s->m, t->type));
	v = grouped ? add_grouped(r, type, call, at) : add_product(r, type, call, at);
	if (!v) {
		if (!t->value)
			nv_define(r, t, at);
		return true;
	}
	const enum dtype dtype = (enum dtype)s->m->type.at[t->type].dtype;
	const enum op_kind kind = dtype == DTYPE_F32 ? OP_SET : OP_CAST;
	const struct infer_draft draft = {
	    .kind = kind, .operand_n = 1, .operand = &v, .result_n = 1, .stated = t->type, .at = at};
	if (infer_check(s->m, s->d, &draft))
		nv_append_result(r, t, bound, kind, v, at);
	return true;
}

bool nv_mma(struct nv_reader *r, ast_id call, struct nv_tensor *result)
{
	const uint32_t at = ast_at(r->s->a, call)->at;
	ast_id first = ast_at(r->s->a, call)->first, second = first ? ast_at(r->s->a, first)->next : 0;
	if (!second || ast_at(r->s->a, second)->next)
		return nv_refuse(r, E_OPERAND_COUNT, call, "mma takes two matrices");
	value_id a = as_f32(r, nv_operand(r, first), at), b = a ? as_f32(r, nv_operand(r, second), at) : 0,
	         product = b ? add_value(r, OP_MUL, 0, a, b, at) : 0;
	if (!product)
		return false;
	r->s->a->nodes.at[call].first = 0;
	nv_node_append(r, call, nv_node_value(r, call, product));
	nv_node_key(r, call, "op", nv_node(r, AST_NAME, call, "add"));
	nv_rename_call(r, call, "reduction");
	return nv_reduction(r, call, result);
}
