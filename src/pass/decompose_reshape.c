/* decompose_reshape: gives reshapes that regroup elements row-major tensors.
 *
 *     Y: f32[4, 6] = reshape(X)        X: f32[6, 4], by columns in memory
 *  →
 *     T2: f32[6, 4] = set(X)           T2 by rows
 *     Y: f32[4, 6] = reshape(T2)
 *
 * A reshape that regroups elements reads and writes them in row-major order. A tensor with another
 * allocation is copied before or after. */
#include "ir/expr.h"
#include "pass/decompose.h"
#include "pass/order.h"
#include "pass/rewrite.h"

static bool is_one(const struct module *m, expr_id e)
{
	int64_t k;
	return expr_is_const(m, e, &k) && k == 1;
}

/* Returns the extent of the next axis of a dim, from *at on, that is not 1; 0: there is none. */
static expr_id next_in(const struct module *m, const struct domain *d, const uint8_t *dim_of, unsigned dim,
                       unsigned *at)
{
	while (*at < d->rank) {
		unsigned a = (*at)++;
		if (dim_of[a] == dim && !is_one(m, d->axis[a].extent))
			return d->axis[a].extent;
	}
	return 0;
}

/* Returns true if splits or joins turn one group of axes into the other: [6, 4] → [2, 3, 4]. */
static bool is_refined(struct module *m, const struct domain *x, const uint8_t *x_dim, unsigned from,
                       const struct domain *r, const uint8_t *r_dim, unsigned to)
{
	unsigned i = 0, j = 0;
	int64_t left = 1, right = 1;
	if (!next_in(m, x, x_dim, from, &i) || !next_in(m, x, x_dim, from, &i) ||
	    !next_in(m, r, r_dim, to, &j) || !next_in(m, r, r_dim, to, &j))
		return true; /* one side has a single axis */
	for (i = j = 0;;) {
		expr_id e = left == 1 ? next_in(m, x, x_dim, from, &i) : 0,
		        f = right == 1 ? next_in(m, r, r_dim, to, &j) : 0;
		if ((e && !expr_is_const(m, e, &left)) || (f && !expr_is_const(m, f, &right)))
			return false;
		if (left <= 1 || right <= 1)
			return true; /* no axis is left */
		int64_t g = left < right ? left : right;
		if (left % g || right % g)
			return false;
		left /= g, right /= g;
	}
}

/* Returns true if a reshape is one strided copy, whatever the orders in memory. */
static bool is_strided(struct module *m, op_id op)
{
	struct infer_axes x;
	const struct domain *o = value_domain(m, op_read(m, op, 0)),
	                    *r = value_domain(m, op_result(m, op, 0));
	if (!infer_axes(m, op, &x))
		return true;
	for (unsigned d = 0; d + 1 < x.dim_n; d++)
		if (x.kind[d] == DIM_WHOLE && x.kind[d + 1] == DIM_WHOLE) {
			if (!is_refined(m, o, x.operand[0], d, r, x.result, d + 1))
				return false;
			d++;
		}
	return true;
}

void decompose_reshape(struct module *m, struct pass_context *cx, op_id op)
{
	struct op_layout l;
	if (m->op.at[op].kind != OP_RESHAPE || is_strided(m, op) || !op_layout_read(m, op, &l))
		return;
	if (!order_is_row_major(m, m->value.at[l.operand[0]].type)) {
		type_id t = order_row_major(m, m->value.at[l.operand[0]].type);
		rewrite_reads(m, op, l.operand[0], rewrite_set_before(m, op, l.operand[0], t));
		pass_remark(cx, m, m->op.at[op].at,
		            "copied before: a reshape needs its operand row-major in memory");
	}
	if (!order_is_row_major(m, m->value.at[l.result].type)) {
		rewrite_set_after(m, op, order_row_major(m, m->value.at[l.result].type));
		pass_remark(cx, m, m->op.at[op].at,
		            "copied after: a reshape makes its result row-major in memory");
	}
}
