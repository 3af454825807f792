/* ref_error: how rounding errors pass through operations.
 *
 * Each element has a bound on its distance to the element of a run (running error analysis: N. Higham,
 * Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.3). An operation passes on the errors of
 * its operands, and adds the error of its own arithmetic, in f32 (f64 for f64), and the error of storing the
 * result:
 *
 *     y = fl(f(x)),  x ± e      error(y) = max |f(x ± e) - f(x)|  +  own  +  one ulp of y's dtype
 *
 * The ulp covers both roundings, the run's and the reference's. An error of 0 means that every run has this
 * value: the operands have no error, and the operation returns the number of the dtype nearest to the exact
 * result. This is true for sums that are exact in their accumulator. It is also true for + - * / and square
 * roots computed in f32: f32 has more than twice the bits of the narrower dtypes, so that rounding to it
 * first changes nothing (S. Figueroa, When is double rounding innocuous?, 1995).
 *
 * Products and weights below the smallest normal number of the accumulator are off by a quantum each.
 *
 * The error is infinite where rounding may decide if a value overflows, and where a sum of finite terms may
 * overflow before it is complete.
 *
 * The error of a sum of n terms is k unit roundoffs of the sum of magnitudes, with k = n for short sums and
 * k = 8 sqrt(n) for long ones (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis,
 * 2019). Blocked and vectorised sums stay below this even where their rounding errors are alike. */
#include "ref/ref_internal.h"
#include <math.h>

enum {
	FUNCTION_ULPS = 8, /* of exp and similar functions, in f32 or f64 */
	PART_ULPS = 2,     /* roundings of the parts of a sum: when made, and when reduced over one mesh axis
	                      after another */
};

#define TF32_ERROR 0x1p-10 /* relative error of truncating f32 to 11 significant bits */

double ref_unit(enum dtype t)
{
	return t == DTYPE_F64 ? 0x1p-53 : 0x1p-24;
}

double ref_sum_error(enum dtype t, int64_t n)
{
	double k = (double)n + 1, statistical = 16 + 8 * sqrt((double)n);
	return ref_unit(t) * (k < statistical ? k : statistical);
}

double ref_underflow_error(enum dtype t, int64_t n)
{
	return (double)n * ref_quantum(t == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32);
}

double ref_tf32_error(const struct ref_context *c, enum dtype t)
{
	return c->o->tf32 && t == DTYPE_F32 ? 2 * TF32_ERROR + TF32_ERROR * TF32_ERROR : 0;
}

double ref_parts_error(enum dtype t, int64_t steps, double magnitude)
{
	double relative = (PART_ULPS + (double)steps) * ldexp(1, -ref_precision(t));
	return (steps ? expm1(relative) : relative) * magnitude;
}

bool ref_may_overflow(enum dtype t, double magnitude, double value)
{
	return magnitude * 1.01 > ref_largest(t) && (fabs(value) < magnitude || !isfinite(magnitude));
}

double ref_factors_error(enum dtype t, int64_t steps, double magnitude, double value)
{
	double relative = expm1((double)steps * ldexp(1, -ref_precision(t)));
	bool leaves = (magnitude * (1 + relative) > ref_largest(t) && fabs(value) < magnitude) ||
	              (value != 0 && fabs(value) < magnitude * ref_smallest(t));
	return leaves ? INFINITY : relative * fabs(value);
}

int64_t ref_steps(const struct ref_context *c, enum reduce_op op, enum dtype t, int64_t ranks)
{
	bool adds = op == REDUCE_SUM || op == REDUCE_PROD || (op == REDUCE_AVG && t == DTYPE_BF16);
	if (!c->o->rounds_steps || ranks < 2 || (t != DTYPE_BF16 && t != DTYPE_F16) || !adds)
		return 0;
	return op == REDUCE_AVG ? ranks - 1 : ranks - 2;
}

/* Returns the error of a finite float after it is stored; e: its error before. */
static double stored_error(enum dtype t, double value, double stored, double e)
{
	double most = ref_largest(t) * (1 + ldexp(0.5, -ref_precision(t))); /* larger numbers overflow */
	if (e > 0 && (fabs(value) < most ? fabs(value) + e >= most : fabs(value) - e <= most))
		return INFINITY; /* one of the two overflows */
	if (e == 0 || !isfinite(stored))
		return 0;
	return e + ldexp(fabs(stored) + e, 1 - ref_precision(t)) + ref_quantum(t);
}

void ref_set_error(struct ref_array *a, int64_t i, double value, double passed, double computed)
{
	double e = passed + computed;
	if (isnan(e))
		e = INFINITY;
	if (!isfinite(value)) /* it is not finite in any run, unless that is due to errors */
		e = passed == 0 && computed != INFINITY ? 0 : INFINITY;
	else if (dtype_is_float(a->dtype))
		e = stored_error(a->dtype, value, a->data[i], e);
	else if (e > 0) /* truncation may give another integer; a bool is either */
		e = a->dtype == DTYPE_BOOL ? INFINITY : floor(e) + 1;
	if (a->error[i] != e)
		a->error[i] = e;
}

/* ---- pointwise */

static double largest(double a, double b)
{
	return a > b || isnan(a) ? a : b;
}

/* Returns the error of a function that is monotone in each operand, from its values at the corners of the
 * operands' ranges. */
static double corners(double (*f)(double, double), const double *x, const double *e)
{
	double at = f(x[0], x[1]), most = 0;
	for (unsigned k = 0; k < 4; k++) {
		double y = f(k & 1 ? x[0] + e[0] : x[0] - e[0], k & 2 ? x[1] + e[1] : x[1] - e[1]);
		most = largest(most, y == at ? 0 : fabs(y - at));
	}
	return isnan(most) ? INFINITY : most;
}

static double exp_of(double a, double b)
{
	return (void)b, exp(a);
}

static double log_of(double a, double b)
{
	return (void)b, log(a > 0 ? a : 0);
}

static double sqrt_of(double a, double b)
{
	return (void)b, sqrt(a > 0 ? a : 0);
}

static double rsqrt_of(double a, double b)
{
	return (void)b, 1 / sqrt(a > 0 ? a : 0);
}

static double erf_of(double a, double b)
{
	return (void)b, erf(a);
}

static double value_of(enum op_kind kind, double a)
{
	bool exact = true;
	return ref_pointwise_value(kind, DTYPE_F64, (double[3]){a}, &exact);
}

/* Returns the error of a function of one operand; infinite where the operand may be outside its domain. cosh is not
 * monotone, but convex: its values at both ends are farthest, too. */
static double libm_error(enum op_kind kind, double x, double e)
{
	double at = value_of(kind, x), below = fabs(value_of(kind, x - e) - at),
	       above = fabs(value_of(kind, x + e) - at);
	double most = largest(below, above);
	return isnan(most) ? INFINITY : most;
}

static double tanh_of(double a, double b)
{
	return (void)b, tanh(a);
}

static double sigmoid_of(double a, double b)
{
	return (void)b, 1 / (1 + exp(-a));
}

static double quotient(double a, double b)
{
	return a / b;
}

/* Returns true if the operands of a comparison may be equal or in the other order. */
static bool has_error_overlap(const double *x, const double *e)
{
	return e[0] + e[1] > 0 && fabs(x[0] - x[1]) <= e[0] + e[1];
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

double ref_pointwise_error(enum op_kind kind, const double *x, const double *e)
{
	if (e[0] == 0 && e[1] == 0)
		return 0;
	switch (kind) {
	case OP_ADD:
	case OP_SUB:
		return e[0] + e[1];
	case OP_MUL:
		return fabs(x[0]) * e[1] + fabs(x[1]) * e[0] + e[0] * e[1];
	case OP_DIV:
		return fabs(x[1]) <= e[1] ? INFINITY : corners(quotient, x, e);
	case OP_FMOD: /* the quotient may differ, and the sign */
		return x[1] != 0 && e[1] == 0 && trunc((x[0] - e[0]) / x[1]) == trunc((x[0] + e[0]) / x[1])
		           ? e[0]
		           : 2 * (fabs(x[1]) + e[1]);
	case OP_MOD: /* the quotient may differ */
		return x[1] != 0 && e[1] == 0 && floor((x[0] - e[0]) / x[1]) == floor((x[0] + e[0]) / x[1])
		           ? e[0]
		           : fabs(x[1]) + e[1];
	case OP_POW:
		return x[0] - e[0] <= 0 && x[0] + e[0] >= 0 && x[1] - e[1] < 0
		           ? INFINITY
		           : largest(corners(pow, x, e),
		                     fabs(x[0]) <= e[0] ? pow(fabs(x[0]) + e[0], x[1]) : 0);
	case OP_MAXIMUM:
		return x[0] - e[0] >= x[1] + e[1]   ? e[0]
		       : x[1] - e[1] >= x[0] + e[0] ? e[1]
		                                    : largest(e[0], e[1]);
	case OP_MINIMUM:
		return x[0] + e[0] <= x[1] - e[1]   ? e[0]
		       : x[1] + e[1] <= x[0] - e[0] ? e[1]
		                                    : largest(e[0], e[1]);
	case OP_RELU:
		return x[0] + e[0] <= 0 ? 0 : e[0];
	case OP_EQ:
	case OP_NE:
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
		return has_error_overlap(x, e);
	case OP_AND:
	case OP_OR:
		return (e[0] > 0 && fabs(x[0]) <= e[0]) || (e[1] > 0 && fabs(x[1]) <= e[1]);
	case OP_NOT:
		return e[0] > 0 && fabs(x[0]) <= e[0];
	case OP_ISNAN:
	case OP_ISINF:
	case OP_ISPOSINF:
	case OP_ISNEGINF:
	case OP_ISFINITE:
		return isinf(e[0]); /* it may have overflowed */
	case OP_SIGNBIT:
		return e[0] > 0 && fabs(x[0]) <= e[0];
	case OP_GCD:
		return INFINITY;
	case OP_CEIL:
	case OP_FLOOR:
	case OP_ROUND:
	case OP_TRUNC:
	case OP_EXP2:
	case OP_EXPM1:
	case OP_LOG2:
	case OP_LOG10:
	case OP_LOG1P:
	case OP_ASIN:
	case OP_ACOS:
	case OP_ATAN:
	case OP_SINH:
	case OP_COSH:
	case OP_ASINH:
	case OP_ACOSH:
	case OP_ATANH:
	case OP_ERFC:
	case OP_ERFINV:
	case OP_ERFCINV:
		return libm_error(kind, x[0], e[0]);
	case OP_LGAMMA: /* convex between its poles */
		return x[0] - e[0] > 0 || ceil(x[0] - e[0]) > x[0] + e[0] ? libm_error(kind, x[0], e[0])
		                                                          : INFINITY;
	case OP_NEXTAFTER: /* the step may go the other way */
		return e[0] + 4 * ref_unit(DTYPE_F32) * (fabs(x[0]) + e[0]) + 0x1p-148;
	case OP_TAN: /* a pole may lie between */
		return floor((x[0] - e[0]) / M_PI + 0.5) == floor((x[0] + e[0]) / M_PI + 0.5)
		           ? libm_error(kind, x[0], e[0])
		           : INFINITY;
	case OP_ATAN2: {
		double far = hypot(x[0], x[1]), moved = hypot(e[0], e[1]);
		bool may_turn = fabs(x[0]) <= e[0] && x[1] - e[1] <= 0; /* by 2 pi */
		return moved < far && !may_turn ? moved / (far - moved) : 2 * M_PI;
	}
	case OP_BITWISE_AND:
	case OP_BITWISE_OR:
	case OP_BITWISE_XOR:
	case OP_SHIFT_LEFT:
	case OP_SHIFT_RIGHT:
		return INFINITY; /* the bits may differ */
	case OP_EXP:
		return corners(exp_of, x, e);
	case OP_LOG:
		return x[0] <= e[0] ? INFINITY : corners(log_of, x, e);
	case OP_SQRT:
		return corners(sqrt_of, x, e);
	case OP_RSQRT:
		return x[0] <= e[0] ? INFINITY : corners(rsqrt_of, x, e);
	case OP_SIN:
	case OP_COS:
		return smaller(e[0], 2);
	case OP_ERF:
		return corners(erf_of, x, e);
	case OP_TANH:
		return corners(tanh_of, x, e);
	case OP_SIGMOID:
		return corners(sigmoid_of, x, e);
	case OP_GELU: /* their slopes are below 1.13 */
	case OP_GELU_TANH:
	case OP_SILU:
		return 1.13 * e[0];
	default: /* neg, abs, cast, broadcast, full */
		return e[0];
	}
}

double ref_function_error(enum op_kind kind, enum dtype t, const double *x, double value)
{
	switch (kind) {
	case OP_GELU: /* 1 + erf(x) cancels for negative x */
	case OP_GELU_TANH:
		return FUNCTION_ULPS * ref_unit(t) * fabs(x[0]);
	case OP_SIN:
	case OP_COS:
		return FUNCTION_ULPS * ref_unit(t);
	case OP_EXP:
	case OP_LOG:
	case OP_RSQRT:
	case OP_ERF:
	case OP_TANH:
	case OP_EXP2:
	case OP_EXPM1:
	case OP_LOG2:
	case OP_LOG10:
	case OP_LOG1P:
	case OP_TAN:
	case OP_ASIN:
	case OP_ACOS:
	case OP_ATAN:
	case OP_SINH:
	case OP_COSH:
	case OP_ASINH:
	case OP_ACOSH:
	case OP_ATANH:
	case OP_ERFC:
	case OP_ERFINV:
	case OP_ERFCINV:
	case OP_ATAN2:
	case OP_SILU:
	case OP_SIGMOID:
		return FUNCTION_ULPS * ref_unit(t) * fabs(value);
	case OP_LGAMMA: /* has zeros below 0 */
		return FUNCTION_ULPS * ref_unit(t) * (fabs(value) + (x[0] < 0));
	case OP_POW: /* may be computed as exp(b * log(a)) */
		return FUNCTION_ULPS * ref_unit(t) * fabs(value) *
		       (1 + (x[0] != 0 && isfinite(x[0]) ? fabs(x[1] * log(fabs(x[0]))) : 0));
	default: /* rounded once, as if computed exactly */
		return 0;
	}
}
