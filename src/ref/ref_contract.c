/* ref_contract: matmul, linear and grouped_matmul.
 *
 *     matmul   out[…, i, j] = sum over k of a[…, i, k] * b[…, k, j]     … broadcast from the right
 *     linear   out[…, j] = sum over k of x[…, k] * w[j, k], plus bias[j]
 *     grouped  out[i, j] = sum over k of a[i, k] * b[group of row i, k, j]     0 without a group
 *
 * With accumulate=true the former value of the result is one more term.
 *
 * Both are dot products of contiguous rows; matmul transposes b first. */
#include "ref/ref_internal.h"
#include <math.h>
#include <string.h>

struct contraction {
	const struct ref_call *call;
	const struct ref_array *a, *b, *bias; /* b as [n, k]; bias may be NULL */
	const struct ref_array *ends;         /* of the groups of rows; NULL: no grouped_matmul */
	bool linear;
	int64_t k, columns;
	uint8_t *a_whole, *b_whole; /* by row: every element is defined */
	bool errs;                  /* some elements have errors */
	double *a_grid, *b_grid;    /* by row: the largest power of two that divides all of its elements */
	enum dtype parts;           /* dtype in which parts of the sum may be stored; REF_NO_PARTS: no
	                               parts are stored */
	uint8_t *held;              /* of a pending sum: true if this rank has the term k; NULL: all terms
	                               count */
	double tf32;   /* error of a sum from rounding operands to tf32, relative to magnitudes; 0: exact */
	int64_t steps; /* result of ref_steps */
	bool fuses;    /* the run may leave out the rounding of results */
};
struct sum {
	double value, magnitude, error, grid;
	double parts; /* sum of the magnitudes of the parts */
	int64_t ints;
	uint8_t state;
};

/* Adds up four sums side by side, so that one addition need not wait for the previous one. */
static struct sum dot_floats(const double *a, const double *b, int64_t n)
{
	double value[4] = {0}, magnitude[4] = {0};
	int64_t k = 0;
	for (; k + 4 <= n; k += 4)
		for (unsigned lane = 0; lane < 4; lane++) {
			double p = a[k + lane] * b[k + lane];
			value[lane] += p;
			magnitude[lane] += fabs(p);
		}
	for (; k < n; k++) {
		value[0] += a[k] * b[k];
		magnitude[0] += fabs(a[k] * b[k]);
	}
	return (struct sum){.value = (value[0] + value[1]) + (value[2] + value[3]),
	                    .magnitude = (magnitude[0] + magnitude[1]) + (magnitude[2] + magnitude[3]),
	                    .state = REF_DEFINED};
}

/* Returns the sum of products, part by part if the parts are known. */
static struct sum dot_parts(const double *a, const double *b, int64_t n, int64_t block)
{
	struct sum all = {.state = REF_DEFINED};
	if (!block || block == n) {
		all = dot_floats(a, b, n);
		all.parts = all.magnitude;
		return all;
	}
	for (int64_t k = 0; k < n; k += block) {
		struct sum part = dot_floats(a + k, b + k, block);
		all.value += part.value;
		all.magnitude += part.magnitude;
		all.parts += fabs(part.value);
	}
	return all;
}

/* Returns the magnitudes of the parts of a sum with a pending operand. */
static double dot_of_parts(const struct contraction *x, int64_t i, int64_t j)
{
	double parts = 0;
	for (int64_t k = 0; k < x->k; k++)
		if (x->a->state[i + k] == REF_DEFINED && x->b->state[j + k] == REF_DEFINED)
			parts += ref_parts(x->a, i + k) * ref_parts(x->b, j + k);
	return parts;
}

/* Returns the error of the sum from the errors of both operands. */
static double dot_error(const struct contraction *x, int64_t i, int64_t j)
{
	const double *a = x->a->data + i, *b = x->b->data + j, *ea = x->a->error + i, *eb = x->b->error + j;
	double e = 0;
	for (int64_t k = 0; k < x->k && x->errs; k++)
		if ((ea[k] > 0 || eb[k] > 0) && x->a->state[i + k] == REF_DEFINED &&
		    x->b->state[j + k] == REF_DEFINED)
			e += fabs(a[k]) * eb[k] + ea[k] * (fabs(b[k]) + eb[k]);
	return e;
}

/* Sums a[i + k] * b[j + k] for k in 0..n. In a pending sum it skips terms that this rank does not hold. */
static struct sum dot(const struct contraction *x, int64_t i, int64_t j)
{
	const struct ref_array *a = x->a, *b = x->b;
	struct sum s = {.state = REF_DEFINED};
	if (x->k && x->a_whole[i / x->k] && x->b_whole[j / x->k] && !a->ints)
		return dot_parts(a->data + i, b->data + j, x->k, x->call->block);
	for (int64_t k = 0; k < x->k; k++) {
		uint8_t state = a->state[i + k] < b->state[j + k] ? a->state[i + k] : b->state[j + k];
		if (state == REF_DEFINED) {
			double p = a->data[i + k] * b->data[j + k];
			s.value += p;
			s.magnitude += fabs(p);
			s.parts += fabs(p);
			if (a->ints)
				s.ints = (int64_t)((uint64_t)s.ints +
				                   (uint64_t)a->ints[i + k] * (uint64_t)b->ints[j + k]);
		} else if (state < s.state && !(state == REF_ABSENT && x->held && !x->held[k])) {
			s.state = state;
		}
	}
	return s;
}

/* Flags the indices along the last dimension at which both tensors hold something. */
static uint8_t *held_terms(const struct ref_array *a, const struct ref_array *b, int64_t n)
{
	uint8_t *held = mem_zalloc((size_t)n + 1);
	int64_t of_a = ref_array_count(a), of_b = ref_array_count(b);
	for (int64_t i = 0; i < of_a; i++)
		held[i % n] |= a->state[i] != REF_ABSENT;
	for (int64_t i = 0; i < of_b; i++)
		held[i % n] |= b->state[i] != REF_ABSENT ? 2 : 0;
	for (int64_t k = 0; k < n; k++)
		held[k] = held[k] == 3;
	return held;
}

/* Returns for each row of n elements the least ref_grid of its elements. */
static double *row_grids(const struct ref_array *a, int64_t n)
{
	int64_t count = ref_array_count(a);
	double *grid = mem_alloc(sizeof *grid * (size_t)(n ? count / n + 1 : 1));
	for (int64_t i = 0; n && i < count; i++) {
		double own = a->state[i] == REF_DEFINED ? ref_grid(a->data[i]) : INFINITY;
		grid[i / n] = i % n ? fmin(grid[i / n], own) : own;
	}
	return grid;
}

static uint8_t *whole_rows(const struct ref_array *a, int64_t n)
{
	int64_t count = ref_array_count(a);
	uint8_t *whole = mem_alloc((size_t)(n ? count / n + 1 : 1));
	for (int64_t i = 0; n && i < count; i++)
		whole[i / n] = a->state[i] == REF_DEFINED && (i % n == 0 || whole[i / n]);
	return whole;
}

static bool has_errors(const struct ref_array *a)
{
	int64_t count = ref_array_count(a);
	for (int64_t i = 0; i < count; i++)
		if (a->error[i] > 0)
			return true;
	return false;
}

/* Returns true if rounding to tf32 may change a defined element. An element with an error may have other bits
 * in a run. */
static bool rounds_to_tf32(const struct ref_array *a)
{
	int64_t count = ref_array_count(a);
	for (int64_t i = 0; i < count; i++) {
		int exponent;
		double units = 0x1p11 * frexp(a->data[i], &exponent);
		if (a->error[i] > 0 || (a->state[i] == REF_DEFINED && units != trunc(units)))
			return true;
	}
	return false;
}

/* Makes b with the last two dimensions swapped. */
static bool transpose(struct ref_context *c, const struct ref_array *b, struct ref_array *out, uint32_t at)
{
	int64_t n[IR_MAX_LOGICAL], rows = b->n[b->nd - 2], columns = b->n[b->nd - 1],
	                           count = ref_array_count(b);
	memcpy(n, b->n, sizeof n);
	n[b->nd - 2] = columns, n[b->nd - 1] = rows;
	if (!ref_array_make(c, out, b->dtype, b->nd, n, at))
		return false;
	for (int64_t i = 0; i < count; i++) {
		int64_t r = i / columns % rows, k = i % columns;
		ref_copy(out, i - r * columns - k + k * rows + r, b, i);
	}
	return true;
}

/* Returns the start of the matrix that a batch index of the result uses. */
static int64_t batch_offset(const struct ref_array *a, const struct ref_array *out, const int64_t *index)
{
	int64_t stride[IR_MAX_LOGICAL], offset = 0;
	ref_array_strides(a, stride);
	for (int k = 0; k < a->nd - 2; k++)
		offset += a->n[k] == 1 ? 0 : index[k + out->nd - a->nd] * stride[k];
	return offset;
}

static bool batch_fits(const struct ref_array *a, const struct ref_array *out)
{
	if (a->nd > out->nd)
		return false;
	for (int k = 0; k < a->nd - 2; k++)
		if (a->n[k] != 1 && a->n[k] != out->n[k + out->nd - a->nd])
			return false;
	return true;
}

static bool linear_fits(const struct ref_array *x, const struct ref_array *w, const struct ref_array *bias,
                        const struct ref_array *out)
{
	if (x->nd < 1 || w->nd != 2 || out->nd != x->nd || x->n[x->nd - 1] != w->n[1] ||
	    out->n[out->nd - 1] != w->n[0])
		return false;
	for (int k = 0; k < x->nd - 1; k++)
		if (out->n[k] != x->n[k])
			return false;
	return !bias || (bias->nd == 1 && bias->n[0] == w->n[0]);
}

static bool matmul_fits(const struct ref_array *a, const struct ref_array *b, const struct ref_array *out)
{
	return a->nd >= 2 && b->nd >= 2 && out->nd >= 2 && batch_fits(a, out) && batch_fits(b, out) &&
	       a->n[a->nd - 1] == b->n[b->nd - 2] && out->n[out->nd - 2] == a->n[a->nd - 2] &&
	       out->n[out->nd - 1] == b->n[b->nd - 1];
}

static bool groups_fit(const struct ref_array *a, const struct ref_array *b, const struct ref_array *ends,
                       const struct ref_array *out)
{
	return a->nd == 2 && b->nd == 3 && out->nd == 2 && ends->nd == 1 && a->n[1] == b->n[1] &&
	       ends->n[0] == b->n[0] && out->n[0] == a->n[0] && out->n[1] == b->n[2];
}

/* Adds a term to a sum. */
static void add_term(struct sum *s, const struct ref_array *a, int64_t i)
{
	s->state = a->state[i] < s->state ? a->state[i] : s->state;
	s->value += a->data[i];
	s->magnitude += fabs(a->data[i]);
	s->parts += fabs(a->data[i]);
	s->error += a->error[i];
	s->grid = fmin(s->grid, ref_grid(a->data[i]));
	s->ints = (int64_t)((uint64_t)s->ints + (a->ints ? (uint64_t)a->ints[i] : 0));
}

/* Returns the error of a sum of products before it is stored: from adding up, and from storing parts. */
static double sum_error(const struct contraction *x, const struct sum *s)
{
	bool kept = x->parts != REF_NO_PARTS;
	enum dtype accumulator = ref_accumulator(x->a->dtype);
	int bits = ref_precision(accumulator);
	if (kept && ref_precision(x->parts) < bits)
		bits = ref_precision(x->parts);
	if (s->grid == 0) /* a factor is not finite */
		return 0;
	if (ref_may_overflow(accumulator, s->magnitude, s->value) ||
	    (kept && ref_may_overflow(x->parts, s->parts, s->value)))
		return INFINITY;
	if (s->error == 0 && x->tf32 == 0 && s->grid >= ref_quantum(accumulator) &&
	    ref_sum_is_exact(bits, s->magnitude, s->grid))
		return 0;
	return (ref_sum_error(x->a->dtype, x->k + 1) + x->tf32) * s->magnitude +
	       ref_underflow_error(x->a->dtype, x->k) +
	       (kept ? ref_parts_error(x->parts, x->steps, s->parts) : 0);
}

static void store_sum(const struct contraction *x, struct sum s, int64_t column, struct ref_array *out,
                      int64_t r)
{
	if (x->call->ranks == 1) /* its part is the whole product, which is rounded once */
		s.parts = fabs(s.value);
	if (x->bias)
		add_term(&s, x->bias, column);
	if (x->call->before)
		add_term(&s, x->call->before, r);
	out->state[r] = s.state;
	if (s.state != REF_DEFINED)
		return;
	if (out->ints) {
		ref_store_int(out, r, s.ints);
		ref_set_error(out, r, out->data[r], s.error, 0);
		return;
	}
	double computed = sum_error(x, &s);
	ref_store(out, r, s.value);
	if (x->call->pending)
		ref_set_parts(out, r, s.parts);
	if (x->fuses && out->data[r] != s.value)
		computed += fabs(out->data[r] - s.value);
	ref_set_error(out, r, s.value, s.error, computed);
}

static struct sum sum_of(const struct contraction *x, int64_t i, int64_t j)
{
	struct sum s = dot(x, i, j);
	s.error = dot_error(x, i, j);
	if (x->a->parts || x->b->parts)
		s.parts = dot_of_parts(x, i, j);
	s.grid = x->k ? x->a_grid[i / x->k] * x->b_grid[j / x->k] : INFINITY;
	return s;
}

/* Returns the last group that has a row, or -1. *sure: no end has an error. */
static int64_t group_of(const struct ref_array *ends, int64_t row, bool *sure)
{
	int64_t groups = ref_array_count(ends), found = -1;
	*sure = true;
	for (int64_t g = 0; g < groups; g++) {
		*sure &= ends->state[g] == REF_DEFINED && ends->error[g] == 0;
		if ((g ? ends->ints[g - 1] : 0) <= row && row < ends->ints[g])
			found = g;
	}
	return found;
}

static struct sum sum_of_group(const struct contraction *x, int64_t row, int64_t column)
{
	bool sure;
	int64_t group = group_of(x->ends, row, &sure);
	struct sum s = {.grid = INFINITY, .state = REF_DEFINED};
	if (group >= 0)
		s = sum_of(x, row * x->k, (group * x->columns + column) * x->k);
	s.error = sure ? s.error : INFINITY;
	return s;
}

/* Returns the sum of an element of the result. */
static struct sum sum_at(const struct contraction *x, const struct ref_array *out, const int64_t *index,
                         int64_t row, int64_t column)
{
	if (x->ends)
		return sum_of_group(x, row, column);
	if (x->linear)
		return sum_of(x, row * x->k, column * x->k);
	return sum_of(x, batch_offset(x->a, out, index) + index[out->nd - 2] * x->k,
	              batch_offset(x->b, out, index) + column * x->k);
}

static void contract_operands(struct ref_context *c, const struct contraction *x, struct ref_array *out)
{
	int64_t index[IR_MAX_LOGICAL] = {0}, r = 0;
	if (ref_array_count(out) == 0)
		return;
	do {
		int64_t column = index[out->nd - 1];
		if (!x->call->want || x->call->want[r])
			store_sum(x, sum_at(x, out, index, r / x->columns, column), column, out, r);
		if (++r % x->columns == 0)
			ref_advance(c, (double)x->columns * (double)x->k);
	} while (ref_next(out->nd, out->n, index));
}

static int64_t count_wanted(const struct ref_call *call, const struct ref_array *out)
{
	int64_t count = ref_array_count(out), n = 0;
	for (int64_t i = 0; i < count && call->want; i++)
		n += call->want[i];
	return call->want ? n : count;
}

/* Counts the work. Returns false after reporting that it is too much. */
static bool afford(struct ref_context *c, double work, uint32_t at)
{
	c->work += work;
	if (c->o->limit == 0 || c->o->sample || c->work <= (double)c->o->limit)
		return true;
	diag_error(c->d, E_REFERENCE_LIMIT, at,
	           "the program is too large for the reference evaluation (limit: %.3g multiplications)",
	           (double)c->o->limit);
	diag_note(c->d, DIAG_NOWHERE, "give smaller parameters with -D%s%s", c->o->way_out ? ", " : "",
	          c->o->way_out ? c->o->way_out : "");
	return false;
}

bool ref_contract(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                  struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	struct contraction x = {.call = call, .a = in[0], .b = in[1], .linear = op->kind == OP_LINEAR};
	struct ref_array turned = {0};
	if (op->kind == OP_GROUPED_MATMUL)
		x.ends = in[2];
	else if (call->n > 2)
		x.bias = in[2];
	if (x.ends     ? !groups_fit(x.a, x.b, x.ends, out)
	    : x.linear ? !linear_fits(x.a, x.b, x.bias, out)
	               : !matmul_fits(x.a, x.b, out))
		return ref_refuse_shapes(c, op);
	if (call->partial && x.bias) {
		diag_error(c->d, E_BIAS_PENDING, op->at, "a bias cannot be added to a pending sum");
		return false;
	}
	x.k = x.a->n[x.a->nd - 1];
	x.columns = out->n[out->nd - 1];
	if (!afford(c, (double)count_wanted(call, out) * (double)x.k, op->at))
		return false;
	if (!x.linear) {
		if (!transpose(c, x.b, &turned, op->at))
			return false;
		x.b = &turned;
	}
	x.a_whole = whole_rows(x.a, x.k);
	x.b_whole = whole_rows(x.b, x.k);
	x.a_grid = row_grids(x.a, x.k);
	x.b_grid = row_grids(x.b, x.k);
	x.parts = call->ranks ? call->parts_dtype : REF_NO_PARTS;
	x.steps = ref_steps(c, REDUCE_SUM, out->dtype, call->ranks);
	x.fuses = c->o->fuses_functions;
	x.held = call->partial ? held_terms(x.a, x.b, x.k) : NULL;
	x.errs = has_errors(x.a) || has_errors(x.b);
	x.tf32 = ref_tf32_error(c, x.a->dtype);
	if (x.tf32 > 0 && !rounds_to_tf32(x.a) && !rounds_to_tf32(x.b))
		x.tf32 = 0;
	contract_operands(c, &x, out);
	ref_array_free(&turned);
	free(x.held);
	free(x.a_whole);
	free(x.b_whole);
	free(x.a_grid);
	free(x.b_grid);
	return true;
}
