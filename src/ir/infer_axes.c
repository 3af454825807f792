/* infer_axes: finds the iteration space of each kind of statement.
 *
 *     linear(X[t, k], W[n, k]) → Y[t, n]    dims: t parallel, n parallel, k reduced
 *                                           X: t k   W: n k   Y: t n */
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include <string.h>

struct shape {
	unsigned rank;
	const struct axis *axis;
};

static struct shape shape_of(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	return (struct shape){d->rank, d->axis};
}

static uint8_t add_dim(struct infer_axes *x, enum infer_dim_kind kind)
{
	x->kind[x->dim_n] = (uint8_t)kind;
	return (uint8_t)x->dim_n++;
}

/* Adds one dim for each axis of the result. */
static void result_dims(struct infer_axes *x, unsigned rank)
{
	for (unsigned i = 0; i < rank; i++)
		x->result[i] = add_dim(x, DIM_PARALLEL);
}

/* Aligns operand k's axes with the result's from the right. Axes of extent 1 that are broadcast have no
 * dim. */
static void align_right(const struct module *m, struct infer_axes *x, unsigned k, struct shape o,
                        struct shape r)
{
	for (unsigned i = 0; i < o.rank; i++) {
		int at = (int)r.rank - (int)o.rank + (int)i;
		bool widened =
		    at < 0 || (expr_is_one(m, o.axis[i].extent) && !expr_is_one(m, r.axis[at].extent));
		x->operand[k][i] = widened ? INFER_NONE : x->result[at];
	}
}

static int64_t attr_axis(const struct module *m, op_id op, unsigned rank, int64_t otherwise)
{
	int64_t a = op_attr_int(m, op, "axis", otherwise);
	return a < 0 ? a + rank : a;
}

/* Returns the axes that axis=1 or axis=(0, 2) names, as a bit set; all axes without the attribute. */
unsigned infer_reduced_axes(const struct module *m, attrs_id attrs, unsigned rank)
{
	const struct attr *a = attrs_find(m, attrs, "axis");
	unsigned mask = 0;
	if (!a)
		return (1u << rank) - 1;
	for (unsigned i = 0; i < (a->kind == ATTR_INTS ? a->n : 1); i++) {
		int64_t k = a->kind == ATTR_INTS ? a->u.ints[i] : a->u.i;
		k = k < 0 ? k + rank : k;
		if (k >= 0 && k < rank)
			mask |= 1u << k;
	}
	return mask;
}

static void infer_reduction(const struct module *m, op_id op, struct infer_axes *x, struct shape o)
{
	unsigned mask = infer_reduced_axes(m, m->op.at[op].attrs, o.rank);
	const struct attr *keep = op_attr(m, op, "keepdims");
	bool kept = keep && keep->kind == ATTR_NAME && !strcmp(names_text(m->names, keep->u.name), "true");
	unsigned r = 0;
	for (unsigned i = 0; i < o.rank; i++) {
		bool reduced = mask >> i & 1;
		x->operand[0][i] = add_dim(x, reduced ? DIM_REDUCED : DIM_PARALLEL);
		if (!reduced)
			x->result[r++] = x->operand[0][i];
		else if (kept)
			x->result[r++] = add_dim(x, DIM_WHOLE); /* the axis is kept with extent 1 */
	}
}

static void matmul(const struct module *m, struct infer_axes *x, struct shape a, struct shape b,
                   struct shape r)
{
	result_dims(x, r.rank);
	uint8_t k = add_dim(x, DIM_REDUCED);
	align_right(m, x, 0, a, r);
	align_right(m, x, 1, b, r);
	x->operand[0][a.rank - 2] = x->result[r.rank - 2];
	x->operand[0][a.rank - 1] = k;
	x->operand[1][b.rank - 2] = k;
	x->operand[1][b.rank - 1] = x->result[r.rank - 1];
}

static void linear(struct infer_axes *x, struct shape a, struct shape r)
{
	result_dims(x, r.rank);
	uint8_t k = add_dim(x, DIM_REDUCED);
	for (unsigned i = 0; i + 1 < a.rank; i++)
		x->operand[0][i] = x->result[i];
	x->operand[0][a.rank - 1] = k;
	x->operand[1][0] = x->operand[2][0] = x->result[r.rank - 1];
	x->operand[1][1] = k;
}

/* Returns the product of two extents. For d and t / d it is t, since d must divide t. */
static expr_id multiply_extents(struct module *m, expr_id product, expr_id extent)
{
	const struct expr *p = &m->expr.at[product], *e = &m->expr.at[extent];
	if (e->kind == EXPR_DIV && e->b == product)
		return e->a;
	if (p->kind == EXPR_DIV && p->b == extent)
		return p->a;
	return expr_canon(m, expr_mul(m, product, extent));
}

/* An axis that corresponds to a single axis has a dim; groups of axes that are split or joined are
 * DIM_WHOLE. Axes of extent 1 that appear or disappear have no dim. */
static void infer_reshape(struct module *m, struct infer_axes *x, struct shape o, struct shape r)
{
	unsigned i = 0, j = 0;
	while (i < o.rank || j < r.rank) {
		if (i < o.rank && j < r.rank && o.axis[i].extent == r.axis[j].extent) {
			x->operand[0][i++] = x->result[j++] = add_dim(x, DIM_PARALLEL);
			continue;
		}
		if (i < o.rank && expr_is_one(m, o.axis[i].extent)) {
			i++;
			continue;
		}
		if (j < r.rank && expr_is_one(m, r.axis[j].extent)) {
			j++;
			continue;
		}
		/* the shortest groups with equal products */
		unsigned best_i = o.rank, best_j = r.rank;
		expr_id left = expr_const(m, 1);
		for (unsigned p = i; p <= o.rank && best_i == o.rank; p++) {
			expr_id right = expr_const(m, 1);
			for (unsigned q = j; q <= r.rank && p > i; q++) {
				if (q > j && left && left == right) {
					best_i = p, best_j = q;
					break;
				}
				right =
				    q < r.rank && right ? multiply_extents(m, right, r.axis[q].extent) : 0;
			}
			left = p < o.rank && left ? multiply_extents(m, left, o.axis[p].extent) : 0;
		}
		if (x->dim_n + 2 > INFER_MAX_DIMS)
			return;
		uint8_t from = add_dim(x, DIM_WHOLE), to = add_dim(x, DIM_WHOLE);
		while (i < best_i)
			x->operand[0][i++] = from;
		while (j < best_j)
			x->result[j++] = to;
	}
}

static void infer_permute(const struct module *m, op_id op, struct infer_axes *x, struct shape r)
{
	const struct attr *dims = op_attr(m, op, "dims");
	result_dims(x, r.rank);
	for (unsigned i = 0; i < r.rank && dims && dims->kind == ATTR_INTS && i < dims->n; i++)
		if (dims->u.ints[i] >= 0 && dims->u.ints[i] < r.rank)
			x->operand[0][dims->u.ints[i]] = x->result[i];
}

/* Sets result and operand to the same dims; one axis is DIM_WHOLE. */
static void all_but_one(struct infer_axes *x, struct shape r, int64_t whole)
{
	result_dims(x, r.rank);
	if (whole >= 0 && whole < r.rank)
		x->kind[x->result[whole]] = DIM_WHOLE;
	for (unsigned k = 0; k < x->operand_n; k++)
		memcpy(x->operand[k], x->result, r.rank);
}

/* In the result, the axes of the indices replace the indexed axis of the table. That axis is reduced: if
 * it is spread, each rank has zeros for the entries of other ranks, and the results are summed. */
static void infer_take(struct infer_axes *x, struct shape table, struct shape index, struct shape r,
                       int64_t axis)
{
	result_dims(x, r.rank);
	for (unsigned i = 0; i < index.rank; i++)
		x->operand[1][i] = x->result[axis + i];
	for (unsigned i = 0; i < table.rank; i++)
		x->operand[0][i] = i == axis  ? add_dim(x, DIM_REDUCED)
		                   : i < axis ? x->result[i]
		                              : x->result[i - 1 + index.rank];
}

/* q, k, v and the mask, which may have fewer axes; axes before the last two are broadcast. */
static void infer_sdpa(const struct module *m, struct infer_axes *x, const struct shape *o, struct shape r)
{
	result_dims(x, r.rank);
	x->kind[x->result[r.rank - 1]] = DIM_WHOLE;
	for (unsigned k = 0; k < x->operand_n; k++)
		align_right(m, x, k, o[k], r);
	unsigned last = r.rank - 1;
	x->operand[1][last - 1] = x->operand[2][last - 1] = add_dim(x, DIM_WHOLE); /* the keys */
	x->operand[0][last] = x->operand[1][last] = add_dim(x, DIM_WHOLE);         /* of a key */
	x->operand[2][last] = x->result[last];
	if (x->operand_n > 3 && o[3].rank)
		x->operand[3][o[3].rank - 1] =
		    expr_is_one(m, o[3].axis[o[3].rank - 1].extent) ? INFER_NONE : x->operand[1][last - 1];
}

/* Heads are independent. The last two axes of each result need those of all operands. */
static void infer_sdpa_backward(const struct module *m, struct infer_axes *x, const struct shape *o,
                                struct shape r)
{
	enum { SLOPE, Q, K, V, OUT, LOGS, MASK };
	unsigned last = r.rank - 1;
	result_dims(x, r.rank);
	x->kind[x->result[last - 1]] = x->kind[x->result[last]] = DIM_WHOLE;
	for (unsigned k = 0; k < x->operand_n; k++)
		align_right(m, x, k, o[k], r);
	uint8_t rows = add_dim(x, DIM_WHOLE), keys = add_dim(x, DIM_WHOLE), depth = add_dim(x, DIM_WHOLE),
	        width = add_dim(x, DIM_WHOLE);
	for (unsigned k = 0; k < MASK; k++) {
		x->operand[k][last - 1] = k == K || k == V ? keys : rows;
		x->operand[k][last] = k == Q || k == K ? depth : k == LOGS ? INFER_NONE : width;
	}
	for (unsigned i = 0; x->operand_n > MASK && i < 2 && i < o[MASK].rank; i++) {
		unsigned axis = o[MASK].rank - 1 - i;
		x->operand[MASK][axis] = expr_is_one(m, o[MASK].axis[axis].extent) ? INFER_NONE
		                         : i                                       ? rows
		                                                                   : keys;
	}
}

bool infer_axes(const struct module *cm, op_id op, struct infer_axes *x)
{
	struct module *m = (struct module *)cm; /* interning a product changes nothing that callers see */
	uint32_t traits = op_traits(m, op);
	value_id result = op_result(m, op, 0);
	memset(x, 0, sizeof *x);
	memset(x->result, INFER_NONE, sizeof x->result);
	memset(x->operand, INFER_NONE, sizeof x->operand);
	x->operand_n = op_role_count(m, op, ROLE_READ);
	if (!result || x->operand_n > INFER_MAX_OPERANDS)
		return false;
	struct shape r = shape_of(m, result), o[INFER_MAX_OPERANDS] = {{0}};
	for (unsigned k = 0; k < x->operand_n; k++)
		o[k] = shape_of(m, op_read(m, op, k));
	if (traits & (TRAIT_POINTWISE | TRAIT_RESHARD | TRAIT_COLLECTIVE) ||
	    m->op.at[op].kind == OP_BROADCAST) {
		result_dims(x, r.rank);
		for (unsigned k = 0; k < x->operand_n; k++)
			align_right(m, x, k, o[k], r);
		return true;
	}
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_SUM:
	case OP_MAX:
	case OP_MIN:
	case OP_PROD:
	case OP_MEAN:
		infer_reduction(m, op, x, o[0]);
		return true;
	case OP_MATMUL:
		if (o[0].rank < 2 || o[1].rank < 2 || r.rank < 2 || o[0].rank > r.rank || o[1].rank > r.rank)
			return false;
		matmul(m, x, o[0], o[1], r);
		return true;
	case OP_LINEAR:
		if (o[0].rank < 1 || o[1].rank != 2 || r.rank != o[0].rank)
			return false;
		linear(x, o[0], r);
		return true;
	case OP_RESHAPE:
		infer_reshape(m, x, o[0], r);
		return true;
	case OP_PERMUTE:
		infer_permute(m, op, x, r);
		return true;
	case OP_SLICE:
	case OP_PAD:
	case OP_SPLIT:
	case OP_CAT:
		all_but_one(x, r, attr_axis(m, op, r.rank, 0));
		return true;
	case OP_TAKE: {
		int64_t axis = attr_axis(m, op, o[0].rank, 0);
		if (axis < 0 || axis >= o[0].rank || r.rank != o[0].rank - 1 + o[1].rank)
			return false;
		infer_take(x, o[0], o[1], r, axis);
		return true;
	}
	case OP_PUT: {
		int64_t axis = attr_axis(m, op, r.rank, 0);
		if (axis < 0 || axis >= r.rank)
			return false;
		all_but_one(x, r, axis);
		uint8_t line = add_dim(x, DIM_WHOLE); /* the indices of a line */
		for (unsigned k = 1; k < x->operand_n; k++)
			x->operand[k][o[k].rank == 1 ? 0 : axis] = line;
		return true;
	}
	case OP_GROUPED_MATMUL: {
		if (o[0].rank != 2 || o[1].rank != 3 || o[2].rank != 1 || r.rank != 2)
			return false;
		result_dims(x, r.rank);
		uint8_t k = add_dim(x, DIM_WHOLE), group = add_dim(x, DIM_WHOLE);
		x->operand[0][0] = x->result[0];
		x->operand[0][1] = x->operand[1][1] = k;
		x->operand[1][0] = x->operand[2][0] = group;
		x->operand[1][2] = x->result[1];
		return true;
	}
	case OP_ONE_HOT:
		result_dims(x, r.rank);
		memcpy(x->operand[0], x->result, o[0].rank);
		return true;
	case OP_SCAN:
	case OP_SOFTMAX:
	case OP_TOPK:
		all_but_one(x, r, attr_axis(m, op, r.rank, -1));
		return true;
	case OP_LAYERNORM:
	case OP_RMSNORM:
		result_dims(x, r.rank);
		if (r.rank)
			x->kind[x->result[r.rank - 1]] = DIM_WHOLE;
		for (unsigned k = 0; k < x->operand_n; k++)
			align_right(m, x, k, o[k], r);
		return true;
	case OP_SDPA:
		if (r.rank < 2 || o[0].rank != r.rank || o[1].rank != r.rank || o[2].rank != r.rank)
			return false;
		infer_sdpa(m, x, o, r);
		return true;
	case OP_SDPA_BACKWARD:
		if (r.rank < 2)
			return false;
		for (unsigned k = 0; k < 6; k++)
			if (o[k].rank != r.rank)
				return false;
		infer_sdpa_backward(m, x, o, r);
		return true;
	case OP_IOTA:
		result_dims(x, r.rank);
		return true;
	default:
		return false;
	}
}

bool infer_keeps_partial(const struct module *m, op_id op, unsigned k)
{
	unsigned n = op_role_count(m, op, ROLE_READ), partial = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct domain *d = value_domain(m, op_read(m, op, i));
		for (unsigned a = d->rank; a < d->logical_n; a++)
			if (d->axis[a].kind == AXIS_PARTIAL) {
				partial++;
				if (d->axis[a].reduce != REDUCE_SUM)
					return (op_traits(m, op) & TRAIT_VIEWLIKE) != 0;
				break;
			}
	}
	const enum dtype dtype = n ? value_type(m, op_read(m, op, 0))->dtype : DTYPE_F32;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_ADD:
	case OP_SUB:
		return n == 2 && partial == 2 && dtype != DTYPE_BOOL; /* true + true is true */
	case OP_MUL:
		return partial == 1 && dtype != DTYPE_BOOL;
	case OP_DIV:
		return partial == 1 && k == 0 && dtype_is_float(dtype);
	case OP_NEG:
		return dtype != DTYPE_BOOL;
	case OP_SUM:
	case OP_PERMUTE:
	case OP_RESHAPE:
	case OP_SLICE:
	case OP_SPLIT:
	case OP_BROADCAST:
		return true;
	case OP_TAKE:
		return k == 0;
	case OP_MATMUL:
	case OP_LINEAR:
		return n == 2 && partial == 1;
	default:
		return (op_traits(m, op) & TRAIT_VIEW) != 0;
	}
}
