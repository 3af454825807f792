/* pointwise: see pointwise.h. */
#include "base/pointwise.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inverse_erf.h"

static const struct {
	const char *name;
	int8_t operands;
	uint8_t class;
} operations[POINTWISE_COUNT] = {
#define POINTWISE(id, hir, operands, class, ...) [POINTWISE_##id] = {#hir, operands, CLASS_##class},
#include "base/pointwise.def"
#undef POINTWISE
};

const char *pointwise_name(enum pointwise op)
{
	return op < POINTWISE_COUNT ? operations[op].name : "?";
}

int pointwise_operands(enum pointwise op)
{
	return operations[op].operands;
}

enum pointwise_class pointwise_class(enum pointwise op)
{
	return operations[op].class;
}

const char *pointwise_refuses(enum pointwise op, enum dtype t)
{
	switch (pointwise_class(op)) {
	case CLASS_INTEGER:
		return dtype_is_integer(t) ? NULL : "integers";
	case CLASS_WIDE:
		return t == DTYPE_F32 || t == DTYPE_F64 ? NULL : "f32 or f64";
	default:
		return NULL;
	}
}

static double modulo(double m, double b)
{
	return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

double pointwise_value(enum pointwise op, const double *x)
{
#define NONE NAN
#define F(name) name
#define MOD(a, b) modulo(fmod(a, b), b)
#define POW pow
#define EXP exp
#define LOG log
#define SIN sin
#define COS cos
#define TANH tanh
#define ERFINV inverse_erf
#define ERFCINV inverse_erfc
#define LGAMMA lgamma
#define GELU(a) 0.5 * (a)*erfc(-(a)*M_SQRT1_2)
#define GELU_TANH(a) 0.5 * (a) * (1 + tanh(0.7978845608028654 * ((a) + 0.044715 * (a) * (a) * (a))))
#define SILU(a) (a) * sigmoid(a)
#define SIGMOID(a) sigmoid(a)
	const double a = x[0], b = operations[op].operands > 1 ? x[1] : 0;
	switch (op) {
#define POINTWISE(id, hir, operands, class, linear, real, meaning)                                           \
	case POINTWISE_##id:                                                                                 \
		return real;
#include "base/pointwise.def"
#undef POINTWISE
	default:
		return NAN;
	}
}
