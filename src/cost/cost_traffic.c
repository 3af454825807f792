/* cost_traffic: counts the bytes that a statement reads and writes. */
#include "cost/model.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/unit.h"

/* Returns the number of elements of operand k that the largest part of the result needs. */
static int64_t needed(const struct infer_axes *x, unsigned k, const struct local_shape *in,
                      const struct local_shape *result)
{
	int64_t elements = 1;
	for (unsigned a = 0; a < in->rank; a++) {
		int64_t n = in->n[a];
		for (unsigned r = 0; r < result->rank; r++)
			if (x->result[r] != INFER_NONE && x->operand[k][a] == x->result[r] &&
			    x->kind[x->result[r]] == DIM_PARALLEL && result->n[r] < n)
				n = result->n[r];
		elements *= n;
	}
	return elements;
}

/* Returns true if the operation reads only as many elements of its first operand as it returns. */
static bool takes_part(enum op_kind kind)
{
	return kind == OP_SLICE || kind == OP_SPLIT || kind == OP_TAKE;
}

/* Finds the bytes that a statement reads and writes. */
bool traffic_find(const struct cost *c, op_id op, struct traffic *out)
{
	const struct module *m = c->m;
	struct infer_axes x;
	struct local_shape s, result = {0};
	cost_amount written = 0;
	bool known = infer_axes(m, op, &x);
	*out = (struct traffic){0};
	for (unsigned k = 0; k < op_result_count(m, op); k++) {
		if (!cost_shape(c, op, op_result(m, op, k), &s))
			return false;
		if (!k)
			result = s;
		written += (cost_amount)s.bytes;
		traffic_add(c, op, op_result(m, op, k), (cost_amount)s.bytes, out);
	}
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		if (!cost_shape(c, op, v, &s))
			return false;
		cost_amount bytes = (cost_amount)s.bytes;
		if (known && k < x.operand_n && op_result_count(m, op))
			bytes =
			    (cost_amount)needed(&x, k, &s, &result) * dtype_bytes(value_type(m, v)->dtype);
		if (!k && takes_part((enum op_kind)m->op.at[op].kind) && bytes > written)
			bytes = written;
		traffic_add(c, op, v, bytes, out);
	}
	if (op_attr_is_true(m, op, "accumulate"))
		out->bytes += (cost_amount)result.bytes; /* already counted as written */
	return true;
}

bool traffic_bytes(const struct cost *c, op_id op, int64_t *out)
{
	struct traffic t;
	if (!traffic_find(c, op, &t))
		return false;
	*out = local_limit_bytes(t.bytes);
	return true;
}

/* Finds the bytes that a unit reads from outside, and those that it writes. */
bool traffic_find_unit(const struct cost *c, op_id op, struct traffic *out)
{
	struct ir_unit_operands x = {0};
	struct local_shape s;
	bool ok = true;
	*out = (struct traffic){0};
	ir_unit_operands_find(c->m, op, &x);
	for (uint32_t k = 0; k < x.in.n + x.out.n && ok; k++) {
		value_id v = k < x.in.n ? x.in.at[k] : x.out.at[k - x.in.n];
		ok = cost_shape(c, op, v, &s);
		if (ok)
			traffic_add(c, op, v, (cost_amount)s.bytes, out);
	}
	vec_free(&x.in);
	vec_free(&x.out);
	return ok;
}

/* Returns the time of reading and writing. */
int64_t traffic_time(const struct cost *c, const struct traffic *t)
{
	int64_t bytes = local_limit_bytes(t->bytes);
	return curve_add(touch_time(c, bytes), traffic_excess(c, t, NULL, bytes));
}
