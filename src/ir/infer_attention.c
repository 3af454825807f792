/* infer_attention: finds the result types of attention.
 *
 *     sdpa(Q: bf16[b, h, m, e], K: bf16[b, 1, n, e], V: bf16[b, 1, n, f])      bf16[b, h, m, f], f32[b, h, m, 1]
 *     sdpa_backward(G, Q, K, V, O, L)                  bf16[b, h, m, e], bf16[b, h, n, e], bf16[b, h, n, f] */
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer_rule.h"

/* Checks that the mask, an operand of attention, broadcasts to the scores, whose extents are in r. q: number of the
 * operand q; k follows it. */
static bool fits_scores(struct module *m, struct diag *d, const struct infer_draft *f, unsigned q, unsigned k,
                        const struct infer_result *r)
{
	const struct domain *mask = rule_operand_domain(m, f, k);
	enum dtype t = (enum dtype)rule_operand_type(m, f, k)->dtype;
	bool fits = mask->rank <= r->rank;
	for (unsigned i = 0; fits && i < mask->rank; i++)
		fits = rule_may_broadcast(m, mask->axis[i].extent, r->extent[r->rank - mask->rank + i]);
	if (!fits)
		rule_report_pair(m, d, E_SHAPES_DIFFER, f, q + 1, k,
		                 "the mask must broadcast to [..., rows of q, rows of k]");
	else if (t != DTYPE_BOOL && t != rule_operand_type(m, f, q)->dtype) {
		rule_report_pair(m, d, E_OPERAND_DTYPE, f, q, k,
		                 "the mask must be bool, or have the dtype of q");
		return false;
	}
	return fits;
}

/* Checks q, k, v and the mask of attention. at: number of the operand q; k and v follow it. mask: number of the mask;
 * it may be left out. Sets the axes of r to those of the first result. */
static bool fits_attention(struct module *m, struct diag *d, const struct infer_draft *f, unsigned at,
                           unsigned mask, struct infer_result *r)
{
	const struct domain *q = rule_operand_domain(m, f, at), *k = rule_operand_domain(m, f, at + 1),
	                    *v = rule_operand_domain(m, f, at + 2);
	if (q->rank < 2 || k->rank != q->rank ||
	    !rule_extents_agree(m, q->axis[q->rank - 1].extent, k->axis[k->rank - 1].extent)) {
		rule_report_pair(m, d, E_CONTRACTION, f, at, at + 1,
		                 "q and k must be [..., rows, e] and [..., keys, e]");
		return false;
	}
	if (v->rank != k->rank ||
	    !rule_extents_agree(m, k->axis[k->rank - 2].extent, v->axis[v->rank - 2].extent)) {
		rule_report_pair(m, d, E_CONTRACTION, f, at + 1, at + 2,
		                 "k and v must be [..., keys, e] and [..., keys, f]");
		return false;
	}
	rule_shape_of_operand(m, f, at, r);
	for (unsigned o = at + 1; o < at + 3; o++)
		for (unsigned i = 0; i + 2 < r->rank; i++)
			if (!rule_may_broadcast(m, rule_operand_domain(m, f, o)->axis[i].extent,
			                        r->extent[i])) {
				rule_report_pair(
				    m, d, E_SHAPES_DIFFER, f, at, o,
				    "axes before the last two must be those of q, or have the extent 1");
				return false;
			}
	r->extent[r->rank - 1] = k->axis[r->rank - 2].extent; /* of the scores */
	if (f->operand_n > mask && !fits_scores(m, d, f, at, mask, r))
		return false;
	r->extent[r->rank - 1] = v->axis[r->rank - 1].extent;
	return true;
}

bool rule_sdpa(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	struct infer_draft multiplied = *f;
	multiplied.operand_n = 3;
	if (!rule_same_dtypes(m, d, &multiplied, 0) || !fits_attention(m, d, f, 0, 3, r))
		return false;
	if (f->result)
		r->extent[r->rank - 1] = expr_const(m, 1);
	r->dtype = f->result ? dtype_wide(r->dtype) : r->dtype;
	return true;
}

/* Checks that an operand has the axes in r. other: number of the operand that the message shows beside it. */
static bool has_axes(struct module *m, struct diag *d, const struct infer_draft *f, unsigned k,
                     unsigned other, const struct infer_result *r, const char *what)
{
	const struct domain *x = rule_operand_domain(m, f, k);
	bool fits = x->rank == r->rank;
	for (unsigned i = 0; fits && i < r->rank; i++)
		fits = rule_extents_agree(m, x->axis[i].extent, r->extent[i]);
	if (!fits)
		rule_report_pair(m, d, E_SHAPES_DIFFER, f, other, k, what);
	return fits;
}

/* The gradients of k and v have the axes of q before the last two. */
bool rule_sdpa_backward(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	enum { SLOPE, Q, K, V, OUT, LOGS, MASK };
	struct infer_draft multiplied = *f;
	multiplied.operand_n = LOGS;
	if (!rule_same_dtypes(m, d, &multiplied, 0) || !fits_attention(m, d, f, Q, MASK, r) ||
	    !has_axes(m, d, f, SLOPE, V, r, "the gradient must be [..., rows of q, columns of v]") ||
	    !has_axes(m, d, f, OUT, V, r, "the result of sdpa must be [..., rows of q, columns of v]"))
		return false;
	const expr_id width = r->extent[r->rank - 1];
	r->extent[r->rank - 1] = expr_const(m, 1);
	if (!has_axes(m, d, f, LOGS, Q, r, "the second result of sdpa must be [..., rows of q, 1]"))
		return false;
	if (rule_operand_type(m, f, LOGS)->dtype != dtype_wide(r->dtype)) {
		rule_report_pair(m, d, E_OPERAND_DTYPE, f, Q, LOGS,
		                 "the second result of sdpa is f32, or f64 if q is f64");
		return false;
	}
	const struct domain *k = rule_operand_domain(m, f, K);
	if (f->result)
		r->extent[r->rank - 2] = k->axis[r->rank - 2].extent;
	r->extent[r->rank - 1] = f->result == 2 ? width : k->axis[r->rank - 1].extent;
	return true;
}
