/* valuation_box: one box of an operation's iteration space.
 *
 *     operands' cells ──local_operand_fact──> a fact for each operand ──local_evaluate──> the result's fact */
#include "values/valuation_local.h"

static bool is_integer(const struct local_op *x, value_id v)
{
	return !dtype_is_float(value_type(x->r->v->m, v)->dtype);
}

/* Returns true if a cell has the elements of an operand in a box of the iteration space. *all: also the whole of
 * the axes that are needed whole. */
static bool cell_has(const struct local_op *x, unsigned k, const struct cell *c, const struct extent *box,
                     bool *all)
{
	bool inside = true;
	*all = true;
	for (unsigned a = 0; a < x->in[k].n && inside; a++) {
		const uint8_t dim = local_dim(x, k, a);
		const struct extent e = c->axis[a];
		if (dim == INFER_NONE)
			inside = e.lo <= 0 && e.hi > 0;
		else if (x->axes.kind[dim] == DIM_WHOLE)
			*all &= e.lo <= 0 && e.hi >= value_view_get(x->r, x->value[k])->part->axis[a].extent;
		else
			inside = e.lo <= box[dim].lo && e.hi >= box[dim].hi;
	}
	return inside;
}

/* Returns a cell's fact over the dims of the iteration space. */
static fact_id fact_over_dims(const struct local_op *x, unsigned k, const struct cell *c)
{
	struct image_axis to[IR_MAX_LOGICAL] = {{0}};
	for (unsigned a = 0; a < x->in[k].n; a++) {
		const uint8_t dim = local_dim(x, k, a);
		to[a] = (struct image_axis){.axis = dim == INFER_NONE ? AXIS_REPEATED : dim};
	}
	return facts_move(x->r->v->facts, c->fact, to);
}

/* Reports the first box of an operand that lacks a part of a sum. */
static void report_pending(struct local_op *x, unsigned k)
{
	for (uint32_t i = 0; i < x->in[k].cell.n; i++)
		if (!facts_is_complete(x->r->v->facts, x->in[k].cell.at[i].fact)) {
			value_report_pending(x->r, x->op, x->value[k], &x->in[k].cell.at[i]);
			return;
		}
}

fact_id local_operand_fact(struct local_op *x, unsigned k, const struct extent *box, bool *hole)
{
	struct contents piece = {.n = x->in[k].n};
	struct cell one = {0};
	struct extent whole[IR_MAX_LOGICAL];
	uint32_t whole_axes = 0;
	if (!x->value[k])
		return x->scalar[k];
	for (uint32_t i = 0; i < x->in[k].cell.n; i++) {
		bool all;
		if (!cell_has(x, k, &x->in[k].cell.at[i], box, &all))
			continue;
		if (all) {
			vec_free(&piece.cell);
			return fact_over_dims(x, k, &x->in[k].cell.at[i]);
		}
		vec_push(&piece.cell, x->in[k].cell.at[i]);
	}
	for (unsigned a = 0; a < piece.n; a++)
		if (!value_view_get(x->r, x->value[k])->part->axis[a].extent)
			return facts_number(x->r->v->facts, 0); /* the operand has no elements */
	*hole = !piece.cell.n;
	if (*hole)
		return FACT_UNKNOWN;
	for (unsigned a = 0; a < piece.n; a++) {
		const uint8_t dim = local_dim(x, k, a);
		const bool needs_whole = dim != INFER_NONE && x->axes.kind[dim] == DIM_WHOLE;
		whole_axes |= (uint32_t)needs_whole << a;
		whole[a] = (struct extent){0, value_view_get(x->r, x->value[k])->part->axis[a].extent};
		for (uint32_t i = 0; i < piece.cell.n && !needs_whole; i++)
			piece.cell.at[i].axis[a] = whole[a] = (struct extent){0, 1};
	}
	report_pending(x, k);
	one.fact = value_join_pieces(x->r->v->facts, &piece, whole, whole_axes);
	vec_free(&piece.cell);
	return fact_over_dims(x, k, &one);
}

static fact_id scale(struct facts *f, fact_id fact, double factor)
{
	return facts_join(f, REDUCE_SUM, &(struct addend){factor, fact}, 1, NULL);
}

/* Reports an operand of which a part of a sum is missing. */
static bool is_complete(struct local_op *x, unsigned k, fact_id fact)
{
	if (facts_is_complete(x->r->v->facts, fact))
		return true;
	report_pending(x, k);
	return false;
}

static fact_id apply(struct local_op *x, const fact_id *operand, uint32_t linear, uint32_t kind)
{
	struct application *a = &x->apply;
	a->kind = kind;
	a->operand_n = x->operand_n;
	for (unsigned k = 0; k < x->operand_n; k++) {
		/* the largest of several tensors is none of them, so a product is not applied to each */
		if (operand[k] && !facts_is_sum(x->r->v->facts, operand[k]))
			linear &= ~(1u << k);
		if (!(linear >> k & 1) && operand[k] && !is_complete(x, k, operand[k]))
			return FACT_UNKNOWN;
		a->operand[k] = operand[k];
	}
	a->linear = linear;
	return evaluate(x->r->v->facts, a);
}

static bool has_same_dtype(const struct local_op *x)
{
	const struct module *m = x->r->v->m;
	return value_type(m, x->value[0])->dtype == value_type(m, op_result(m, x->op, 0))->dtype;
}

/* Returns the dtype that an operation on elements computes in: that of the last operand which is a tensor. */
static enum dtype dtype_of_elements(const struct local_op *x)
{
	const struct module *m = x->r->v->m;
	enum dtype dtype = value_type(m, op_result(m, x->op, 0))->dtype;
	for (unsigned k = 0; k < x->operand_n; k++)
		dtype = x->value[k] ? value_type(m, x->value[k])->dtype : dtype;
	return dtype;
}

/* Terms of integers and bool are labelled, since functions that differ for reals may be equal for them. A sum of bools
 * is no sum of numbers: true + true is true. */
static fact_id pointwise(struct local_op *x, const fact_id *in)
{
	struct facts *f = x->r->v->facts;
	double number = 0;
	const bool integer = is_integer(x, op_result(x->r->v->m, x->op, 0));
	const enum dtype dtype = dtype_of_elements(x);
	if (!dtype_is_float(dtype) && x->kind != OP_CAST)
		x->apply.label = facts_label(f, dtype_name(dtype));
	if (dtype == DTYPE_BOOL && (x->kind == OP_ADD || x->kind == OP_MUL)) {
		x->apply.commutes = true;
		return apply(x, in, 0, x->kind);
	}
	if (dtype == DTYPE_BOOL && (x->kind == OP_SUB || x->kind == OP_NEG))
		return apply(x, in, 0, x->kind);
	switch (x->kind) {
	case OP_ADD:
	case OP_SUB:
		return facts_join(f, REDUCE_SUM,
		                  (struct addend[]){{1, in[0]}, {x->kind == OP_ADD ? 1 : -1, in[1]}}, 2,
		                  NULL);
	case OP_NEG:
		return scale(f, in[0], -1);
	case OP_CAST:
		if ((!integer && !is_integer(x, x->value[0])) || has_same_dtype(x))
			return in[0]; /* rounding is not compared */
		x->apply.label = facts_label(
		    f, dtype_name(value_type(x->r->v->m, op_result(x->r->v->m, x->op, 0))->dtype));
		return apply(x, in, 0, OP_CAST);
	case OP_FULL:
		return in[0];
	case OP_MUL:
		if (facts_is_number(f, in[1], &number))
			return scale(f, in[0], number);
		if (facts_is_number(f, in[0], &number))
			return scale(f, in[1], number);
		x->apply.commutes = true;
		return apply(x, in, facts_is_complete(f, in[0]) || facts_is_complete(f, in[1]) ? 3 : 0,
		             OP_MUL);
	case OP_DIV:
		if (!integer && facts_is_number(f, in[1], &number) && number != 0)
			return scale(f, in[0], 1 / number);
		return apply(x, in, integer ? 0 : 1, OP_DIV);
	default:
		return apply(x, in, 0, x->kind);
	}
}

/* Returns the number of ranks whose parts of an average are pending. */
static double averaged_parts(const struct module *m, value_id value)
{
	const struct domain *d = value_domain(m, value);
	double n = 1;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL && d->axis[a].reduce == REDUCE_AVG)
			n *= (double)ir_mesh(m, value_type(m, value)->mesh)->size[d->axis[a].mesh_axis];
	return n;
}

/* The mean is a sum that is divided by the number of all elements. A part of a pending average is multiplied by the
 * number of parts, by which the average divides. Integers are divided when the sum is complete, and truncate. */
static fact_id mean(struct local_op *x, const fact_id *in)
{
	struct facts *f = x->r->v->facts;
	const value_id result = op_result(x->r->v->m, x->op, 0);
	const enum dtype dtype = value_type(x->r->v->m, result)->dtype;
	double n = x->reduced_n;
	if (x->apply.reduce == REDUCE_AVG)
		n /= averaged_parts(x->r->v->m, result);
	fact_id sum = apply(x, in, 1, OP_SUM);
	if (!is_integer(x, result))
		return scale(f, sum, 1 / n);
	if (!sum || !facts_is_complete(f, sum) || x->in_pieces)
		return FACT_UNKNOWN;
	struct application a = {.kind = OP_DIV,
	                        .label = facts_label(f, dtype_name(DTYPE_I64)),
	                        .dim_n = x->apply.dim_n,
	                        .operand_n = 2,
	                        .operand = {sum, facts_number(f, n)}};
	fact_id made = evaluate(f, &a);
	a = (struct application){.kind = OP_CAST,
	                         .label = facts_label(f, dtype_name(dtype)),
	                         .dim_n = x->apply.dim_n,
	                         .operand_n = 1,
	                         .operand = {made}};
	return dtype == DTYPE_I64 || !made ? made : evaluate(f, &a);
}

fact_id local_evaluate(struct local_op *x, const fact_id *in)
{
	struct facts *f = x->r->v->facts;
	for (unsigned k = 0; k < x->operand_n; k++)
		if (!in[k])
			return FACT_UNKNOWN;
	switch (x->kind) {
	case OP_SET:
	case OP_PERMUTE:
	case OP_BROADCAST:
		return in[0];
	case OP_MATMUL:
	case OP_LINEAR: {
		const unsigned n = x->operand_n;
		x->operand_n = 2;
		fact_id made = apply(x, in, 3, TERM_CONTRACT);
		x->operand_n = n;
		if (n < 3)
			return made;
		return facts_join(f, REDUCE_SUM, (struct addend[]){{1, made}, {1, in[2]}}, 2, NULL);
	}
	case OP_SUM:
		return apply(x, in, 1, OP_SUM);
	case OP_MEAN:
		return mean(x, in);
	case OP_TAKE:
		return apply(x, in, 1, OP_TAKE);
	case OP_ONE_HOT:
	case OP_IOTA:
	case OP_UNIFORM:
	case OP_GROUPED_MATMUL:
	case OP_PUT:
	case OP_SCAN:
	case OP_TOPK:
		x->apply.has_all_dims = x->apply.has_place = true;
		return apply(x, in, 0, x->kind);
	case OP_SDPA_BACKWARD: /* the last two axes of a result are those of no operand */
		x->apply.has_all_dims = true;
		x->apply.has_place = op_attr_is_true(x->r->v->m, x->op, "causal");
		return apply(x, in, 0, x->kind);
	case OP_SDPA:
		x->apply.has_place = op_attr_is_true(x->r->v->m, x->op, "causal");
		return apply(x, in, 0, x->kind);
	default:
		if (op_traits(x->r->v->m, x->op) & TRAIT_POINTWISE)
			return pointwise(x, in);
		return apply(x, in, 0, x->kind);
	}
}
