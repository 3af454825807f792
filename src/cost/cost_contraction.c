/* cost_contraction: finds the products that contractions compute: matmul, linear, attention and its gradients. */
#include "cost/model.h"

bool contraction_is(enum op_kind kind)
{
	return kind == OP_MATMUL || kind == OP_LINEAR || kind == OP_GROUPED_MATMUL || kind == OP_SDPA ||
	       kind == OP_SDPA_BACKWARD;
}

static int64_t choose_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct product product_of(enum op_kind kind, const struct local_shape *a, const struct local_shape *b,
                                 const struct local_shape *r)
{
	struct product p = {.batch = 1, .n = r->n[r->rank - 1]};
	if (!r->elements)
		return (struct product){0, 0, 0, 0};
	if (kind == OP_LINEAR) {
		p.m = r->elements / p.n;
		p.k = choose_smaller(a->n[a->rank - 1], b->n[b->rank - 1]);
	} else if (kind == OP_SDPA) { /* q [b, h, s, e], k and v [b, h, t, …]: the scores, then the weighted
		                         sums of v */
		p.m = r->n[r->rank - 2];
		p.batch = r->elements / (p.m * p.n);
		p.k = b->n[b->rank - 2];
		p.n += a->n[a->rank - 1];
	} else {
		p.m = r->n[r->rank - 2];
		p.batch = r->elements / (p.m * p.n);
		p.k = choose_smaller(a->n[a->rank - 1], b->n[b->rank - 2]);
		if (b->rank == 2) { /* all batches share one matrix */
			p.m *= p.batch;
			p.batch = 1;
		}
	}
	return p;
}

/* Finds the products that gradients of attention compute: the scores for each of three results, the slopes of the weights
 * for q and k, and the three sums. */
static bool find_gradient(const struct cost *c, op_id op, struct product *out, struct local_shape *result)
{
	const struct module *m = c->m;
	struct local_shape k, v;
	if (!cost_shape(c, op, op_read(m, op, 2), &k) || !cost_shape(c, op, op_read(m, op, 3), &v) ||
	    !cost_shape(c, op, op_result(m, op, 0), result))
		return false;
	*out = (struct product){0, 0, 0, 0};
	if (!result->elements)
		return true;
	int64_t depth = result->n[result->rank - 1], width = v.n[v.rank - 1];
	out->m = result->n[result->rank - 2];
	out->batch = result->elements / (out->m * depth);
	out->n = 5 * depth + 3 * width;
	out->k = k.n[k.rank - 2];
	return true;
}

bool contraction_product(const struct cost *c, op_id op, struct product *out, struct local_shape *result)
{
	const struct module *m = c->m;
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	struct local_shape a, b;
	if (kind == OP_SDPA_BACKWARD) {
		if (!find_gradient(c, op, out, result))
			return false;
	} else if (!cost_shape(c, op, op_read(m, op, 0), &a) || !cost_shape(c, op, op_read(m, op, 1), &b) ||
	           !cost_shape(c, op, op_result(m, op, 0), result)) {
		return false;
	} else {
		*out = product_of(kind, &a, &b, result);
	}
	if ((kind == OP_SDPA || kind == OP_SDPA_BACKWARD) && op_attr_is_true(m, op, "causal"))
		out->k = (out->k + 1) / 2;
	return true;
}

bool contraction_time(const struct cost *c, op_id op, int64_t *out)
{
	const struct module *m = c->m;
	enum dtype t = value_type(m, op_read(m, op, 0))->dtype;
	struct local_shape r;
	struct product p;
	struct traffic traffic;
	if (!contraction_product(c, op, &p, &r) || !traffic_find(c, op, &traffic))
		return false;
	if (!c->cluster->flops_rate[t])
		return cost_refuse(c, E_CLUSTER_LACKS, op,
		                   "cluster '%s' states no flops_per_s of %s, which this needs",
		                   c->cluster->name, dtype_name(t));
	const struct cluster_grid *grid = product_grid(c, t);
	*out = curve_add(product_time(c, t, p.batch, p.m, p.n, p.k, local_limit_bytes(traffic.bytes)),
	                 traffic_excess(c, &traffic, grid ? &grid->far : NULL,
	                                product_measured_bytes(c, t, p.m, p.n, p.k)));
	if (m->op.at[op].kind == OP_LINEAR &&
	    op_role_count(m, op, ROLE_READ) > 2) /* the addend is read, and the result written once more */
		*out = curve_add(*out, touch_time(c, local_limit_bytes(3 * (cost_amount)r.bytes)));
	return true;
}
