/* ref_pointwise: elementwise operations, full and broadcast.
 *
 * Operands broadcast from the right: a missing dimension, or one of extent 1, repeats. Arithmetic is in f64
 * for floats and in int64 (wrapping) for integers and bool; functions such as exp compute in f64 for
 * integers, too. */
#include "ref/ref_internal.h"
#include <math.h>

/* Returns a + b in f64; *exact: no bits were lost. */
static double add_doubles(double a, double b, bool *exact)
{
	double s = a + b, part = s - a;
	double lost = (a - (s - part)) + (b - part);
	if (isfinite(s) && lost != 0)
		*exact = false;
	return s;
}

static double multiply_doubles(double a, double b, bool *exact)
{
	double p = a * b;
	if (isfinite(p) && fma(a, b, -p) != 0)
		*exact = false;
	return p;
}

static double float_mod(double a, double b, bool *exact)
{
	double r = fmod(a, b);
	return r != 0 && (r < 0) != (b < 0) ? add_doubles(r, b, exact) : r;
}

/* Returns the inverse of erf, for x in 0 … 0.5. erf is concave there, so Newton's method approaches from below. */
static double inverse_near(long double x)
{
	const long double slope = 0.886226925452758013649083741670572591L; /* sqrt(pi) / 2 */
	long double y = x * slope, step = y;
	for (int i = 0; i < 60 && step > y * 0x1p-60L; i++) {
		step = (x - erfl(y)) * slope * expl(y * y);
		y += step;
	}
	return (double)y;
}

/* Returns the inverse of erfc, for q in 0 … 0.5. log(erfc) is concave, so Newton's method approaches from above. */
static double inverse_tail(long double q)
{
	const long double slope = 0.886226925452758013649083741670572591L;
	long double y = sqrtl(-logl(q)), step = y;
	for (int i = 0; i < 60 && step > y * 0x1p-60L && isfinite(y); i++) {
		long double value = erfcl(y);
		step = logl(q / value) * value * slope * expl(y * y);
		y -= step;
	}
	return (double)y;
}

static double inverse_of_erf(double x)
{
	double y = fabs(x);
	return isnan(x) || y > 1 ? NAN : copysign(y <= 0.5 ? inverse_near(y) : inverse_tail(1 - y), x);
}

static double inverse_of_erfc(double x)
{
	if (isnan(x) || x < 0 || x > 2)
		return NAN;
	return x < 0.5 ? inverse_tail(x) : x > 1.5 ? -inverse_tail(2 - x) : inverse_of_erf(1 - x);
}

/* Computes exp and similar functions, which are never exact. */
static double transcendental(enum op_kind kind, double a, double b)
{
	switch (kind) {
	case OP_EXP:
		return exp(a);
	case OP_LOG:
		return log(a);
	case OP_RSQRT:
		return 1 / sqrt(a);
	case OP_SIN:
		return sin(a);
	case OP_COS:
		return cos(a);
	case OP_TANH:
		return tanh(a);
	case OP_ERF:
		return erf(a);
	case OP_EXP2:
		return exp2(a);
	case OP_EXPM1:
		return expm1(a);
	case OP_LOG2:
		return log2(a);
	case OP_LOG10:
		return log10(a);
	case OP_LOG1P:
		return log1p(a);
	case OP_TAN:
		return tan(a);
	case OP_ASIN:
		return asin(a);
	case OP_ACOS:
		return acos(a);
	case OP_ATAN:
		return atan(a);
	case OP_SINH:
		return sinh(a);
	case OP_COSH:
		return cosh(a);
	case OP_ASINH:
		return asinh(a);
	case OP_ACOSH:
		return acosh(a);
	case OP_ATANH:
		return atanh(a);
	case OP_ERFC:
		return erfc(a);
	case OP_ERFINV:
		return inverse_of_erf(a);
	case OP_ERFCINV:
		return inverse_of_erfc(a);
	case OP_LGAMMA:
		return (double)lgammal(a);
	case OP_ATAN2:
		return atan2(a, b);
	case OP_GELU:
		return isinf(a) && a < 0 ? -0.0 : a * 0.5 * erfc(-a * M_SQRT1_2);
	case OP_GELU_TANH:
		return isinf(a) && a < 0 ? -0.0
		                         : 0.5 * a * (1 + tanh(sqrt(M_2_PI) * (a + 0.044715 * pow(a, 3))));
	case OP_SILU:
		return isinf(a) && a < 0 ? -0.0 : a / (1 + exp(-a));
	default:
		return 1 / (1 + exp(-a)); /* sigmoid */
	}
}

double ref_pointwise_value(enum op_kind kind, enum dtype t, const double *x, bool *exact)
{
	double a = x[0], b = x[1];
	switch (kind) {
	case OP_ADD:
		return add_doubles(a, b, exact);
	case OP_SUB:
		return add_doubles(a, -b, exact);
	case OP_MUL:
		return multiply_doubles(a, b, exact);
	case OP_DIV: {
		double q = a / b;
		if (isfinite(q) && b != 0 && fma(q, b, -a) != 0)
			*exact = false;
		return q;
	}
	case OP_MOD:
		return float_mod(a, b, exact);
	case OP_FMOD:
		return fmod(a, b);
	case OP_POW:
		if (b == 2)
			return multiply_doubles(a, a, exact);
		if (b != 1 && b != 0)
			*exact = false;
		return pow(a, b);
	case OP_MAXIMUM:
		return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
	case OP_MINIMUM:
		return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_GT:
		return a > b;
	case OP_GE:
		return a >= b;
	case OP_ISNAN:
		return isnan(a);
	case OP_ISINF:
		return isinf(a) != 0;
	case OP_ISPOSINF:
		return a == INFINITY;
	case OP_ISNEGINF:
		return a == -INFINITY;
	case OP_ISFINITE:
		return isfinite(a);
	case OP_SIGNBIT:
		return !isnan(a) && signbit(a);
	case OP_AND:
		return a != 0 && b != 0;
	case OP_OR:
		return a != 0 || b != 0;
	case OP_NOT:
		return a == 0;
	case OP_NEXTAFTER:
		return t == DTYPE_F32 ? nextafterf((float)a, (float)b) : nextafter(a, b);
	case OP_CEIL:
		return ceil(a);
	case OP_FLOOR:
		return floor(a);
	case OP_ROUND:
		return nearbyint(a);
	case OP_TRUNC:
		return trunc(a);
	case OP_NEG:
		return -a;
	case OP_ABS:
		return fabs(a);
	case OP_RELU:
		return isnan(a) ? a : a > 0 ? a : 0;
	case OP_SQRT: {
		double r = sqrt(a);
		if (isfinite(r) && fma(r, r, -a) != 0)
			*exact = false;
		return r;
	}
	case OP_CAST:
	case OP_FULL:
	case OP_BROADCAST:
		return a;
	default:
		*exact = false;
		return transcendental(kind, a, b);
	}
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_multiply(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Returns false for 0 to a negative power. Other negative powers truncate to 0, 1 or -1. */
static bool int_power(int64_t a, int64_t b, int64_t *out)
{
	if (b < 0) {
		if (a == 0)
			return false;
		*out = a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
		return true;
	}
	int64_t r = 1;
	for (; b; b >>= 1, a = wrap_multiply(a, a))
		if (b & 1)
			r = wrap_multiply(r, a);
	*out = r;
	return true;
}

/* Returns the greatest common divisor, by subtracting halves. */
static int64_t common_divisor(int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)(a < 0 ? wrap_multiply(a, -1) : a),
	         y = (uint64_t)(b < 0 ? wrap_multiply(b, -1) : b);
	unsigned twos = 0;
	if (!x || !y)
		return (int64_t)(x | y);
	for (; !((x | y) & 1); x >>= 1, y >>= 1)
		twos++;
	while (x != y) {
		uint64_t *even = !(x & 1) ? &x : !(y & 1) ? &y : NULL;
		if (even)
			*even >>= 1;
		else if (x > y)
			x -= y;
		else
			y -= x;
	}
	return (int64_t)(x << twos);
}

/* Returns false for a division by zero. */
static bool int_op(enum op_kind kind, const int64_t *x, int64_t *out)
{
	int64_t a = x[0], b = x[1];
	switch (kind) {
	case OP_ADD:
		*out = wrap_add(a, b);
		return true;
	case OP_SUB:
		*out = wrap_add(a, wrap_multiply(b, -1));
		return true;
	case OP_MUL:
		*out = wrap_multiply(a, b);
		return true;
	case OP_DIV:
		if (b == 0)
			return false;
		*out = b == -1 ? wrap_multiply(a, -1) : a / b;
		return true;
	case OP_MOD:
		if (b == 0)
			return false;
		*out = b == -1 ? 0 : a % b;
		if (*out != 0 && (*out < 0) != (b < 0))
			*out += b;
		return true;
	case OP_FMOD:
		if (b == 0)
			return false;
		*out = b == -1 ? 0 : a - b * (a / b);
		return true;
	case OP_GCD:
		*out = common_divisor(a, b);
		return true;
	case OP_POW:
		return int_power(a, b, out);
	case OP_MAXIMUM:
		*out = a > b ? a : b;
		return true;
	case OP_MINIMUM:
		*out = a < b ? a : b;
		return true;
	case OP_EQ:
		*out = a == b;
		return true;
	case OP_NE:
		*out = a != b;
		return true;
	case OP_LT:
		*out = a < b;
		return true;
	case OP_LE:
		*out = a <= b;
		return true;
	case OP_GT:
		*out = a > b;
		return true;
	case OP_GE:
		*out = a >= b;
		return true;
	case OP_ISNAN:
	case OP_ISINF:
	case OP_ISPOSINF:
	case OP_ISNEGINF:
		*out = 0;
		return true;
	case OP_ISFINITE:
		*out = 1;
		return true;
	case OP_SIGNBIT:
		*out = a < 0;
		return true;
	case OP_AND:
		*out = a && b;
		return true;
	case OP_OR:
		*out = a || b;
		return true;
	case OP_NOT:
		*out = !a;
		return true;
	case OP_BITWISE_AND:
		*out = a & b;
		return true;
	case OP_BITWISE_OR:
		*out = a | b;
		return true;
	case OP_BITWISE_XOR:
		*out = a ^ b;
		return true;
	case OP_BITWISE_NOT:
		*out = -1 - a;
		return true;
	case OP_SHIFT_LEFT:
		*out = a;
		for (int64_t k = 0; k < (b < 0 || b > 64 ? 64 : b); k++)
			*out = wrap_multiply(*out, 2);
		return true;
	case OP_SHIFT_RIGHT:
		*out = a;
		for (int64_t k = 0; k < (b < 0 || b > 64 ? 64 : b); k++)
			*out = (*out - (*out & 1)) / 2;
		return true;
	case OP_NEG:
		*out = wrap_multiply(a, -1);
		return true;
	case OP_ABS:
		*out = a < 0 ? wrap_multiply(a, -1) : a;
		return true;
	case OP_RELU:
		*out = a > 0 ? a : 0;
		return true;
	default: /* cast, full, broadcast */
		*out = a;
		return true;
	}
}

/* Finds the strides of an operand along the dimensions of the result; 0 where it repeats. */
static void broadcast_strides(const struct ref_array *in, const struct ref_array *out, int64_t *stride)
{
	int64_t own[IR_MAX_LOGICAL];
	ref_array_strides(in, own);
	for (int k = 0; k < out->nd; k++) {
		int j = k - (out->nd - in->nd);
		stride[k] = j < 0 || in->n[j] == 1 ? 0 : own[j];
	}
}

static bool is_broadcastable(const struct ref_array *in, const struct ref_array *out)
{
	if (in->nd > out->nd)
		return false;
	for (int j = 0; j < in->nd; j++) {
		int64_t want = out->n[j + out->nd - in->nd];
		if (in->n[j] != want && in->n[j] != 1)
			return false;
	}
	return true;
}

/* Handles a where whose condition is not certain: the result is one operand or the other. */
static void choose_either(const struct ref_array *const *in, const int64_t *at, struct ref_array *out,
                          int64_t i)
{
	double apart = fabs(in[1]->data[at[1]] - in[2]->data[at[2]]);
	double e = apart + in[1]->error[at[1]] + in[2]->error[at[2]];
	out->error[i] = isnan(e) ? INFINITY : e;
}

/* same: the value equals that of exact arithmetic. skips: the run may leave out the rounding of the result. */
static void set_error(enum op_kind kind, const struct ref_array *in, const double *f, const double *e,
                      double value, bool same, bool skips, struct ref_array *out, int64_t i)
{
	double computed = isfinite(value) ? ref_function_error(kind, in->dtype, f, value) : 0,
	       passed = ref_pointwise_error(kind, f, e);
	if (!same && passed > 0)
		computed += ref_unit(in->dtype) * fabs(value);
	if (skips && isfinite(value) && isfinite(out->data[i]))
		computed += fabs(out->data[i] - value);
	ref_set_error(out, i, value, passed, computed);
}

/* Adds the error of an operation that each rank applies to its part of a pending sum, and rounds. */
static void round_parts(enum op_kind kind, const struct ref_array *const *in, const int64_t *at,
                        struct ref_array *out, int64_t i)
{
	double x = ref_parts(in[0], at[0]), y = 0, magnitude = x;
	if (kind == OP_ADD || kind == OP_SUB || kind == OP_MUL)
		y = ref_parts(in[1], at[1]);
	else if (kind == OP_DIV)
		y = fabs(in[1]->data[at[1]]);
	else if (kind != OP_NEG && kind != OP_CAST && kind != OP_BROADCAST)
		return;
	magnitude = kind == OP_MUL ? x * y : kind == OP_DIV ? x / y : x + y;
	ref_set_parts(out, i, magnitude);
	if (out->ints || kind == OP_NEG || kind == OP_BROADCAST || !isfinite(out->data[i]))
		return;
	out->error[i] += ref_parts_error(out->dtype, 0, magnitude);
}

bool ref_pointwise(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                   struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	enum op_kind kind = (enum op_kind)op->kind;
	bool in_f64 = op_traits(c->m, call->op) & TRAIT_REAL, skips = ref_fused_may_skip(c, call->op);
	int64_t stride[3][IR_MAX_LOGICAL], index[IR_MAX_LOGICAL] = {0}, i = 0;
	for (unsigned k = 0; k < call->n; k++) {
		if (!is_broadcastable(in[k], out)) {
			return ref_refuse_shapes(c, op);
		}
		broadcast_strides(in[k], out, stride[k]);
	}
	if (ref_array_count(out) == 0)
		return true;
	do {
		double f[3] = {0}, e[3] = {0};
		int64_t x[3] = {0}, at[3] = {0};
		uint8_t state = REF_DEFINED;
		bool ints = !in_f64;
		for (unsigned k = 0; k < call->n; k++) {
			for (int j = 0; j < out->nd; j++)
				at[k] += index[j] * stride[k][j];
			if (kind == OP_WHERE && k > 0 && state == REF_DEFINED &&
			    (in[0]->data[at[0]] != 0) != (k == 1))
				continue; /* the other operand is chosen */
			if (in[k]->state[at[k]] < state)
				state = in[k]->state[at[k]];
			f[k] = in[k]->data[at[k]];
			e[k] = in[k]->error[at[k]];
			x[k] = in[k]->ints ? in[k]->ints[at[k]] : 0;
			ints = ints && in[k]->ints;
		}
		if (state == REF_DEFINED) {
			if (kind == OP_WHERE) {
				unsigned k = f[0] != 0 ? 1 : 2;
				ref_copy(out, i, in[k], at[k]);
				if (e[0] > 0) /* the other operand may be chosen */
					choose_either(in, at, out, i);
			} else if (ints) {
				int64_t value;
				if (!int_op(kind, x, &value)) {
					diag_error(c->d, E_INTEGER_BY_ZERO, op->at,
					           "%s of an integer by zero at element %lld",
					           op_info[kind].hir, (long long)i);
					return false;
				}
				ref_store_int(out, i, value);
				set_error(kind, in[0], f, e, (double)value, true, false, out, i);
			} else {
				bool same = true;
				double value = ref_pointwise_value(kind, out->dtype, f, &same);
				ref_store(out, i, value);
				set_error(kind, in[0], f, e, value, same, skips, out, i);
				if (call->pending)
					round_parts(kind, in, at, out, i);
			}
		}
		out->state[i++] = state;
	} while (ref_next(out->nd, out->n, index));
	if (call->n == 1 && ref_array_count(in[0]) == ref_array_count(out))
		ref_number_alike(c, in[0], 0, ref_array_count(out), 1, out);
	return true;
}
