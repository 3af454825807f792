/* ref_eval: evaluates one operation on logical arrays. */
#include "ir/unit.h"
#include "ref/ref_internal.h"
#include <string.h>

bool ref_scalar(struct ref_context *c, scalar_id s, const struct expr_env *env, uint32_t at,
                struct ref_operand *out)
{
	const struct scalar *scalar = &c->m->scalar.at[s];
	*out = (struct ref_operand){.f = scalar->literal, .i = ref_truncate(DTYPE_I64, scalar->literal)};
	if (!scalar->expr)
		return true;
	expr_id offending;
	enum expr_status status = expr_eval(c->m, scalar->expr, env, &out->i, &offending);
	if (status != EXPR_OK) {
		ref_report_expr(c, status, offending, at);
		return false;
	}
	out->f = (double)out->i;
	return true;
}

/* Returns the dtype of a scalar operand: that of another operand (not the condition of a where), otherwise
 * that of the result. */
static enum dtype scalar_dtype(const struct ref_call *call, bool where, const struct ref_array *out)
{
	for (unsigned k = where; k < call->n; k++)
		if (call->in[k].array)
			return call->in[k].array->dtype;
	return out->dtype;
}

static bool make_scalar(struct ref_context *c, const struct ref_operand *from, enum dtype t, uint32_t at,
                        struct ref_array *out)
{
	if (!ref_array_make(c, out, t, 0, NULL, at))
		return false;
	if (from->f == (double)from->i)
		ref_store_int(out, 0, from->i);
	else
		ref_store(out, 0, from->f);
	out->state[0] = REF_DEFINED;
	return true;
}

bool ref_attr_int(struct ref_context *c, const struct ref_call *call, const char *key, int64_t otherwise,
                  int64_t *out)
{
	const struct attr *a = op_attr(c->m, call->op, key);
	*out = otherwise;
	if (!a)
		return true;
	if (a->kind != ATTR_EXPR) {
		*out = a->kind == ATTR_INT                 ? a->u.i
		       : a->kind == ATTR_INTS && a->n == 1 ? a->u.ints[0]
		                                           : otherwise;
		return true;
	}
	const struct expr_env none = {.rank = -1};
	expr_id offending;
	enum expr_status status = expr_eval(c->m, a->u.expr, call->env ? call->env : &none, out, &offending);
	if (status != EXPR_OK)
		ref_report_expr(c, status, offending, ir_op(c->m, call->op)->at);
	return status == EXPR_OK;
}

void ref_report_op(struct ref_context *c, op_id op)
{
	const struct op *o = ir_op(c->m, op);
	const struct attr *callee = op_attr(c->m, op, "callee");
	if (o->kind == OP_EXTERN && callee && ir_unit_is_unknown(c->m, c->m->region.at[o->parent].owner))
		diag_error(c->d, E_REFERENCE_OPERATION, o->at, "the text of the kernel '%s' is missing",
		           names_text(c->m->names, callee->u.name));
	else if (o->kind == OP_EXTERN && callee)
		diag_error(c->d, E_REFERENCE_OPERATION, o->at, "extern \"%s\" cannot be evaluated",
		           names_text(c->m->names, callee->u.name));
	else
		diag_error(c->d, E_REFERENCE_OPERATION, o->at, "%s cannot be evaluated",
		           op_info[o->kind].hir);
}

static bool dispatch(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                     struct ref_array *out)
{
	enum op_kind kind = (enum op_kind)ir_op(c->m, call->op)->kind;
	uint32_t traits = op_info[kind].traits;
	if (kind == OP_BITCAST)
		return ref_bitcast(c, call, in[0], out);
	if (kind == OP_UNIFORM)
		return ref_uniform(c, call, out);
	if (traits & TRAIT_POINTWISE || kind == OP_BROADCAST)
		return ref_pointwise(c, call, in, out);
	if (traits & TRAIT_REDUCTION)
		return ref_reduce(c, call, in[0], out);
	if (traits & TRAIT_CONTRACTION)
		return ref_contract(c, call, in, out);
	switch (kind) {
	case OP_RESHAPE:
	case OP_PERMUTE:
	case OP_SLICE:
	case OP_SPLIT:
	case OP_PAD:
	case OP_CAT:
	case OP_IOTA:
	case OP_SET:
		return ref_shape(c, call, in, out);
	case OP_SCAN:
		return ref_scan(c, call, in[0], out);
	case OP_TOPK:
		return ref_topk(c, call, in[0], out);
	case OP_DISPATCH:
		return ref_dispatch(c, call, in, out);
	case OP_COMBINE:
		return ref_combine(c, call, in, out);
	case OP_TAKE:
		return ref_take(c, call, in, out);
	case OP_GROUPED_MATMUL:
		return ref_contract(c, call, in, out);
	case OP_PUT:
		return ref_put(c, call, in, out);
	case OP_ONE_HOT:
		return ref_one_hot(c, call, in[0], out);
	case OP_SOFTMAX:
		return ref_softmax(c, call, in[0], out);
	case OP_SDPA:
		return ref_sdpa(c, call, in, out);
	case OP_SDPA_BACKWARD:
		return ref_sdpa_backward(c, call, in, out);
	case OP_LAYERNORM:
	case OP_RMSNORM:
		return ref_norm(c, call, in, out);
	default:
		ref_report_op(c, call->op);
		return false;
	}
}

void ref_advance(struct ref_context *c, double work)
{
	c->done += work;
	if (!c->o->progress || c->done - c->told < c->expected / 256)
		return;
	c->told = c->done;
	c->o->progress(c->o->progress_to, c->done / c->expected);
}

bool ref_refuse_shapes(struct ref_context *c, const struct op *op)
{
	diag_error(c->d, E_REFERENCE_SHAPE, op->at, "the operands of %s do not fit its result",
	           op_info[op->kind].hir);
	return false;
}

bool ref_eval(struct ref_context *c, const struct ref_call *call, struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	const struct ref_array **in = mem_zalloc(sizeof *in * (call->n + 1));
	struct ref_array *scalar = mem_zalloc(sizeof *scalar * (call->n + 1));
	bool ok = true;
	for (unsigned k = 0; k < call->n && ok; k++) {
		in[k] = call->in[k].array;
		if (in[k])
			continue;
		bool where = op->kind == OP_WHERE;
		enum dtype t = where && k == 0 ? DTYPE_BOOL : scalar_dtype(call, where, out);
		ok = make_scalar(c, &call->in[k], t, op->at, &scalar[k]);
		in[k] = &scalar[k];
	}
	ok = ok && dispatch(c, call, in, out);
	ref_advance(c, REF_ELEMENT_WORK * (double)ref_array_count(out));
	for (unsigned k = 0; k < call->n; k++)
		ref_array_free(&scalar[k]);
	free(scalar);
	free(in);
	return ok;
}
