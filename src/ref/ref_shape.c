/* ref_shape: operations that move elements without computing. */
#include "ref/ref_internal.h"
#include <string.h>

/* Finds the axis= of an operation on a tensor of nd dimensions; negative ones count from the end. */
static bool axis_of(struct ref_context *c, const struct ref_call *call, int nd, int *out)
{
	int64_t axis;
	if (!ref_attr_int(c, call, "axis", 0, &axis))
		return false;
	*out = (int)(axis < 0 ? axis + nd : axis);
	if (*out < 0 || *out >= nd)
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
	return true;
}

/* Copies in[index] to out[index + shift along axis] wherever that lies inside out. */
static void copy_shifted(const struct ref_array *in, struct ref_array *out, int axis, int64_t shift)
{
	int64_t index[IR_MAX_LOGICAL] = {0}, stride[IR_MAX_LOGICAL], i = 0;
	ref_array_strides(out, stride);
	if (ref_array_count(in) == 0)
		return;
	do {
		int64_t to = 0, along = axis >= 0 ? index[axis] + shift : 0;
		for (int k = 0; k < out->nd; k++)
			to += (k == axis ? along : index[k]) * stride[k];
		if (axis < 0 || (along >= 0 && along < out->n[axis]))
			ref_copy(out, to, in, i);
		i++;
	} while (ref_next(in->nd, in->n, index));
}

static bool same_but(const struct ref_array *a, const struct ref_array *b, int axis)
{
	if (a->nd != b->nd)
		return false;
	for (int k = 0; k < a->nd; k++)
		if (k != axis && a->n[k] != b->n[k])
			return false;
	return true;
}

static bool copy_permuted(struct ref_context *c, const struct op *op, const struct attr *dims,
                          const struct ref_array *in, struct ref_array *out)
{
	int64_t index[IR_MAX_LOGICAL] = {0}, stride[IR_MAX_LOGICAL], i = 0;
	if (!dims || dims->kind != ATTR_INTS || (int)dims->n != in->nd || in->nd != out->nd)
		return ref_refuse_shapes(c, op);
	for (int k = 0; k < in->nd; k++)
		if (dims->u.ints[k] < 0 || dims->u.ints[k] >= in->nd || out->n[k] != in->n[dims->u.ints[k]])
			return ref_refuse_shapes(c, op);
	ref_array_strides(in, stride);
	if (ref_array_count(out) == 0)
		return true;
	do {
		int64_t from = 0;
		for (int k = 0; k < out->nd; k++)
			from += index[k] * stride[dims->u.ints[k]];
		ref_copy(out, i++, in, from);
	} while (ref_next(out->nd, out->n, index));
	return true;
}

/* Copies a reshape: elements keep their row-major order. */
static bool copy_reshaped(struct ref_context *c, const struct op *op, const struct ref_array *in,
                          struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	if (count != ref_array_count(in))
		return ref_refuse_shapes(c, op);
	for (int64_t i = 0; i < count; i++)
		ref_copy(out, i, in, i);
	return true;
}

static bool cat(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                struct ref_array *out)
{
	int axis;
	int64_t start = 0;
	if (!axis_of(c, call, out->nd, &axis))
		return false;
	for (unsigned k = 0; k < call->n; k++) {
		if (!same_but(in[k], out, axis))
			return ref_refuse_shapes(c, ir_op(c->m, call->op));
		copy_shifted(in[k], out, axis, start);
		start += in[k]->n[axis];
	}
	return start == out->n[axis] || ref_refuse_shapes(c, ir_op(c->m, call->op));
}

static bool pad(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                struct ref_array *out)
{
	int axis;
	int64_t before, count = ref_array_count(out);
	if (!axis_of(c, call, out->nd, &axis) || !ref_attr_int(c, call, "before", 0, &before))
		return false;
	if (!same_but(in, out, axis))
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
	memset(out->state, REF_DEFINED, (size_t)count); /* zeros */
	copy_shifted(in, out, axis, before);
	return true;
}

/* Finds the start of one result of a split. All results must cover the whole axis. */
static bool part_start(struct ref_context *c, const struct ref_call *call, int axis, int64_t whole,
                       int64_t *start)
{
	const struct expr_env env = {.rank = -1};
	int64_t sum = 0;
	for (unsigned k = 0; k < op_result_count(c->m, call->op); k++) {
		expr_id offending, e = value_domain(c->m, op_result(c->m, call->op, k))->axis[axis].extent;
		int64_t n;
		enum expr_status status = expr_eval(c->m, e, &env, &n, &offending);
		if (status != EXPR_OK) {
			ref_report_expr(c, status, offending, ir_op(c->m, call->op)->at);
			return false;
		}
		if (k == call->result)
			*start = sum;
		sum += n;
	}
	if (sum != whole)
		diag_error(c->d, E_SPLIT_SIZES, ir_op(c->m, call->op)->at,
		           "the results of split have %lld elements together, the axis %lld", (long long)sum,
		           (long long)whole);
	return sum == whole;
}

static bool copy_slice(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                       struct ref_array *out)
{
	bool split = ir_op(c->m, call->op)->kind == OP_SPLIT;
	int axis;
	int64_t start = 0;
	if (!axis_of(c, call, out->nd, &axis))
		return false;
	if (!same_but(in, out, axis))
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
	if (split ? !part_start(c, call, axis, in->n[axis], &start)
	          : !ref_attr_int(c, call, "start", 0, &start))
		return false;
	if (start < 0 || start > in->n[axis] - out->n[axis]) {
		diag_error(c->d, E_INDEX_OUTSIDE, ir_op(c->m, call->op)->at,
		           "%s takes %lld elements from %lld on, the axis has %lld",
		           op_info[ir_op(c->m, call->op)->kind].hir, (long long)out->n[axis],
		           (long long)start, (long long)in->n[axis]);
		return false;
	}
	copy_shifted(in, out, axis, -start);
	return true;
}

static void fill_iota(struct ref_array *out)
{
	int64_t count = ref_array_count(out), last = out->nd ? out->n[out->nd - 1] : 1;
	for (int64_t i = 0; i < count; i++) {
		ref_store_int(out, i, i % last);
		out->state[i] = REF_DEFINED;
	}
}

bool ref_shape(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
               struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	switch ((enum op_kind)op->kind) {
	case OP_RESHAPE:
		return copy_reshaped(c, op, in[0], out);
	case OP_PERMUTE:
		return copy_permuted(c, op, op_attr(c->m, call->op, "dims"), in[0], out);
	case OP_SLICE:
	case OP_SPLIT:
		return copy_slice(c, call, in[0], out);
	case OP_PAD:
		return pad(c, call, in[0], out);
	case OP_CAT:
		return cat(c, call, in, out);
	case OP_IOTA:
		fill_iota(out);
		return true;
	default: /* a copy */
		if (!same_but(in[0], out, -1))
			return ref_refuse_shapes(c, op);
		copy_shifted(in[0], out, -1, 0);
		return true;
	}
}
