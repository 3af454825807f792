/* ref_index: operations on indices, and bitcast. */
#include "ir/print.h"
#include "ref/ref_internal.h"
#include <math.h>
#include <stdlib.h>

static bool is_element_wanted(const struct ref_call *call, int64_t i)
{
	return !call->want || call->want[i];
}

/* Reports an index outside of its axis. If it was made of an input without data, a note says which numbers that has. */
static void report_index(struct ref_context *c, op_id op, int64_t index, int64_t extent)
{
	value_id v = op_read(c->m, op, 1);
	diag_error(c->d, E_INDEX_OUTSIDE, ir_op(c->m, op)->at,
	           "%s: index %lld is outside of the axis, which has extent %lld",
	           op_info[ir_op(c->m, op)->kind].hir, (long long)index, (long long)extent);
	while (v && c->m->value.at[v].def)
		v = op_read(c->m, c->m->value.at[v].def, 0);
	for (uint32_t k = 0; v && k < c->m->input.n; k++)
		if (c->m->input.at[k].value == v && !c->m->input.at[k].init) {
			struct buf name = {0};
			ir_print_value_name(c->m, v, &name);
			diag_note(c->d, DIAG_NOWHERE,
			          "without data of its own, an input has integers from -4 to 4; "
			          "`--input %s=FILE.npy` gives it others",
			          name.at);
			buf_free(&name);
		}
}

bool ref_take(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	const struct ref_array *table = in[0], *index = in[1];
	int64_t axis = op_attr_int(c->m, call->op, "axis", 0), inner = 1;
	axis += axis < 0 ? table->nd : 0;
	if (axis < 0 || axis >= table->nd)
		return ref_refuse_shapes(c, op);
	for (int k = (int)axis + 1; k < table->nd; k++)
		inner *= table->n[k];
	int64_t n = table->n[axis], many = ref_array_count(index), count = ref_array_count(out);
	if (count != (n ? ref_array_count(table) / n * many : count))
		return ref_refuse_shapes(c, op);
	for (int64_t i = 0; i < count; i++) { /* i = (outer * many + at) * inner + within */
		int64_t at = i / inner % many, outer = i / inner / many, k = index->ints[at];
		out->state[i] = index->state[at];
		if (index->state[at] != REF_DEFINED || !is_element_wanted(call, i))
			continue;
		if (k < 0 || k >= n) {
			report_index(c, call->op, k, n);
			return false;
		}
		ref_copy(out, i, table, (outer * n + k) * inner + i % inner);
		if (call->partial && out->state[i] == REF_ABSENT) { /* another rank holds it */
			ref_store_int(out, i, 0);
			out->state[i] = REF_DEFINED;
		}
		if (index->error[at] > 0)
			out->error[i] = INFINITY;
	}
	return true;
}

/* A line of a scatter: elements of the operand along the axis, and the indices and elements that go there. */
struct put_line {
	const struct ref_array *index, *from;
	struct ref_array *out;
	int64_t at, index_at, from_at; /* the first element of each */
	int64_t step, index_step;      /* distances along the axis, of the elements as of out */
	int64_t n, length;             /* elements of out, indices */
	struct ref_fold *fold;         /* NULL: elements are replaced; else one for each element of out */
};

/* Puts an element at a place of the line, or adds it to the place's reduction. */
static void put_element(const struct put_line *x, int64_t place, int64_t from)
{
	int64_t at = x->at + place * x->step;
	if (!x->fold)
		ref_copy(x->out, at, x->from, from);
	else if (x->from->state[from] == REF_DEFINED)
		ref_fold_add(&x->fold[place], x->from, from, 0);
	else if (x->out->state[at] > x->from->state[from])
		x->out->state[at] = x->from->state[from];
}

/* An index with an error may be any: the line is not known then. */
static void forget_line(const struct put_line *x, uint8_t state)
{
	for (int64_t i = 0; i < x->n; i++) {
		x->out->state[x->at + i * x->step] = state;
		x->out->error[x->at + i * x->step] = INFINITY;
	}
}

/* Writes the elements of a line in the order of their indices. Returns false after reporting an index. */
static bool put_line(struct ref_context *c, op_id op, const struct put_line *x)
{
	const struct ref_array *index = x->index;
	int64_t unsure = -1;
	for (int64_t j = 0; j < x->length; j++) {
		int64_t i = x->index_at + j * x->index_step, k = index->ints[i];
		if (index->state[i] == REF_DEFINED && (k < 0 || k >= x->n)) {
			report_index(c, op, k, x->n);
			return false;
		}
		if (index->state[i] == REF_DEFINED && index->error[i] == 0)
			put_element(x, k, x->from->nd ? x->from_at + j * x->step : 0);
		else
			unsure = i;
	}
	for (int64_t k = 0; x->fold && k < x->n; k++)
		if (x->out->state[x->at + k * x->step] == REF_DEFINED)
			ref_fold_end(&x->fold[k], x->out, x->at + k * x->step, REF_NO_PARTS);
	if (unsure >= 0)
		forget_line(x, index->state[unsure]);
	return true;
}

static void start_folds(const struct put_line *x, enum reduce_op reduce)
{
	for (int64_t k = 0; k < x->n; k++) {
		int64_t at = x->at + k * x->step;
		ref_fold_start(&x->fold[k], reduce, x->out->dtype);
		if (x->out->state[at] == REF_DEFINED)
			ref_fold_add(&x->fold[k], x->out, at, 0);
	}
}

bool ref_put(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
             struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	const struct ref_array *index = in[1], *from = in[2];
	int64_t axis = op_attr_int(c->m, call->op, "axis", 0), inner = 1, count = ref_array_count(out);
	enum reduce_op reduce;
	bool one = index->nd == 1,
	     reduces = op_attr(c->m, call->op, "op") && op_attr_reduce(c->m, call->op, &reduce);
	axis += axis < 0 ? out->nd : 0;
	if (axis < 0 || axis >= out->nd || (!one && index->nd != out->nd) || ref_array_count(in[0]) != count)
		return ref_refuse_shapes(c, op);
	for (int k = (int)axis + 1; k < out->nd; k++)
		inner *= out->n[k];
	struct put_line x = {.index = index,
	                     .from = from,
	                     .out = out,
	                     .step = inner,
	                     .index_step = one ? 1 : inner,
	                     .n = out->n[axis],
	                     .length = index->n[one ? 0 : axis]};
	int64_t lines = x.n ? count / x.n : one ? 1 : ref_array_count(index) / (x.length ? x.length : 1);
	if ((!one && ref_array_count(index) != lines * x.length) ||
	    (from->nd && ref_array_count(from) != lines * x.length && x.n))
		return ref_refuse_shapes(c, op);
	for (int64_t i = 0; i < count; i++)
		ref_copy(out, i, in[0], i);
	x.fold = reduces ? mem_alloc(sizeof *x.fold * (size_t)(x.n + 1)) : NULL;
	bool ok = true;
	for (int64_t line = 0; ok && line < lines; line++) {
		int64_t outer = line / inner, within = line % inner;
		x.at = outer * x.n * inner + within;
		x.from_at = outer * x.length * inner + within;
		x.index_at = one ? 0 : x.from_at;
		if (reduces)
			start_folds(&x, reduce);
		ok = put_line(c, call->op, &x);
	}
	free(x.fold);
	return ok;
}

/* Returns true if element x of a row precedes y: it is larger, NaN being the largest, or equal and
 * earlier. */
static bool comes_before(const struct ref_array *a, int64_t x, int64_t y)
{
	double p = a->data[x], q = a->data[y];
	if (isnan(p) || isnan(q))
		return isnan(p) && (!isnan(q) || x < y);
	if (a->ints && a->ints[x] != a->ints[y])
		return a->ints[x] > a->ints[y];
	return p != q ? p > q : x < y;
}

/* An element and its place. */
struct place {
	double value;
	int64_t at;
};

static int compare_values(const void *a, const void *b)
{
	double x = ((const struct place *)a)->value, y = ((const struct place *)b)->value;
	return (x > y) - (x < y);
}

void ref_number_alike(struct ref_context *c, const struct ref_array *in, int64_t at, int64_t n,
                      int64_t stride, struct ref_array *out)
{
	if (!c->has_topk)
		return;
	struct place *sure = mem_alloc(sizeof *sure * (size_t)(n + 1));
	int64_t count = 0;
	for (int64_t k = 0; k < n; k++) {
		int64_t i = at + k * stride;
		if (in->state[i] == REF_DEFINED && in->error[i] == 0 && !isnan(in->data[i]))
			sure[count++] = (struct place){in->data[i], i};
	}
	qsort(sure, (size_t)count, sizeof *sure, compare_values);
	for (int64_t k = 0; k < count; k++) {
		c->alike += k == 0 || sure[k].value != sure[k - 1].value;
		ref_set_alike(out, sure[k].at, c->alike);
	}
	free(sure);
}

static bool is_same_element(const struct ref_array *a, int64_t x, int64_t y)
{
	return a->alike && a->alike[x] && a->alike[x] == a->alike[y];
}

/* Returns true if no error of the operand can move another element to this place. */
static bool is_sure(const struct ref_array *a, int64_t at, int64_t n, int64_t stride, int64_t chosen)
{
	for (int64_t k = 0; k < n; k++) {
		int64_t other = at + k * stride;
		double e = a->error[other] + a->error[chosen];
		if (other != chosen && e > 0 && !is_same_element(a, other, chosen) &&
		    !(fabs(a->data[other] - a->data[chosen]) > e))
			return false;
	}
	return true;
}

/* Handles one row: takes its elements with fewer than k elements before them. */
static void topk_row(const struct ref_array *in, int64_t at, int64_t n, int64_t stride, bool indices,
                     struct ref_array *out, int64_t to, int64_t k)
{
	uint8_t state = REF_DEFINED;
	double worst = 0;
	for (int64_t i = 0; i < n; i++) {
		state = in->state[at + i * stride] < state ? in->state[at + i * stride] : state;
		worst = fmax(worst, in->error[at + i * stride]);
	}
	for (int64_t i = 0; i < k; i++)
		out->state[to + i * stride] = state;
	for (int64_t i = 0; i < n && state == REF_DEFINED; i++) {
		int64_t place = 0, own = at + i * stride;
		for (int64_t j = 0; j < n; j++)
			place += comes_before(in, at + j * stride, own);
		if (place >= k)
			continue;
		int64_t slot = to + place * stride;
		if (indices) {
			ref_store_int(out, slot, i);
			out->error[slot] = is_sure(in, at, n, stride, own) ? 0 : INFINITY;
		} else {
			ref_copy(out, slot, in, own);
			out->error[slot] = worst;
		}
	}
}

bool ref_topk(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
              struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	int64_t axis = op_attr_int(c->m, call->op, "axis", -1), inner = 1;
	axis += axis < 0 ? in->nd : 0;
	if (axis < 0 || axis >= in->nd || out->nd != in->nd)
		return ref_refuse_shapes(c, op);
	for (int j = (int)axis + 1; j < in->nd; j++)
		inner *= in->n[j];
	int64_t n = in->n[axis], k = out->n[axis], rows = k ? ref_array_count(out) / k : 0;
	if (k > n) {
		diag_error(c->d, E_TOPK, op->at, "topk: k= is %lld, the axis has %lld elements", (long long)k,
		           (long long)n);
		return false;
	}
	for (int64_t row = 0; row < rows; row++) {
		int64_t outer = row / inner, within = row % inner;
		topk_row(in, outer * n * inner + within, n, inner, call->result == 1, out,
		         outer * k * inner + within, k);
	}
	return true;
}

bool ref_one_hot(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out)
{
	int64_t n = out->nd ? out->n[out->nd - 1] : 0, count = ref_array_count(out);
	if (out->nd != in->nd + 1 || count != n * ref_array_count(in))
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
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
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
	for (int64_t i = 0; i < count; i++) {
		ref_store_bits(out, i, ref_bits(in, i));
		out->state[i] = in->state[i];
		if (in->error[i] > 0 || isnan(in->data[i]))
			out->error[i] = INFINITY;
	}
	return true;
}
