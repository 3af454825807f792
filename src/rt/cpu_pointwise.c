/* cpu_pointwise: out = op(operands), row by row in the wide type that the operands decide.
 *
 * What is dense and of the wide type is computed where it lies; else a row is loaded, and stored, through the
 * arrays of struct pointwise. */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/elementary_f64.h"
#include "rt/fault.h"
#include "rt/rows.h"
#include <assert.h>
#include <string.h>
#include <tgmath.h>

#define OP_NAME(id, name, operands, class) [id] = #name,
#define OP_OPERANDS(id, name, operands, class) [id] = (operands),
#define OP_CLASS(id, name, operands, class) [id] = #class[0],

const char *rt_pointwise_name(enum rt_pointwise op)
{
	static const char *const name[] = {RT_POINTWISE_OPS(OP_NAME)};
	return op < RT_POINTWISE_COUNT ? name[op] : "?";
}

int rt_pointwise_operands(enum rt_pointwise op)
{
	static const int8_t operands[] = {RT_POINTWISE_OPS(OP_OPERANDS)};
	return operands[op];
}

static char op_class(enum rt_pointwise op)
{
	static const char class[] = {RT_POINTWISE_OPS(OP_CLASS)};
	return class[op];
}

/* A row of some wide type. */
union row {
	double f64[RT_ROW];
	float f32[RT_ROW];
	int64_t i64[RT_ROW];
};

struct pointwise {
	const struct rt_task *task;
	int operands;
	enum dtype wide[3]; /* in which operand i is loaded */
	enum dtype result;  /* wide type of the result row */
	union row in[3];    /* scalar operands are filled in once */
	union row out;
	char *why;
};

/* The result may be an operand's memory, element by element. */
#define EACH(expr)                                                                                           \
	_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) r[i] = (expr);                                   \
	break

#define DEFINE_REAL(type, name, exp_of, tanh_of, gelu_of, gelu_tanh_of, silu_of, sigmoid_of, log_of, sin_of, \
                    cos_of, pow_of)                                                                          \
	RT_CLONES static void real_##name(enum rt_pointwise op, type *r, const type *a, const type *b,       \
	                                  size_t n)                                                          \
	{                                                                                                    \
		switch (op) {                                                                                \
		case RT_ADD:                                                                                 \
			EACH(a[i] + b[i]);                                                                   \
		case RT_SUB:                                                                                 \
			EACH(a[i] - b[i]);                                                                   \
		case RT_MUL:                                                                                 \
			EACH(a[i] * b[i]);                                                                   \
		case RT_DIV:                                                                                 \
			EACH(a[i] / b[i]);                                                                   \
		case RT_MOD:                                                                                 \
			for (size_t i = 0; i < n; i++) {                                                     \
				type m = fmod(a[i], b[i]);                                                   \
				r[i] = m != 0 && (m < 0) != (b[i] < 0) ? m + b[i] : m;                       \
			}                                                                                    \
			break;                                                                               \
		case RT_NEG:                                                                                 \
			EACH(-a[i]);                                                                         \
		case RT_ABS:                                                                                 \
			EACH(fabs(a[i]));                                                                    \
		case RT_EXP:                                                                                 \
			EACH(exp_of(a[i]));                                                                  \
		case RT_LOG:                                                                                 \
			EACH(log_of(a[i]));                                                                  \
		case RT_SQRT:                                                                                \
			EACH(sqrt(a[i]));                                                                    \
		case RT_RSQRT:                                                                               \
			EACH(1 / sqrt(a[i]));                                                                \
		case RT_SIN:                                                                                 \
			EACH(sin_of(a[i]));                                                                  \
		case RT_COS:                                                                                 \
			EACH(cos_of(a[i]));                                                                  \
		case RT_TANH:                                                                                \
			EACH(tanh_of(a[i]));                                                                 \
		case RT_RELU:                                                                                \
			EACH(a[i] > 0 || a[i] != a[i] ? a[i] : 0);                                           \
		case RT_GELU:                                                                                \
			EACH(gelu_of(a[i]));                                                                 \
		case RT_GELU_TANH:                                                                           \
			EACH(gelu_tanh_of(a[i]));                                                            \
		case RT_SILU:                                                                                \
			EACH(silu_of(a[i]));                                                                 \
		case RT_SIGMOID:                                                                             \
			EACH(sigmoid_of(a[i]));                                                              \
		case RT_POW:                                                                                 \
			EACH(pow_of(a[i], b[i]));                                                            \
		case RT_MAXIMUM:                                                                             \
			EACH(a[i] > b[i] || a[i] != a[i] ? a[i] : b[i]);                                     \
		case RT_MINIMUM:                                                                             \
			EACH(a[i] < b[i] || a[i] != a[i] ? a[i] : b[i]);                                     \
		default:                                                                                     \
			assert(false);                                                                       \
		}                                                                                            \
	}

DEFINE_REAL(double, f64, elementary_exp_f64, elementary_tanh_f64, elementary_gelu_f64,
            elementary_gelu_tanh_f64, elementary_silu_f64, elementary_sigmoid_f64, log, sin, cos, pow)
DEFINE_REAL(float, f32, elementary_expf, elementary_tanhf, elementary_geluf, elementary_gelu_tanhf,
            elementary_siluf, elementary_sigmoidf, elementary_logf, elementary_sinf, elementary_cosf,
            elementary_powf)

/* The rows of sin and cos that hold a large angle; an element is the same in any row. */
static bool far_angles(enum rt_pointwise op, float *r, const float *a, size_t n)
{
	bool far = false;
	for (size_t i = 0; i < n; i++)
		far |= fabsf(a[i]) > ELEMENTARY_MOST_ANGLE;
	for (size_t i = 0; i < n && far; i++) {
		if (fabsf(a[i]) > ELEMENTARY_MOST_ANGLE)
			r[i] = (float)(op == RT_SIN ? sin((double)a[i]) : cos((double)a[i]));
		else
			r[i] = op == RT_SIN ? elementary_sinf(a[i]) : elementary_cosf(a[i]);
	}
	return far;
}

/* base to the power e >= 0, modulo 2^64. */
static int64_t integer_power(int64_t base, int64_t e)
{
	uint64_t r = 1, b = (uint64_t)base;
	for (; e > 0; e >>= 1, b *= b)
		if (e & 1)
			r *= b;
	return (int64_t)r;
}

/* Powers below 1 are truncated: only 1 and -1 have integer inverses. */
static int64_t integer_inverse_power(int64_t base, int64_t e)
{
	return base == 1 ? 1 : base == -1 ? (e & 1 ? -1 : 1) : 0;
}

static bool has_zero(const int64_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i] == 0)
			return true;
	return false;
}

#define WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))

/* False: division by zero. */
RT_CLONES static bool integer(enum rt_pointwise op, int64_t *r, const int64_t *a, const int64_t *b, size_t n)
{
	if ((op == RT_DIV || op == RT_MOD) && has_zero(b, n))
		return false;
	switch (op) {
	case RT_ADD:
		EACH(WRAP(a[i], +, b[i]));
	case RT_SUB:
		EACH(WRAP(a[i], -, b[i]));
	case RT_MUL:
		EACH(WRAP(a[i], *, b[i]));
	case RT_DIV:
		EACH(b[i] == -1 ? WRAP(0, -, a[i]) : a[i] / b[i]);
	case RT_MOD:
		for (size_t i = 0; i < n; i++) {
			int64_t m = b[i] == -1 ? 0 : a[i] % b[i];
			r[i] = m != 0 && (m < 0) != (b[i] < 0) ? m + b[i] : m;
		}
		break;
	case RT_NEG:
		EACH(WRAP(0, -, a[i]));
	case RT_ABS:
		EACH(a[i] < 0 ? WRAP(0, -, a[i]) : a[i]);
	case RT_RELU:
		EACH(a[i] > 0 ? a[i] : 0);
	case RT_POW:
		for (size_t i = 0; i < n; i++) {
			if (b[i] < 0 && a[i] == 0)
				return false;
			r[i] = b[i] >= 0 ? integer_power(a[i], b[i]) : integer_inverse_power(a[i], b[i]);
		}
		break;
	case RT_MAXIMUM:
		EACH(a[i] > b[i] ? a[i] : b[i]);
	case RT_MINIMUM:
		EACH(a[i] < b[i] ? a[i] : b[i]);
	case RT_BITWISE_AND:
		EACH(a[i] & b[i]);
	case RT_BITWISE_OR:
		EACH(a[i] | b[i]);
	case RT_BITWISE_XOR:
		EACH(a[i] ^ b[i]);
	case RT_BITWISE_NOT:
		EACH(~a[i]);
	case RT_SHIFT_LEFT:
		EACH((uint64_t)b[i] < 64 ? (int64_t)((uint64_t)a[i] << b[i]) : 0);
	case RT_SHIFT_RIGHT:
		EACH(a[i] >> ((uint64_t)b[i] < 64 ? b[i] : 63));
	default:
		assert(false);
	}
	return true;
}

#define COMPARE(type)                                                                                        \
	do {                                                                                                 \
		const type *a = left, *b = right;                                                            \
		switch (op) {                                                                                \
		case RT_EQ:                                                                                  \
			EACH(a[i] == b[i]);                                                                  \
		case RT_NE:                                                                                  \
			EACH(a[i] != b[i]);                                                                  \
		case RT_LT:                                                                                  \
			EACH(a[i] < b[i]);                                                                   \
		case RT_LE:                                                                                  \
			EACH(a[i] <= b[i]);                                                                  \
		case RT_GT:                                                                                  \
			EACH(a[i] > b[i]);                                                                   \
		default:                                                                                     \
			EACH(a[i] >= b[i]);                                                                  \
		}                                                                                            \
	} while (0)

RT_CLONES static void compare(enum rt_pointwise op, enum dtype wide, int64_t *r, const void *left,
                              const void *right, size_t n)
{
	if (wide == DTYPE_F64)
		COMPARE(double);
	else if (wide == DTYPE_F32)
		COMPARE(float);
	else
		COMPARE(int64_t);
}

#define TRUTH(type)                                                                                          \
	do {                                                                                                 \
		const type *a = row;                                                                         \
		for (size_t i = 0; i < n; i++)                                                               \
			r[i] = a[i] != 0;                                                                    \
	} while (0)

/* x != 0, as 0 or 1. */
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

/* By the truth of x. */
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

static void load(enum dtype wide, enum dtype t, const void *at, int64_t stride, union row *out, size_t n)
{
	if (wide == DTYPE_F64)
		rt_row_load_f64(t, at, stride, out->f64, n);
	else if (wide == DTYPE_F32)
		rt_row_load_f32(t, at, stride, out->f32, n);
	else
		rt_row_load_i64(t, at, stride, out->i64, n);
}

static bool compute(const struct pointwise *p, void *r, const void *const *in, size_t n)
{
	enum rt_pointwise op = p->task->op;
	int64_t x[RT_ROW], y[RT_ROW], *bits = r;
	switch (op_class(op)) {
	case 'C':
		compare(op, p->wide[0], r, in[0], in[1], n);
		return true;
	case 'L':
		truth(p->wide[0], x, in[0], n);
		if (op == RT_NOT) {
			for (size_t i = 0; i < n; i++)
				bits[i] = !x[i];
			return true;
		}
		truth(p->wide[1], y, in[1], n);
		for (size_t i = 0; i < n; i++)
			bits[i] = op == RT_AND ? x[i] & y[i] : x[i] | y[i];
		return true;
	}
	if (op == RT_WHERE) {
		truth(p->wide[0], x, in[0], n);
		choose(p->result, r, x, in[1], in[2], n);
		return true;
	}
	if (p->result == DTYPE_F64)
		real_f64(op, r, in[0], in[1], n);
	else if (p->result == DTYPE_F32 && ((op != RT_SIN && op != RT_COS) || !far_angles(op, r, in[0], n)))
		real_f32(op, r, in[0], in[1], n);
	else if (p->result == DTYPE_F32)
		return true;
	else
		return integer(op, r, in[0], in[1], n);
	return true;
}

/* Whether a row lies there as the arithmetic takes it. */
static bool in_place(enum dtype t, enum dtype wide, int64_t stride)
{
	return t == wide && stride == (int64_t)dtype_bytes(t);
}

static enum status pointwise_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	struct pointwise *p = arg;
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
		load(p->wide[k], type, at[k + 1], stride[k + 1] / (int64_t)dtype_bytes(type), &p->in[k], n);
	}
	bool direct = in_place(t->out.dtype, p->result, stride[0]);
	if (!compute(p, direct ? at[0] : (void *)&p->out, in, n)) {
		rt_fault_text(t->op == RT_POW ? RT_FAULT_POWER : RT_FAULT_DIVISION, 0, 0, p->why);
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

/* The wide type that operands first.. decide. Scalars take it; with scalars only, the result decides. */
static enum dtype common_wide(const struct rt_task *t, int first, int operands)
{
	bool any = false;
	enum dtype wide = DTYPE_I64;
	for (int k = first; k < operands; k++) {
		if (t->scalars >> k & 1)
			continue;
		enum dtype w = dtype_wide(t->in[k].dtype);
		wide = w < wide ? w : wide; /* DTYPE_F64 < DTYPE_F32 < DTYPE_I64 */
		any = true;
	}
	return any ? wide : dtype_wide(t->out.dtype);
}

static void fill_scalar(struct pointwise *p, int k)
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
	struct pointwise p;
	struct cpu_walk w;
	const struct rt_view *views[CPU_WALK_VIEWS] = {&t->out};
	p.task = t;
	p.why = why;
	p.operands = rt_pointwise_operands(t->op);
	int first = t->op == RT_WHERE; /* the condition decides nothing */
	enum dtype wide = common_wide(t, first, p.operands);
	if (op_class(t->op) == 'F' && wide == DTYPE_I64)
		wide = DTYPE_F64;
	for (int k = 0; k < p.operands; k++) {
		bool scalar = t->scalars >> k & 1;
		p.wide[k] = wide;
		if (k < first) /* a condition, read as bool */
			p.wide[k] = scalar ? DTYPE_F64 : dtype_wide(t->in[k].dtype);
		else if (op_class(t->op) == 'L' && !scalar)
			p.wide[k] = dtype_wide(t->in[k].dtype);
		if (scalar)
			fill_scalar(&p, k);
		views[k + 1] = scalar ? NULL : &t->in[k];
	}
	p.result = op_class(t->op) == 'C' || op_class(t->op) == 'L' ? DTYPE_I64 : wide;
	cpu_walk_start(&w, p.operands + 1, views);
	return cpu_walk_rows(&w, RT_ROW, pointwise_row, &p);
}
