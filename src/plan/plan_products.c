/* plan_products: see plan_products.h.
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…], B[…])
 *     1  let r5 = r2 * 32                               →    0  let r5 = r2 * 32
 *     2  task H[r5; 8:4 4:1] = relu(T[0; 8:4 4:1])           1  task H[r5; 8:4 4:1] = relu of gemm(X[…], …)
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…])
 *     1  task H[0; 8:4 4:1] = add(R[0; 8:4 4:1], T[…])  →    0  task H[0; 8:4 4:1] = gemm(X[…], W[…], R[0; 8:4 4:1])
 *
 *     0  task T[0; 8:16 16:1] = gemm(X[…], W[…])
 *     1  task H[0; 8:16 16:1] = mul(T[…], S[0; 8:0 16:0])  →    0  task H[0; 8:16 16:1] = gemm(X[…], W[…]; scaled by S[…])
 *
 *     0  task T[0; 8:16 16:1] = gemm(X[…], W[…]; scaled by R[…], S[…])
 *     1  task U[0; 8:16 16:1] = mul(T[…], D[0; 8:0 16:0])
 *     2  task V[0; 8:16 16:1] = maximum(U[…], -448)
 *     3  task C[0; 8:16 16:1] = minimum(V[…], 448)
 *     4  task H[0; 8:16 16:1] = copy(C[…])              →    0  task H[0; 8:16 16:1] = clamped gemm(X[…], W[…]; scaled by R[…], S[…], D[…])
 *
 * Between a product and its function there are only scalars, so that the product can move to the place
 * of the function. */
#include "plan/plan_products.h"
#include "plan/plan_fusion.h"
#include <string.h>

/* Returns true if one task alone reads the result of a task. */
static bool is_read_once(const struct plan_fusion *f, const struct plan_task *t)
{
	const struct plan_buffer *buffer = &f->p->buffer.at[t->out.buffer];
	return f->uses[t->out.buffer] == 2 && buffer->input < 0 && plan_fusion_is_plain(buffer);
}

static bool is_product(const struct plan_fusion *f, const struct plan_task *t)
{
	return t->kernel == RT_TASK_GEMM && !t->accumulate && !t->function && is_read_once(f, t);
}

static bool reads_buffer(const struct plan_task *t, uint32_t buffer)
{
	for (unsigned k = 0; k < t->in_n; k++)
		if (t->in[k].buffer == buffer)
			return true;
	return false;
}

/* Returns true if a task is a function of the product and writes nothing that the product reads. */
static bool is_function(const struct plan_fusion *f, const struct plan_task *product,
                        const struct plan_task *t)
{
	const struct plan_buffer *from = &f->p->buffer.at[product->out.buffer],
	                         *to = &f->p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || !f->wanted->epilogue[t->op] || t->scalars || t->in_n != 1 ||
	    t->op == POINTWISE_ADD || from->dtype != to->dtype || !plan_fusion_is_plain(to))
		return false;
	return plan_fusion_same_window(f->p, &product->out, &t->in[0]) &&
	       !reads_buffer(product, t->out.buffer);
}

/* Returns true if the operands of a product are floats of 8 bits, for which cuBLASLt has scales. */
static bool is_f8(const struct plan *p, const struct plan_task *product)
{
	const enum dtype left = p->buffer.at[product->in[0].buffer].dtype,
	                 right = p->buffer.at[product->in[1].buffer].dtype;
	return dtype_is_float(left) && dtype_is_float(right) && dtype_bytes(left) == 1 &&
	       dtype_bytes(right) == 1;
}

/* Returns true if all elements of the view are one number of f32. */
static bool is_scale(const struct plan *p, const struct plan_view *v)
{
	const struct plan_buffer *buffer = &p->buffer.at[v->buffer];
	for (unsigned k = 0; k < v->nd; k++)
		if (!plan_fusion_is_one(p, v->n[k]) && v->stride[k])
			return false;
	return !v->bytes && buffer->dtype == DTYPE_F32 && plan_fusion_is_plain(buffer);
}

/* Returns the operand of a multiplication by which a product can scale its sum; 0 and 1: the operand, 2: none. */
static unsigned find_scale(const struct plan_fusion *f, const struct plan_task *product,
                           const struct plan_task *t)
{
	const struct plan *p = f->p;
	const struct plan_buffer *to = &p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || t->op != POINTWISE_MUL || t->scalars || product->has_bias ||
	    to->dtype != DTYPE_F32 || p->buffer.at[product->out.buffer].dtype != DTYPE_F32 ||
	    !is_f8(p, product) || product->out.nd != t->out.nd || !plan_fusion_is_plain(to) ||
	    reads_buffer(product, t->out.buffer))
		return 2;
	for (unsigned k = 0; k < 2; k++) {
		const struct plan_view *v = &t->in[k];
		if (is_scale(p, v) && v->buffer != product->out.buffer && v->buffer != t->out.buffer &&
		    plan_fusion_same_window(p, &product->out, &t->in[1 - k]))
			return k;
	}
	return 2;
}

/* Returns true if tensor cores write such a result for operands of 8 bits: rows are multiples of 16 bytes. */
static bool suits_f8(const struct plan *p, const struct plan_view *out)
{
	const int64_t row = 16 / (int64_t)dtype_bytes(p->buffer.at[out->buffer].dtype);
	const unsigned last = out->nd - 1u;
	bool ok = !p->varies[out->offset] && p->reg.at[out->offset] % row == 0 && !p->varies[out->n[last]] &&
	          p->reg.at[out->n[last]] % row == 0;
	for (unsigned k = 0; k < last; k++)
		ok &= out->stride[k] % row == 0;
	return ok;
}

/* Returns true if a task rounds the product, of operands of `to` or of 8 bits, to 16 bits. The sum is rounded once then, as
 * rounding it to f32 before changes nothing: cuBLASLt sums in f32. A function would see the rounded sum. */
static bool is_cast(const struct plan_fusion *f, const struct plan_task *product, const struct plan_task *t)
{
	const struct plan *p = f->p;
	const struct plan_buffer *to = &p->buffer.at[t->out.buffer];
	const enum dtype left = p->buffer.at[product->in[0].buffer].dtype,
	                 right = p->buffer.at[product->in[1].buffer].dtype;
	for (unsigned k = 2; k + product->scales < product->in_n; k++)
		if (p->buffer.at[product->in[k].buffer].dtype != to->dtype)
			return false; /* cuBLASLt adds what has the type of the result */
	return t->kernel == RT_TASK_COPY && !t->scalars && t->in_n == 1 && plan_fusion_is_plain(to) &&
	       !reads_buffer(product, t->out.buffer) &&
	       p->buffer.at[product->out.buffer].dtype == DTYPE_F32 &&
	       (to->dtype == DTYPE_BF16 || to->dtype == DTYPE_F16) &&
	       (is_f8(p, product) ? suits_f8(p, &t->out) : left == to->dtype && right == to->dtype) &&
	       plan_fusion_same_window(p, &product->out, &t->in[0]);
}

/* An operand that is added to a product, by how it lies beside the result. */
enum addend { ADDEND_NONE, ADDEND_ROW, ADDEND_MATRIX };

/* Tells how the operand lies beside the result: a matrix in the same order, or a row that is added to each row. Both begin
 * at multiples of 16 bytes, as the result does. cuBLASLt adds no others. */
static enum addend kind_of_addend(const struct plan *p, const struct plan_view *v,
                                  const struct plan_view *out)
{
	const int64_t size = (int64_t)dtype_bytes(p->buffer.at[v->buffer].dtype);
	bool whole = true, row = true;
	if (v->bytes || !v->nd || v->nd != out->nd || p->varies[v->offset] ||
	    p->reg.at[v->offset] * size % 16)
		return ADDEND_NONE;
	for (unsigned k = 0; k < v->nd; k++) {
		if (plan_fusion_is_one(p, v->n[k]))
			continue;
		whole &= v->stride[k] == out->stride[k];
		row &= v->stride[k] == (k + 1u == v->nd);
	}
	return row && out->stride[v->nd - 1] == 1 ? ADDEND_ROW : whole ? ADDEND_MATRIX : ADDEND_NONE;
}

/* Returns true if the operand of a product is added to each row. */
static bool is_row(const struct plan *p, const struct plan_view *v)
{
	for (unsigned k = 0; k + 1u < v->nd; k++)
		if (!plan_fusion_is_one(p, v->n[k]) && v->stride[k])
			return false;
	return true;
}

/* Returns true if the product can add a row, or a matrix, besides those that it adds already. */
static bool has_room(const struct plan *p, const struct plan_task *product, enum addend kind)
{
	if (kind == ADDEND_NONE || product->has_addend)
		return false;
	return !product->has_bias || (kind == ADDEND_MATRIX) == is_row(p, &product->in[2]);
}

/* Returns the operand of an addition that a product can add to its sum; 0 and 1: the operand, 2: none. */
static unsigned find_addend(const struct plan_fusion *f, const struct plan_task *product,
                            const struct plan_task *t, enum addend *kind)
{
	const struct plan *p = f->p;
	const struct plan_buffer *from = &p->buffer.at[product->out.buffer],
	                         *to = &p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || t->op != POINTWISE_ADD || !f->wanted->epilogue[t->op] ||
	    t->scalars || t->in_n != 2 || from->dtype != to->dtype || !dtype_is_float(to->dtype) ||
	    (is_f8(p, product) && to->dtype == DTYPE_F32) || !plan_fusion_is_plain(to) ||
	    product->out.nd != t->out.nd || reads_buffer(product, t->out.buffer))
		return 2;
	for (unsigned k = 0; k < 2; k++) {
		const struct plan_view *v = &t->in[k];
		const struct plan_buffer *added = &p->buffer.at[v->buffer];
		*kind = kind_of_addend(p, v, &t->out);
		if (plan_fusion_same_window(p, &product->out, &t->in[1 - k]) && added->dtype == to->dtype &&
		    v->buffer != product->out.buffer && plan_fusion_is_plain(added) &&
		    has_room(p, product, *kind) &&
		    (v->buffer != t->out.buffer || plan_fusion_same_window(p, v, &t->out)))
			return k;
	}
	return 2;
}

/* Adds a row or matrix to the sum of a product. A row comes first, and scales last. */
static void add_operand(struct plan_task *product, const struct plan_view *v, enum addend kind)
{
	const unsigned at = 2u + (product->has_bias && kind == ADDEND_MATRIX);
	for (unsigned k = product->in_n++; k > at; k--)
		product->in[k] = product->in[k - 1];
	product->in[at] = *v;
	product->has_addend = product->has_bias;
	product->has_bias = 1;
}

static void add_scale(struct plan_task *product, const struct plan_view *v)
{
	product->in[product->in_n++] = *v;
	product->scales++;
}

/* ---- a result of 8 bits: a scale of its own, and the clamp to the finite range of its dtype, as cuBLASLt writes it */

enum { SUM_SCALES = 2 /* scales of the sum; the next one is the result's */, CLAMP_TASKS = 4 };

struct clamp {
	uint32_t
	    at[CLAMP_TASKS]; /* instructions: the multiplication, if there is one, the two bounds, the cast */
	unsigned n;
	const struct plan_view *scale; /* NULL: none */
};

/* Returns true if a task limits what `before` computes in f32, by a constant. */
static bool is_bound(const struct plan_fusion *f, const struct plan_task *before, const struct plan_task *t,
                     enum pointwise op, double bound)
{
	const unsigned number = t->scalars == 1 ? 0 : 1;
	return t->kernel == RT_TASK_POINTWISE && t->op == op && t->in_n == 2 && t->scalars == 1u << number &&
	       !t->scalar[number].is_reg && t->scalar[number].literal == bound &&
	       f->p->buffer.at[t->out.buffer].dtype == DTYPE_F32 && is_read_once(f, t) &&
	       plan_fusion_same_window(f->p, &before->out, &t->in[1 - number]);
}

/* Returns true if a task rounds what `before` computes to f8e4m3, as cuBLASLt writes a product of such operands. */
static bool is_f8_cast(const struct plan_fusion *f, const struct plan_task *product,
                       const struct plan_task *before, const struct plan_task *t)
{
	const struct plan *p = f->p;
	const struct plan_buffer *to = &p->buffer.at[t->out.buffer];
	return t->kernel == RT_TASK_COPY && !t->scalars && t->in_n == 1 && plan_fusion_is_plain(to) &&
	       to->dtype == DTYPE_F8E4M3 && suits_f8(p, &t->out) && !reads_buffer(product, t->out.buffer) &&
	       plan_fusion_same_window(p, &before->out, &t->in[0]);
}

/* Adds the next task to the clamp. Returns NULL if there is none right after the others. */
static const struct plan_task *add_next(const struct plan_fusion *f, uint32_t after, struct clamp *c)
{
	const uint32_t next = plan_fusion_next(f, c->n ? c->at[c->n - 1] : after);
	if (!next || c->n == CLAMP_TASKS)
		return NULL;
	c->at[c->n++] = next;
	return &f->p->task.at[f->p->code.at[next].a];
}

/* Finds the tasks after a product that clamp and round it to 8 bits. The bounds may be in either order. */
static bool find_clamp(const struct plan_fusion *f, uint32_t at, struct clamp *out)
{
	const struct plan *p = f->p;
	const struct plan_task *product = &p->task.at[p->code.at[at].a], *before = product, *t, *other, *cast;
	struct clamp c = {0};
	if (product->has_bias || p->buffer.at[product->in[0].buffer].dtype != DTYPE_F8E4M3 ||
	    p->buffer.at[product->in[1].buffer].dtype != DTYPE_F8E4M3 ||
	    p->buffer.at[product->out.buffer].dtype != DTYPE_F32 || !(t = add_next(f, at, &c)))
		return false;
	const unsigned scale = product->scales == SUM_SCALES ? find_scale(f, product, t) : 2;
	if (scale < 2) {
		if (!is_read_once(f, t))
			return false;
		c.scale = &t->in[scale];
		before = t;
		t = add_next(f, at, &c);
	}
	if (!t || !(other = add_next(f, at, &c)) || !(cast = add_next(f, at, &c)) ||
	    !is_f8_cast(f, product, other, cast))
		return false;
	const double most = dtype_largest(DTYPE_F8E4M3);
	if (!(is_bound(f, before, t, POINTWISE_MAXIMUM, -most) &&
	      is_bound(f, t, other, POINTWISE_MINIMUM, most)) &&
	    !(is_bound(f, before, t, POINTWISE_MINIMUM, most) &&
	      is_bound(f, t, other, POINTWISE_MAXIMUM, -most)))
		return false;
	*out = c;
	return true;
}

/* Joins a product with the tasks that scale, clamp and round it. */
static void fuse_clamp(struct plan_fusion *f, uint32_t at, const struct clamp *c)
{
	struct plan *p = f->p;
	struct plan_task *product = &p->task.at[p->code.at[at].a];
	const uint32_t last = c->at[c->n - 1];
	if (c->scale)
		add_scale(product, c->scale);
	plan_fusion_leave_out(f, product->out.buffer);
	for (unsigned k = 0; k < c->n; k++) {
		const uint32_t task = p->code.at[c->at[k]].a;
		if (c->at[k] != last)
			plan_fusion_leave_out(f, p->task.at[task].out.buffer);
		else
			product->out = plan_fusion_with_axes(p, &p->task.at[task].out, &product->out);
		f->unused[task] = true;
		f->gone[c->at[k]] = c->at[k] != last;
	}
	product->saturates = 1;
	p->code.at[last] = p->code.at[at];
	f->gone[at] = true;
}

/* Joins a product with the task that follows it. */
static void fuse_next(struct plan_fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	const struct plan_instruction *first = &p->code.at[at];
	uint32_t next = plan_fusion_next(f, at);
	if (!next)
		return;
	struct plan_task *product = &p->task.at[first->a], *t = &p->task.at[p->code.at[next].a];
	if (!is_product(f, product))
		return;
	struct clamp clamp;
	if (find_clamp(f, at, &clamp)) {
		fuse_clamp(f, at, &clamp);
		return;
	}
	enum addend kind;
	const unsigned addend = find_addend(f, product, t, &kind),
	               scale = product->scales < SUM_SCALES ? find_scale(f, product, t) : 2;
	const bool function = is_function(f, product, t);
	if (addend == 2 && scale == 2 && !function && !is_cast(f, product, t))
		return;
	plan_fusion_leave_out(f, product->out.buffer);
	if (function)
		product->function = (uint8_t)(t->op + 1);
	else if (addend < 2)
		add_operand(product, &t->in[addend], kind);
	else if (scale < 2)
		add_scale(product, &t->in[scale]);
	product->out = plan_fusion_with_axes(p, &t->out, &product->out);
	f->unused[p->code.at[next].a] = true;
	p->code.at[next] = *first;
	f->gone[at] = true;
}

void plan_products(struct plan *p, const struct plan_target *target)
{
	struct plan_fusion f;
	if (!memchr(target->epilogue, true, sizeof target->epilogue) || !p->task.n)
		return;
	plan_fusion_open(&f, p, target);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_next(&f, k);
	plan_fusion_close(&f);
}
