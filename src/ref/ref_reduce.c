/* ref_reduce: reductions over axes, and the fold, which collectives also use.
 *
 * A fold accumulates in f64 or int64 and rounds once. Two numbers tell if a float sum is exact in any order
 * and in any narrower accumulator: the largest power of two that divides all terms, and the sum of
 * magnitudes. A sum with a term that is not finite is NaN or infinite in any order. */
#include "ref/ref_internal.h"
#include <math.h>
#include <string.h>

void ref_fold_start(struct ref_fold *s, enum reduce_op op, enum dtype t)
{
	*s = (struct ref_fold){.op = op,
	                       .dtype = t,
	                       .accumulator = ref_accumulator(t),
	                       .ints = !dtype_is_float(t),
	                       .grid = INFINITY,
	                       .exact = true,
	                       .finite = true};
	switch (op) {
	case REDUCE_PROD:
		s->f = 1, s->i = 1, s->magnitude = 1;
		break;
	case REDUCE_MIN:
		s->f = ref_beyond(t), s->i = ref_truncate(t, INFINITY);
		break;
	case REDUCE_MAX:
		s->f = -ref_beyond(t), s->i = t == DTYPE_BOOL ? 0 : ref_truncate(t, -INFINITY);
		break;
	default:
		break;
	}
}

void ref_fold_add(struct ref_fold *s, const struct ref_array *a, int64_t i, int64_t part)
{
	double f = a->data[i], e = a->error[i];
	int64_t x = a->ints ? a->ints[i] : 0;
	s->count++;
	s->finite = s->finite && isfinite(f);
	switch (s->op) {
	case REDUCE_SUM:
	case REDUCE_AVG:
		s->f += f;
		s->magnitude += fabs(f);
		if (part != s->last)
			s->parts += fabs(s->part), s->part = 0, s->last = part;
		s->part += f;
		s->grid = s->ints ? 1 : fmin(s->grid, ref_grid(f));
		s->error += e;
		s->i = (int64_t)((uint64_t)s->i + (uint64_t)x);
		break;
	case REDUCE_PROD:
		if (!a->ints && (f != floor(f) || !isfinite(f)))
			s->exact = false;
		s->f *= f;
		s->magnitude *= fabs(f) > 1 ? fabs(f) : 1;
		s->error = (1 + s->error) * (1 + (e > 0 ? e / fabs(f) : 0)) - 1;
		s->i = (int64_t)((uint64_t)s->i * (uint64_t)x);
		break;
	case REDUCE_MIN:
		s->f = isnan(f) || isnan(s->f) ? NAN : f < s->f ? f : s->f;
		s->error = e > s->error ? e : s->error;
		s->i = x < s->i ? x : s->i;
		break;
	case REDUCE_MAX:
		s->f = isnan(f) || isnan(s->f) ? NAN : f > s->f ? f : s->f;
		s->error = e > s->error ? e : s->error;
		s->i = x > s->i ? x : s->i;
		break;
	case REDUCE_COUNT:
		break;
	}
}

/* Returns the number of significant bits into which all parts of a sum or product must fit. */
static int least_bits(const struct ref_fold *s, enum dtype parts)
{
	enum dtype added = ref_accumulator(s->dtype); /* of the ranks */
	int bits = ref_precision(s->accumulator);
	if (parts != REF_NO_PARTS && ref_precision(added) < bits)
		bits = ref_precision(added);
	return parts != REF_NO_PARTS && ref_precision(parts) < bits ? ref_precision(parts) : bits;
}

/* Returns the error of a sum before it is stored: from adding up terms, and from storing and adding up
 * parts. */
static double sum_error(const struct ref_fold *s, enum dtype parts)
{
	bool kept = parts != REF_NO_PARTS;
	double of_parts = s->parts + fabs(s->part),
	       error = ref_sum_error(s->accumulator, s->count) * s->magnitude;
	if (!s->finite)
		return 0;
	if (ref_may_overflow(s->accumulator, s->magnitude, s->f) ||
	    (kept && ref_may_overflow(parts, of_parts, s->f)))
		return INFINITY;
	if (s->exact && s->error == 0 && ref_sum_is_exact(least_bits(s, parts), s->magnitude, s->grid))
		return 0;
	if (kept)
		error += ref_parts_error(parts, s->steps, of_parts) +
		         ref_sum_error(ref_accumulator(s->dtype), s->ranks ? s->ranks : s->count) * of_parts;
	return error;
}

static double product_error(const struct ref_fold *s, enum dtype parts)
{
	double error = ref_sum_error(s->accumulator, s->count) * fabs(s->f);
	if (!s->finite)
		return 0;
	if (s->exact && s->error == 0 && ref_sum_is_exact(least_bits(s, parts), s->magnitude, 1))
		return 0;
	if (parts != REF_NO_PARTS)
		error +=
		    ref_factors_error(parts, s->steps, s->magnitude, s->f) +
		    ref_parts_error(parts, 0, fabs(s->f)) +
		    ref_sum_error(ref_accumulator(s->dtype), s->ranks ? s->ranks : s->count) * fabs(s->f);
	return error;
}

bool ref_fold_end(const struct ref_fold *s, struct ref_array *out, int64_t i, enum dtype parts)
{
	bool mean = s->op == REDUCE_AVG, sums = mean || s->op == REDUCE_SUM;
	double count = mean && s->count ? (double)s->count : 1, computed = 0,
	       value = mean && !s->count ? NAN : s->f / count,
	       passed = s->op == REDUCE_PROD && s->error > 0 ? s->error * fabs(s->f) : s->error / count;
	if (s->ints) {
		bool divide = mean && out->dtype != DTYPE_BOOL;
		if (divide && s->count == 0)
			return false;
		ref_store_int(out, i, divide ? s->i / s->count : s->i);
		ref_set_error(out, i, out->data[i], passed, 0);
		return true;
	}
	if (sums)
		computed = sum_error(s, parts) / count;
	else if (s->op == REDUCE_PROD)
		computed = product_error(s, parts);
	if (mean && passed + computed > 0) /* error of the division */
		computed += ref_unit(s->dtype) * fabs(value);
	ref_store(out, i, value);
	ref_set_error(out, i, value, passed, computed);
	return true;
}

/* Finds the axes that axes= or axis= removes, as a mask; all axes if the attribute is absent. */
static bool reduced_axes(struct ref_context *c, op_id op, int nd, unsigned *mask)
{
	const struct attr *a = op_attr(c->m, op, "axis");
	*mask = a ? 0 : (1u << nd) - 1;
	if (!a)
		return true;
	unsigned n = a->kind == ATTR_INTS ? a->n : 1;
	for (unsigned k = 0; k < n; k++) {
		int64_t axis = a->kind == ATTR_INTS ? a->u.ints[k] : a->u.i;
		axis += axis < 0 ? nd : 0;
		if (axis < 0 || axis >= nd)
			return false;
		*mask |= 1u << axis;
	}
	return true;
}

/* Finds the strides of the result along the operand's dimensions; 0 along reduced axes. Reduced axes are
 * dropped, or kept with extent 1. */
static bool result_strides(const struct ref_array *in, const struct ref_array *out, unsigned mask,
                           int64_t *stride)
{
	int64_t own[IR_MAX_LOGICAL];
	bool keep = in->nd == out->nd;
	int j = 0;
	ref_array_strides(out, own);
	for (int k = 0; k < in->nd; k++) {
		bool reduced = mask >> k & 1;
		stride[k] = 0;
		if (reduced && !keep)
			continue;
		if (j == out->nd || out->n[j] != (reduced ? 1 : in->n[k]))
			return false;
		stride[k] = reduced ? 0 : own[j];
		j++;
	}
	return j == out->nd;
}

/* Finishes a mean that is pending over ranks. Each rank contributes its sum divided by the total count, times
 * the number of pending parts of an average. */
static void finish_mean(struct ref_fold *s, int64_t whole, double parts)
{
	s->count = whole;
	s->f *= parts, s->magnitude *= parts, s->error *= parts, s->part *= parts, s->parts *= parts;
}

bool ref_reduce(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	enum reduce_op fold = reduce_op_of((enum op_kind)op->kind);
	enum reduce_op added = fold == REDUCE_AVG ? REDUCE_SUM : fold; /* of the ranks, which divide
	                                                                  afterwards */
	int64_t stride[IR_MAX_LOGICAL], index[IR_MAX_LOGICAL] = {0}, i = 0, length = 1;
	int64_t count = ref_array_count(out);
	unsigned mask;
	if (!reduced_axes(c, call->op, in->nd, &mask) || !result_strides(in, out, mask, stride)) {
		diag_error(c->d, E_REFERENCE_SHAPE, op->at, "the axes of %s do not fit its result",
		           op_info[op->kind].hir);
		return false;
	}
	for (int k = 0; k < in->nd; k++)
		length *= mask >> k & 1 ? in->n[k] : 1;
	unsigned axis = mask ? (unsigned)__builtin_ctz(mask) : 0; /* the axis of the blocks */
	struct ref_fold *acc = mem_alloc(sizeof *acc * (size_t)count);
	for (int64_t r = 0; r < count; r++) {
		ref_fold_start(&acc[r], fold, in->dtype);
		acc[r].steps = ref_steps(c, added, out->dtype, call->ranks);
		acc[r].exact = !call->means; /* each part's mean is rounded */
		acc[r].accumulator = DTYPE_F64;
		acc[r].ranks = call->ranks;
	}
	memset(out->state, REF_DEFINED, (size_t)count);
	if (ref_array_count(in))
		do {
			int64_t r = 0;
			for (int k = 0; k < in->nd; k++)
				r += index[k] * stride[k];
			uint8_t state = in->state[i];
			if (state == REF_DEFINED)
				ref_fold_add(&acc[r], in, i, call->block ? index[axis] / call->block : i);
			else if (state < out->state[r] && !(state == REF_ABSENT && call->partial))
				out->state[r] = state;
			i++;
		} while (ref_next(in->nd, in->n, index));
	enum dtype parts = call->ranks ? call->parts_dtype : REF_NO_PARTS;
	bool ok = true;
	for (int64_t r = 0; r < count && ok; r++) {
		if (call->partial && fold == REDUCE_AVG)
			finish_mean(&acc[r], length, call->averaged);
		if (call->pending && dtype_is_float(in->dtype))
			ref_set_parts(out, r, acc[r].parts + fabs(acc[r].part));
		if (out->state[r] == REF_DEFINED && !ref_fold_end(&acc[r], out, r, parts)) {
			diag_error(c->d, E_INTEGER_BY_ZERO, op->at, "mean of no integers");
			ok = false;
		}
	}
	free(acc);
	return ok;
}

/* A fold goes along each line, and each of its steps is a result. */
bool ref_scan(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
              struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	int64_t axis = op_attr_int(c->m, call->op, "axis", -1), inner = 1, count = ref_array_count(in);
	enum reduce_op fold = REDUCE_SUM;
	axis += axis < 0 ? in->nd : 0;
	if (axis < 0 || axis >= in->nd || ref_array_count(out) != count)
		return ref_refuse_shapes(c, op);
	for (int k = (int)axis + 1; k < in->nd; k++)
		inner *= in->n[k];
	op_attr_reduce(c->m, call->op, &fold);
	int64_t n = in->n[axis];
	for (int64_t line = 0; n && line < count / n; line++) {
		struct ref_fold s;
		uint8_t state = REF_DEFINED;
		ref_fold_start(&s, fold, in->dtype);
		s.accumulator = DTYPE_F64;
		for (int64_t k = 0; k < n; k++) {
			int64_t at = line / inner * inner * n + line % inner + k * inner;
			state = in->state[at] < state ? in->state[at] : state;
			out->state[at] = state;
			if (state != REF_DEFINED)
				continue;
			ref_fold_add(&s, in, at, k);
			ref_fold_end(&s, out, at, REF_NO_PARTS);
		}
	}
	return true;
}
