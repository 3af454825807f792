/* gemm_shape: see gemm_shape.h. */
#include "cuda/gemm_shape.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

/* The operands of the task. */
enum { LEFT, RIGHT, OUT, BIAS, ADDEND, OPERANDS };

/* An axis of the problem: m, n, k or a batch axis. */
struct axis {
	int64_t n;
	int64_t stride[OPERANDS]; /* by operand, elements; 0 if the operand does not have the axis */
};

struct problem {
	struct axis m, n, k;
	struct axis batch[RT_MAX_DIMS];
	int batches;
	const struct rt_view *view[OPERANDS]; /* NULL: the task has no such operand */
};

/* By in[0], in[1] and out: the type of bias that cuBLASLt requires. A kernel computes combinations that are
 * not in the table: integers, and products of two f8e5m2. cuBLASLt clamps results of 8 bits to the largest number,
 * where hirc gives inf or NaN unless the task saturates. These have no bias. */
static const struct {
	enum dtype left, right, out, bias;
} known[] = {
    {DTYPE_F64, DTYPE_F64, DTYPE_F64, DTYPE_F64},
    {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32},
    {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16, DTYPE_BF16},
    {DTYPE_BF16, DTYPE_BF16, DTYPE_F32, DTYPE_F32},
    {DTYPE_F16, DTYPE_F16, DTYPE_F16, DTYPE_F16},
    {DTYPE_F16, DTYPE_F16, DTYPE_F32, DTYPE_F32},
    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_F32, DTYPE_BF16},
    {DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_F32, DTYPE_BF16},
    {DTYPE_F8E5M2, DTYPE_F8E4M3, DTYPE_F32, DTYPE_BF16},
    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_BF16, DTYPE_BF16},
    {DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_BF16, DTYPE_BF16},
    {DTYPE_F8E5M2, DTYPE_F8E4M3, DTYPE_BF16, DTYPE_BF16},
    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_F16, DTYPE_F16},
    {DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_F16, DTYPE_F16},
    {DTYPE_F8E5M2, DTYPE_F8E4M3, DTYPE_F16, DTYPE_F16},
    {DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_F8E4M3, DTYPE_BF16},
};

static bool is_f8(uint8_t dtype)
{
	return dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2;
}

static bool has_types(const struct rt_view *const view[], bool saturates)
{
	if (is_f8(view[OUT]->dtype) != saturates)
		return false;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].left == view[LEFT]->dtype && known[i].right == view[RIGHT]->dtype &&
		    known[i].out == view[OUT]->dtype)
			return (!view[BIAS] || known[i].bias == view[BIAS]->dtype) &&
			       (!view[ADDEND] || known[i].out == view[ADDEND]->dtype);
	return false;
}

/* ---- axes */

static void add_operand(struct axis *a, int operand, const struct rt_view *v, int axis)
{
	assert(v->n[axis] == a->n);
	a->stride[operand] = a->n == 1 ? 0 : v->stride[axis];
}

/* Returns true if a view is a matrix that lies as the result does, not a row for all. */
static bool is_addend(const struct rt_view *v, const struct rt_view *out)
{
	bool row = true, whole = v->dtype == out->dtype;
	for (int k = 0; k < v->nd; k++) {
		row &= k + 1 == v->nd || v->n[k] == 1 || v->stride[k] == 0;
		whole &= v->n[k] == 1 || v->stride[k] == out->stride[k];
	}
	return whole && !row;
}

static void find_operands(const struct rt_task *t, const struct rt_view *view[])
{
	const bool matrix = t->has_bias && !t->has_addend && is_addend(&t->in[2], &t->out);
	view[LEFT] = &t->in[0];
	view[RIGHT] = &t->in[1];
	view[OUT] = &t->out;
	view[BIAS] = t->has_bias && !matrix ? &t->in[2] : NULL;
	view[ADDEND] = matrix ? &t->in[2] : t->has_addend ? &t->in[3] : NULL;
}

static struct problem problem_of(const struct rt_task *t)
{
	const struct rt_view *left = &t->in[0], *right = &t->in[1];
	int batches = t->out.nd - 2;
	assert(batches >= 0 && left->nd == t->out.nd && right->nd == t->out.nd);
	struct problem p = {
	    .m.n = t->out.n[batches], .n.n = t->out.n[batches + 1], .k.n = left->n[batches + 1]};
	add_operand(&p.m, LEFT, left, batches);
	add_operand(&p.k, LEFT, left, batches + 1);
	add_operand(&p.k, RIGHT, right, batches);
	add_operand(&p.n, RIGHT, right, batches + 1);
	add_operand(&p.m, OUT, &t->out, batches);
	add_operand(&p.n, OUT, &t->out, batches + 1);
	find_operands(t, p.view);
	for (int o = BIAS; o <= ADDEND; o++)
		if (p.view[o]) {
			add_operand(&p.m, o, p.view[o], batches);
			add_operand(&p.n, o, p.view[o], batches + 1);
		}
	for (int d = 0; d < batches; d++) {
		struct axis *a = &p.batch[p.batches];
		if (t->out.n[d] == 1)
			continue;
		*a = (struct axis){.n = t->out.n[d]};
		for (int o = 0; o < OPERANDS; o++)
			if (p.view[o])
				add_operand(a, o, p.view[o], d);
		p.batches++;
	}
	return p;
}

/* Returns true if, in every operand, a step of `outer` is as long as all of `inner`. */
static bool encloses(const struct axis *outer, const struct axis *inner)
{
	for (int o = 0; o < OPERANDS; o++)
		if (outer->stride[o] != inner->stride[o] * inner->n)
			return false;
	return true;
}

/* Joins two axes. The order of elements along the result does not matter, since it is the same in all
 * operands. */
static bool join_axes(struct axis *into, const struct axis *from)
{
	int64_t n = into->n * from->n;
	if (into->n == 1 || encloses(into, from))
		*into = *from;
	else if (!encloses(from, into))
		return false;
	into->n = n;
	return true;
}

/* Joins batch axis i to m, n or another batch axis. */
static bool join_any(struct problem *p, int i)
{
	const struct axis *from = &p->batch[i];
	if ((from->stride[RIGHT] == 0 && join_axes(&p->m, from)) ||
	    (from->stride[LEFT] == 0 && join_axes(&p->n, from)))
		return true;
	for (int j = 0; j < p->batches; j++)
		if (j != i && join_axes(&p->batch[j], from))
			return true;
	return false;
}

static void join_all(struct problem *p)
{
	for (int i = 0; i < p->batches;)
		if (join_any(p, i)) {
			p->batch[i] = p->batch[--p->batches];
			i = 0;
		} else
			i++;
}

/* ---- matrices */

/* Returns true if an operand is a matrix: columns are dense along `down`, and follow each other along
 * `across`. */
static bool is_matrix(const struct axis *down, const struct axis *across, int operand, int64_t *lead)
{
	if (down->n > 1 && down->stride[operand] != 1)
		return false;
	*lead = across->n > 1 ? across->stride[operand] : down->n;
	return *lead >= down->n;
}

/* Returns true if an input is a matrix with columns along the summed axis, or along the kept axis. */
static bool is_matrix_either_way(const struct axis *inner, const struct axis *stays, int operand,
                                 bool *along_inner, int64_t *lead)
{
	*along_inner = inner->n > 1 || stays->n == 1;
	if (*along_inner ? is_matrix(inner, stays, operand, lead) : is_matrix(stays, inner, operand, lead))
		return true;
	*along_inner = !*along_inner;
	return *along_inner ? is_matrix(inner, stays, operand, lead) : is_matrix(stays, inner, operand, lead);
}

/* Sets a, b and d so that d's columns lie along `row`; a is the operand that has this axis. */
static bool set_matrices(const struct axis *row, const struct axis *col, const struct axis *inner, int a,
                         int b, bool has_bias, struct cuda_gemm_key *key)
{
	bool along_inner;
	if (!is_matrix(row, col, OUT, &key->lead[CUDA_GEMM_D]))
		return false;
	if (has_bias && (col->stride[BIAS] != 0 || (row->n > 1 && row->stride[BIAS] != 1)))
		return false;
	if (!is_matrix_either_way(inner, row, a, &along_inner, &key->lead[CUDA_GEMM_A]))
		return false;
	key->transposed[CUDA_GEMM_A] = along_inner;
	if (!is_matrix_either_way(inner, col, b, &along_inner, &key->lead[CUDA_GEMM_B]))
		return false;
	key->transposed[CUDA_GEMM_B] = !along_inner;
	key->rows = row->n;
	key->cols = col->n;
	key->inner = inner->n;
	return true;
}

/* Sets, for each operand of cuBLASLt, the operand of the task. */
static bool orient(const struct problem *p, bool has_bias, struct cuda_gemm_key *key, int from[])
{
	/* a vector is one column, not many columns of one element */
	bool columns_first = p->n.n == 1 && p->m.n > 1;
	from[CUDA_GEMM_D] = OUT;
	from[CUDA_GEMM_BIAS] = BIAS;
	from[CUDA_GEMM_C] = ADDEND;
	for (int i = 0; i < 2; i++) {
		bool columns = (i == 0) == columns_first;
		from[CUDA_GEMM_A] = columns ? LEFT : RIGHT;
		from[CUDA_GEMM_B] = columns ? RIGHT : LEFT;
		if (set_matrices(columns ? &p->m : &p->n, columns ? &p->n : &p->m, &p->k, from[CUDA_GEMM_A],
		                 from[CUDA_GEMM_B], has_bias, key))
			return true;
	}
	return false;
}

/* ---- the batch, the launches, addresses */

/* Returns the longest batch axis with positive strides; -1: none. */
static int find_longest_batch(const struct problem *p)
{
	int best = -1;
	for (int i = 0; i < p->batches; i++) {
		const struct axis *a = &p->batch[i];
		bool forwards = a->n <= INT_MAX;
		for (int o = 0; o < OPERANDS; o++)
			forwards &= a->stride[o] >= 0;
		if (forwards && (best < 0 || a->n > p->batch[best].n))
			best = i;
	}
	return best;
}

static bool set_batch(const struct problem *p, const int from[], struct cuda_gemm_shape *s)
{
	int batch = find_longest_batch(p);
	s->key.batch = s->launches = 1;
	for (int i = 0; i < p->batches; i++) {
		const struct axis *a = &p->batch[i];
		if (i == batch) {
			s->key.batch = a->n;
			for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
				s->key.batch_stride[o] = a->stride[from[o]];
			continue;
		}
		if (a->n > CUDA_GEMM_LAUNCHES / s->launches)
			return false;
		s->launches *= a->n;
		s->axis[s->axes].n = a->n;
		for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
			s->axis[s->axes].stride[o] =
			    a->stride[from[o]] * (int64_t)dtype_bytes(s->key.dtype[o]);
		s->axes++;
	}
	return true;
}

static uint16_t alignment(const struct cuda_gemm_shape *s, int operand)
{
	uint64_t all = 256 | (uint64_t)(uintptr_t)s->at[operand];
	for (int i = 0; i < s->axes; i++)
		all |= (uint64_t)s->axis[i].stride[operand];
	return (uint16_t)(all & -all);
}

/* Returns true if a bias is aligned for the vectors of 16 bytes by which cuBLASLt reads it, whatever
 * alignment it was told. */
static bool bias_is_aligned(const struct cuda_gemm_key *key)
{
	int64_t step = key->batch_stride[CUDA_GEMM_BIAS] * (int64_t)dtype_bytes(key->dtype[CUDA_GEMM_BIAS]);
	return key->aligned[CUDA_GEMM_BIAS] >= 16 && step % 16 == 0;
}

/* Returns true if tensor cores can multiply these f8 operands. Both must have columns along the sum, and
 * everything except the number of columns of b and d must be a multiple of 16 bytes. */
static bool has_f8_path(const struct cuda_gemm_key *key)
{
	int64_t size_d = (int64_t)dtype_bytes(key->dtype[CUDA_GEMM_D]);
	if (!key->transposed[CUDA_GEMM_A] || key->transposed[CUDA_GEMM_B] || key->inner % 16 != 0 ||
	    key->rows * size_d % 16 != 0 || (key->addend && key->aligned[CUDA_GEMM_C] < 16))
		return false;
	for (int o = 0; o < CUDA_GEMM_BIAS; o++) {
		int64_t size = (int64_t)dtype_bytes(key->dtype[o]);
		if (key->aligned[o] < 16 || key->lead[o] * size % 16 != 0 ||
		    key->batch_stride[o] * size % 16 != 0)
			return false;
	}
	return true;
}

/* Returns the function that cuBLASLt can apply. Its gelu uses tanh, with an accuracy that it does not state;
 * it is good enough for results of 16 bits. */
static enum cuda_gemm_function function_of(const struct rt_task *t)
{
	bool narrow = t->out.dtype == DTYPE_BF16 || t->out.dtype == DTYPE_F16;
	if (t->function == POINTWISE_RELU + 1)
		return CUDA_GEMM_RELU;
	return t->function == POINTWISE_GELU_TANH + 1 && narrow ? CUDA_GEMM_GELU : CUDA_GEMM_NO_FUNCTION;
}

_Static_assert(sizeof(struct cuda_gemm_key) ==
                   12 * sizeof(int64_t) + 5 * sizeof(uint16_t) + 14 * sizeof(uint8_t),
               "a key has no padding");

/* Returns true if c lies as d does along all axes, for cuBLASLt has one layout for both. */
static bool lies_as_result(const struct problem *p)
{
	bool same = p->m.stride[ADDEND] == p->m.stride[OUT] && p->n.stride[ADDEND] == p->n.stride[OUT];
	for (int i = 0; i < p->batches; i++)
		same &= p->batch[i].stride[ADDEND] == p->batch[i].stride[OUT];
	return same;
}

bool cuda_gemm_shape(const struct rt_task *t, struct cuda_gemm_shape *out)
{
	struct cuda_gemm_shape s;
	int from[CUDA_GEMM_OPERANDS];
	if (rt_view_count(&t->out) == 0 || t->in[0].n[t->out.nd - 1] == 0)
		return false;
	struct problem p = problem_of(t);
	join_all(&p);
	memset(&s, 0, sizeof s);
	const bool addend = p.view[ADDEND] != NULL, bias = p.view[BIAS] != NULL;
	if (!has_types(p.view, t->saturates) || p.m.n > INT_MAX || p.n.n > INT_MAX || p.k.n > INT_MAX ||
	    (addend && !lies_as_result(&p)) || !orient(&p, bias, &s.key, from))
		return false;
	for (int o = 0; o < CUDA_GEMM_OPERANDS; o++) {
		const struct rt_view *v = p.view[from[o]];
		if (v)
			s.key.dtype[o] = (uint8_t)v->dtype, s.at[o] = v->data;
	}
	if (!set_batch(&p, from, &s))
		return false;
	for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
		s.key.aligned[o] = alignment(&s, o);
	s.key.accumulate = t->accumulate;
	s.key.bias = bias;
	s.key.addend = addend;
	s.key.scales = t->scales;
	for (unsigned k = 0; k < t->scales; k++)
		s.scale[k] = t->in[2 + t->has_bias + t->has_addend + k].data;
	s.key.function = (uint8_t)function_of(t);
	const bool f8 = is_f8(s.key.dtype[CUDA_GEMM_A]);
	if ((bias && !bias_is_aligned(&s.key)) || (f8 ? !has_f8_path(&s.key) : t->scales > 0))
		return false;
	*out = s;
	return true;
}

void cuda_gemm_operands(const struct cuda_gemm_shape *s, int64_t launch, char *at[CUDA_GEMM_OPERANDS])
{
	memcpy(at, s->at, sizeof s->at);
	for (int i = 0; i < s->axes; i++) {
		for (int o = 0; o < CUDA_GEMM_OPERANDS; o++)
			if (at[o])
				at[o] += launch % s->axis[i].n * s->axis[i].stride[o];
		launch /= s->axis[i].n;
	}
}
