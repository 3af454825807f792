/* local: finds the sizes of the largest parts. */
#include "cost/local.h"
#include "base/checked.h"
#include "ir/bound.h"
#include "ir/domain.h"

struct reading {
	const struct module *m;
	const struct domain *d;
	bound_set bound;
	enum expr_status status;
};

static int64_t value_of(struct reading *r, expr_id e)
{
	int64_t n = 0;
	enum expr_status status = expr_eval(r->m, e, &(struct expr_env){.rank = -1}, &n, NULL);
	if (status == EXPR_OK && n < 0)
		status = EXPR_OVERFLOW;
	if (r->status == EXPR_OK)
		r->status = status;
	return r->status == EXPR_OK ? n : 0;
}

static int64_t multiply_sizes(struct reading *r, int64_t a, int64_t b)
{
	int64_t n = 0;
	if (!checked_mul(a, b, &n) && r->status == EXPR_OK)
		r->status = EXPR_OVERFLOW;
	return n;
}

/* Returns the extent of an axis that one rank holds in one iteration. The first block of a split is a
 * full block, so it is the largest. */
static int64_t measure_axis(struct reading *r, unsigned axis)
{
	const struct axis *a = &r->d->axis[axis];
	const struct xform *x = domain_consumer(r->d, axis);
	if (!x) {
		bool loop = a->place == PLACE_STREAM || a->place == PLACE_SERIAL;
		if (a->place == PLACE_MESH || (loop && bound_has(r->d, r->bound, axis)))
			return 1;
		return value_of(r, a->extent);
	}
	if (x->kind == XFORM_SWIZZLE1D)
		return measure_axis(r, x->out[0]);
	if (x->kind == XFORM_MERGE)
		return axis == x->in[0] ? measure_axis(r, x->out[0]) : 1;
	int64_t blocks = multiply_sizes(r, measure_axis(r, x->out[0]), measure_axis(r, x->out[1])),
	        all = value_of(r, a->extent);
	return blocks < all ? blocks : all;
}

enum expr_status local_shape(const struct module *m, value_id v, struct local_shape *out)
{
	struct reading r = {.m = m, .d = value_domain(m, v), .bound = bound_of(m, v)};
	struct local_shape s = {.rank = r.d->rank, .elements = 1};
	for (unsigned i = 0; i < s.rank; i++) {
		s.n[i] = measure_axis(&r, i);
		s.elements = multiply_sizes(&r, s.elements, s.n[i]);
	}
	s.bytes = multiply_sizes(&r, s.elements, dtype_bytes(value_type(m, v)->dtype));
	if (r.status == EXPR_OK && s.bytes > LOCAL_MAX_BYTES)
		r.status = EXPR_OVERFLOW;
	if (r.status == EXPR_OK)
		*out = s;
	return r.status;
}
