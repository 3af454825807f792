/* ref_index: operations on indices, and bitcast. */
#include "ref/ref_internal.h"
#include <math.h>

static bool unfit(struct ref_context *c, const struct op *op)
{
	diag_error(c->d, op->at, "the operands of %s do not fit its result", op_info[op->kind].hir);
	return false;
}

static bool wanted(const struct ref_call *call, int64_t i)
{
	return !call->want || call->want[i];
}

bool ref_take(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	const struct ref_array *table = in[0], *index = in[1];
	int64_t axis = op_attr_int(c->m, call->op, "axis", 0), inner = 1;
	axis += axis < 0 ? table->nd : 0;
	if (axis < 0 || axis >= table->nd)
		return unfit(c, op);
	for (int k = (int)axis + 1; k < table->nd; k++)
		inner *= table->n[k];
	int64_t n = table->n[axis], many = ref_array_count(index), count = ref_array_count(out);
	if (count != (n ? ref_array_count(table) / n * many : count))
		return unfit(c, op);
	ref_inherit(out, table);
	ref_inherit(out, index);
	for (int64_t i = 0; i < count; i++) { /* i = (outer * many + at) * inner + within */
		int64_t at = i / inner % many, outer = i / inner / many, k = index->ints[at];
		out->state[i] = index->state[at];
		if (index->state[at] != REF_DEFINED || !wanted(call, i))
			continue;
		if (k < 0 || k >= n) {
			diag_error(c->d, op->at,
			           "gather: index %lld is not below %lld, the extent of the axis",
			           (long long)k, (long long)n);
			return false;
		}
		ref_copy(out, i, table, (outer * n + k) * inner + i % inner);
		if (index->error[at] > 0)
			out->error[i] = INFINITY;
	}
	return true;
}

bool ref_one_hot(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out)
{
	int64_t n = out->nd ? out->n[out->nd - 1] : 0, count = ref_array_count(out);
	if (out->nd != in->nd + 1 || count != n * ref_array_count(in))
		return unfit(c, ir_op(c->m, call->op));
	ref_inherit(out, in);
	for (int64_t i = 0; i < count; i++) {
		ref_store_int(out, i, in->ints[i / n] == i % n);
		out->state[i] = in->state[i / n];
		if (in->error[i / n] > 0)
			out->error[i] = 1;
	}
	return true;
}

bool ref_bitcast(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	if (count != ref_array_count(in))
		return unfit(c, ir_op(c->m, call->op));
	ref_inherit(out, in);
	for (int64_t i = 0; i < count; i++) {
		ref_store_bits(out, i, ref_bits(in, i));
		out->state[i] = in->state[i];
		if (in->error[i] > 0 || isnan(in->data[i])) {
			out->error[i] = INFINITY;
			out->exact = false;
		}
	}
	return true;
}
