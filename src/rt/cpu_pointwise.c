/* cpu_pointwise: computes out = op(operands) row by row, in the wide type that the operands decide.
 *
 * Dense operands of the wide type are used in place. Otherwise a row is loaded and stored through the
 * arrays of struct pointwise_rows. */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/elementary_f64.h"
#include "rt/fault.h"
#include "rt/rows.h"
#include <assert.h>
#include <string.h>
#include <tgmath.h>

#include "base/inverse_erf.h"

/* A row of some wide type. */
union row {
	double f64[RT_ROW];
	float f32[RT_ROW];
	int64_t i64[RT_ROW];
};

struct pointwise_rows {
	const struct rt_task *task;
	int operands;
	enum dtype wide[3]; /* wide type in which operand i is loaded */
	enum dtype result;  /* wide type of the result row */
	union row in[3];    /* scalar operands are filled in once */
	union row out;
	char *why;
};

/* The result may have the same memory as an operand, element by element. */
#define EACH(expr)                                                                                           \
	_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) r[i] = (expr);                                   \
	break

/* The loops of those rows of pointwise.def that state a result in the column `real`; operands x and y of
 * type T. */
#define LOOP_1(real)                                                                                         \
	_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)                                                  \
	{                                                                                                    \
		const T a = x[i];                                                                            \
		r[i] = real;                                                                                 \
	}                                                                                                    \
	break;
#define LOOP_2(real)                                                                                         \
	_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)                                                  \
	{                                                                                                    \
		const T a = x[i], b = y[i];                                                                  \
		r[i] = real;                                                                                 \
	}                                                                                                    \
	break;
#define LOOP_3(real) break; /* `where` has a function of its own, choose() */
#define REAL_ANY(label, operands, real) label LOOP_##operands(real)
#define REAL_REAL(label, operands, real) label LOOP_##operands(real)
#define REAL_COMPARE(...)
#define REAL_LOGICAL(...)
#define REAL_INTEGER(...)
#define REAL_WIDE(label, operands, real) label LOOP_##operands(real)
#define MOD(a, b) modulo(fmod(a, b), b)
/* Gives the remainder m of a division by b the sign of b. */
#define modulo(m, b) ((m) != 0 && ((m) < 0) != ((b) < 0) ? (m) + (b) : (m))

#define T double
#define F(name) name
#define EXP elementary_exp_f64
#define TANH elementary_tanh_f64
#define GELU elementary_gelu_f64
#define GELU_TANH elementary_gelu_tanh_f64
#define SILU elementary_silu_f64
#define SIGMOID elementary_sigmoid_f64
#define LOG log
#define SIN sin
#define COS cos
#define POW pow
#define ERFINV inverse_erf
#define ERFCINV inverse_erfc
#define LGAMMA lgamma
RT_CLONES static void real_f64(enum pointwise op, T *r, const T *x, const T *y, size_t n)
{
	switch (op) {
#define POINTWISE(id, hir, operands, class, linear, real, ...)                                               \
	REAL_##class(case POINTWISE_##id:, operands, real)
#include "base/pointwise.def"
#undef POINTWISE
	default:
		assert(false);
	}
}
#undef T
#undef F
#undef EXP
#undef TANH
#undef GELU
#undef GELU_TANH
#undef SILU
#undef SIGMOID
#undef LOG
#undef SIN
#undef COS
#undef POW
#undef ERFINV
#undef ERFCINV
#undef LGAMMA

#define T float
#define F(name) name##f
#define EXP elementary_expf
#define TANH elementary_tanhf
#define GELU elementary_geluf
#define GELU_TANH elementary_gelu_tanhf
#define SILU elementary_siluf
#define SIGMOID elementary_sigmoidf
#define LOG elementary_logf
#define SIN elementary_sinf
#define COS elementary_cosf
#define POW elementary_powf
#define ERFINV(a) (float)inverse_erf((double)(a))
#define ERFCINV(a) (float)inverse_erfc((double)(a))
#define LGAMMA(a) (float)lgamma((double)(a))
RT_CLONES static void real_f32(enum pointwise op, T *r, const T *x, const T *y, size_t n)
{
	switch (op) {
#define POINTWISE(id, hir, operands, class, linear, real, ...)                                               \
	REAL_##class(case POINTWISE_##id:, operands, real)
#include "base/pointwise.def"
#undef POINTWISE
	default:
		assert(false);
	}
}
#undef T
#undef F
#undef EXP
#undef TANH
#undef GELU
#undef GELU_TANH
#undef SILU
#undef SIGMOID
#undef LOG
#undef SIN
#undef COS
#undef POW
#undef ERFINV
#undef ERFCINV
#undef LGAMMA

/* Computes rows of sin and cos with a large angle. An element has the same result in any row. */
static bool far_angles(enum pointwise op, float *r, const float *a, size_t n)
{
	bool far = false;
	for (size_t i = 0; i < n; i++)
		far |= fabsf(a[i]) > ELEMENTARY_MOST_ANGLE;
	for (size_t i = 0; i < n && far; i++) {
		if (fabsf(a[i]) > ELEMENTARY_MOST_ANGLE)
			r[i] = (float)(op == POINTWISE_SIN ? sin((double)a[i]) : cos((double)a[i]));
		else
			r[i] = op == POINTWISE_SIN ? elementary_sinf(a[i]) : elementary_cosf(a[i]);
	}
	return far;
}

/* Returns base to the power e >= 0, modulo 2^64. */
static int64_t integer_power(int64_t base, int64_t e)
{
	uint64_t r = 1, b = (uint64_t)base;
	for (; e > 0; e >>= 1, b *= b)
		if (e & 1)
			r *= b;
	return (int64_t)r;
}

/* Returns a power with a negative exponent. Powers below 1 are truncated: only 1 and -1 have integer
 * inverses. */
static int64_t integer_inverse_power(int64_t base, int64_t e)
{
	return base == 1 ? 1 : base == -1 ? (e & 1 ? -1 : 1) : 0;
}

/* Returns the greatest common divisor; of 0 and INT64_MIN it wraps. */
static int64_t greatest_divisor(int64_t a, int64_t b)
{
	uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
	while (y) {
		uint64_t rest = x % y;
		x = y;
		y = rest;
	}
	return (int64_t)x;
}

static bool has_zero(const int64_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i] == 0)
			return true;
	return false;
}

#define WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))

/* Returns false on a division by zero. */
RT_CLONES static bool integer(enum pointwise op, int64_t *r, const int64_t *a, const int64_t *b, size_t n)
{
	if ((op == POINTWISE_DIV || op == POINTWISE_MOD || op == POINTWISE_FMOD) && has_zero(b, n))
		return false;
	switch (op) {
	case POINTWISE_ADD:
		EACH(WRAP(a[i], +, b[i]));
	case POINTWISE_SUB:
		EACH(WRAP(a[i], -, b[i]));
	case POINTWISE_MUL:
		EACH(WRAP(a[i], *, b[i]));
	case POINTWISE_DIV:
		EACH(b[i] == -1 ? WRAP(0, -, a[i]) : a[i] / b[i]);
	case POINTWISE_MOD:
		for (size_t i = 0; i < n; i++) {
			int64_t m = b[i] == -1 ? 0 : a[i] % b[i];
			r[i] = m != 0 && (m < 0) != (b[i] < 0) ? m + b[i] : m;
		}
		break;
	case POINTWISE_FMOD:
		EACH(b[i] == -1 ? 0 : a[i] % b[i]);
	case POINTWISE_GCD:
		EACH(greatest_divisor(a[i], b[i]));
	case POINTWISE_NEG:
		EACH(WRAP(0, -, a[i]));
	case POINTWISE_ABS:
		EACH(a[i] < 0 ? WRAP(0, -, a[i]) : a[i]);
	case POINTWISE_RELU:
		EACH(a[i] > 0 ? a[i] : 0);
	case POINTWISE_POW:
		for (size_t i = 0; i < n; i++) {
			if (b[i] < 0 && a[i] == 0)
				return false;
			r[i] = b[i] >= 0 ? integer_power(a[i], b[i]) : integer_inverse_power(a[i], b[i]);
		}
		break;
	case POINTWISE_MAXIMUM:
		EACH(a[i] > b[i] ? a[i] : b[i]);
	case POINTWISE_MINIMUM:
		EACH(a[i] < b[i] ? a[i] : b[i]);
	case POINTWISE_BITWISE_AND:
		EACH(a[i] & b[i]);
	case POINTWISE_BITWISE_OR:
		EACH(a[i] | b[i]);
	case POINTWISE_BITWISE_XOR:
		EACH(a[i] ^ b[i]);
	case POINTWISE_BITWISE_NOT:
		EACH(~a[i]);
	case POINTWISE_SHIFT_LEFT:
		EACH((uint64_t)b[i] < 64 ? (int64_t)((uint64_t)a[i] << b[i]) : 0);
	case POINTWISE_SHIFT_RIGHT:
		EACH(a[i] >> ((uint64_t)b[i] < 64 ? b[i] : 63));
	default:
		assert(false);
	}
	return true;
}

#define COMPARE_ANY(...)
#define COMPARE_REAL(...)
#define COMPARE_COMPARE(label, operands, real) label LOOP_##operands(real)
#define COMPARE_LOGICAL(...)
#define COMPARE_INTEGER(...)
#define COMPARE_WIDE(...)
#define T double
RT_CLONES static void compare_f64(enum pointwise op, int64_t *r, const T *x, const T *y, size_t n)
{
	switch (op) {
#define POINTWISE(id, hir, operands, class, linear, real, ...)                                               \
	COMPARE_##class(case POINTWISE_##id:, operands, real)
#include "base/pointwise.def"
#undef POINTWISE
	default:
		assert(false);
	}
}
#undef T

#define T float
RT_CLONES static void compare_f32(enum pointwise op, int64_t *r, const T *x, const T *y, size_t n)
{
	switch (op) {
#define POINTWISE(id, hir, operands, class, linear, real, ...)                                               \
	COMPARE_##class(case POINTWISE_##id:, operands, real)
#include "base/pointwise.def"
#undef POINTWISE
	default:
		assert(false);
	}
}
#undef T

#define T int64_t
RT_CLONES static void compare_i64(enum pointwise op, int64_t *r, const T *x, const T *y, size_t n)
{
	switch (op) {
#define POINTWISE(id, hir, operands, class, linear, real, ...)                                               \
	COMPARE_##class(case POINTWISE_##id:, operands, real)
#include "base/pointwise.def"
#undef POINTWISE
	default:
		assert(false);
	}
}
#undef T

static void compare_rows(enum pointwise op, enum dtype wide, int64_t *r, const void *x, const void *y,
                         size_t n)
{
	if (wide == DTYPE_F64)
		compare_f64(op, r, x, y, n);
	else if (wide == DTYPE_F32)
		compare_f32(op, r, x, y, n);
	else
		compare_i64(op, r, x, y, n);
}

#define TRUTH(type)                                                                                          \
	do {                                                                                                 \
		const type *a = row;                                                                         \
		for (size_t i = 0; i < n; i++)                                                               \
			r[i] = a[i] != 0;                                                                    \
	} while (0)

/* Computes x != 0, as 0 or 1. */
RT_CLONES static void truth(enum dtype wide, int64_t *r, const void *row, size_t n)
{
	if (wide == DTYPE_F64)
		TRUTH(double);
	else if (wide == DTYPE_F32)
		TRUTH(float);
	else
		TRUTH(int64_t);
}

#define CHOOSE(type)                                                                                         \
	do {                                                                                                 \
		const type *a = yes, *b = no;                                                                \
		type *r = to;                                                                                \
		_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) r[i] = x[i] ? a[i] : b[i];               \
	} while (0)

/* Selects by x. */
RT_CLONES static void choose(enum dtype wide, void *to, const int64_t *x, const void *yes, const void *no,
                             size_t n)
{
	if (wide == DTYPE_F64)
		CHOOSE(double);
	else if (wide == DTYPE_F32)
		CHOOSE(float);
	else
		CHOOSE(int64_t);
}

static void load_row(enum dtype wide, enum dtype t, const void *at, int64_t stride, union row *out, size_t n)
{
	if (wide == DTYPE_F64)
		rt_row_load_f64(t, at, stride, out->f64, n);
	else if (wide == DTYPE_F32)
		rt_row_load_f32(t, at, stride, out->f32, n);
	else
		rt_row_load_i64(t, at, stride, out->i64, n);
}

static bool compute_row(const struct pointwise_rows *p, void *r, const void *const *in, size_t n)
{
	enum pointwise op = p->task->op;
	int64_t x[RT_ROW], y[RT_ROW], *bits = r;
	switch (pointwise_class(op)) {
	case CLASS_COMPARE:
		compare_rows(op, p->wide[0], r, in[0], in[1], n);
		return true;
	case CLASS_LOGICAL:
		truth(p->wide[0], x, in[0], n);
		if (op == POINTWISE_NOT) {
			for (size_t i = 0; i < n; i++)
				bits[i] = !x[i];
			return true;
		}
		truth(p->wide[1], y, in[1], n);
		for (size_t i = 0; i < n; i++)
			bits[i] = op == POINTWISE_AND ? x[i] & y[i] : x[i] | y[i];
		return true;
	default:
		break;
	}
	if (op == POINTWISE_WHERE) {
		truth(p->wide[0], x, in[0], n);
		choose(p->result, r, x, in[1], in[2], n);
		return true;
	}
	if (p->result == DTYPE_F64)
		real_f64(op, r, in[0], in[1], n);
	else if (p->result == DTYPE_F32 &&
	         ((op != POINTWISE_SIN && op != POINTWISE_COS) || !far_angles(op, r, in[0], n)))
		real_f32(op, r, in[0], in[1], n);
	else if (p->result == DTYPE_F32)
		return true;
	else
		return integer(op, r, in[0], in[1], n);
	return true;
}

/* Returns true if the arithmetic can use a row in place. */
static bool in_place(enum dtype t, enum dtype wide, int64_t stride)
{
	return t == wide && stride == (int64_t)dtype_bytes(t);
}

static enum status pointwise_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	struct pointwise_rows *p = arg;
	const struct rt_task *t = p->task;
	const void *in[3] = {0};
	for (int k = 0; k < p->operands; k++) {
		enum dtype type = t->in[k].dtype;
		in[k] = &p->in[k];
		if (t->scalars >> k & 1)
			continue;
		if (in_place(type, p->wide[k], stride[k + 1])) {
			in[k] = at[k + 1];
			continue;
		}
		load_row(p->wide[k], type, at[k + 1], stride[k + 1] / (int64_t)dtype_bytes(type), &p->in[k],
		         n);
	}
	bool direct = in_place(t->out.dtype, p->result, stride[0]);
	if (!compute_row(p, direct ? at[0] : (void *)&p->out, in, n)) {
		rt_fault_text(t->op == POINTWISE_POW ? RT_FAULT_POWER : RT_FAULT_DIVISION, 0, 0, p->why);
		return STATUS_DIAGNOSTICS;
	}
	int64_t out_stride = stride[0] / (int64_t)dtype_bytes(t->out.dtype);
	if (direct)
		return STATUS_OK;
	if (p->result == DTYPE_F64)
		rt_row_store_f64(t->out.dtype, at[0], out_stride, p->out.f64, n);
	else if (p->result == DTYPE_F32)
		rt_row_store_f32(t->out.dtype, at[0], out_stride, p->out.f32, n);
	else
		rt_row_store_i64(t->out.dtype, at[0], out_stride, p->out.i64, n);
	return STATUS_OK;
}

/* Returns the wide type that the operands from `first` on decide. Scalars take it; if all are scalars,
 * the result decides. */
static enum dtype common_wide(const struct rt_task *t, int first, int operands)
{
	bool any = false;
	enum dtype wide = DTYPE_I64;
	for (int k = first; k < operands; k++) {
		if (t->scalars >> k & 1)
			continue;
		wide = dtype_common(wide, t->in[k].dtype);
		any = true;
	}
	return any ? wide : dtype_wide(t->out.dtype);
}

static void fill_scalar(struct pointwise_rows *p, int k)
{
	struct rt_scalar s = p->task->scalar[k];
	for (int i = 0; i < RT_ROW; i++) {
		if (p->wide[k] == DTYPE_F64)
			p->in[k].f64[i] = s.f;
		else if (p->wide[k] == DTYPE_F32)
			p->in[k].f32[i] = (float)s.f;
		else
			p->in[k].i64[i] = s.i;
	}
}

enum status cpu_pointwise(const struct rt_task *t, char *why)
{
	struct pointwise_rows p;
	struct cpu_walk w;
	const struct rt_view *views[CPU_WALK_VIEWS] = {&t->out};
	p.task = t;
	p.why = why;
	p.operands = pointwise_operands(t->op);
	int first = t->op == POINTWISE_WHERE; /* the condition does not decide */
	enum dtype wide = common_wide(t, first, p.operands);
	if (pointwise_class(t->op) == CLASS_REAL && wide == DTYPE_I64)
		wide = DTYPE_F64;
	for (int k = 0; k < p.operands; k++) {
		bool scalar = t->scalars >> k & 1;
		p.wide[k] = wide;
		if (k < first) /* a condition is read as bool */
			p.wide[k] = scalar ? DTYPE_F64 : dtype_wide(t->in[k].dtype);
		else if (pointwise_class(t->op) == CLASS_LOGICAL && !scalar)
			p.wide[k] = dtype_wide(t->in[k].dtype);
		if (scalar)
			fill_scalar(&p, k);
		views[k + 1] = scalar ? NULL : &t->in[k];
	}
	p.result = pointwise_class(t->op) == CLASS_COMPARE || pointwise_class(t->op) == CLASS_LOGICAL
	               ? DTYPE_I64
	               : wide;
	cpu_walk_start(&w, p.operands + 1, views);
	return cpu_walk_rows(&w, RT_ROW, pointwise_row, &p);
}
