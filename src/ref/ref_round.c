/* ref_round: rounds values to their dtypes.
 *
 * A float with p significant bits and smallest normal exponent e holds the multiples of 2^(max(exponent of x,
 * e) - p + 1): rounding is to the nearest of them, ties to even. */
#include "ref/ref_internal.h"
#include <math.h>

static const struct format {
	int precision, min_exponent;
	double max;
	double beyond; /* the result for larger values */
} format[DTYPE_COUNT] = {
    [DTYPE_F64] = {53, -1022, 0x1.fffffffffffffp1023, INFINITY},
    [DTYPE_F32] = {24, -126, 0x1.fffffep127, INFINITY},
    [DTYPE_BF16] = {8, -126, 0x1.fep127, INFINITY},
    [DTYPE_F16] = {11, -14, 65504, INFINITY},
    [DTYPE_F8E4M3] = {4, -6, 448, NAN},
    [DTYPE_F8E5M2] = {3, -14, 57344, INFINITY},
};

static const struct range {
	int64_t min, max;
} range[DTYPE_COUNT] = {
    [DTYPE_I64] = {INT64_MIN, INT64_MAX}, [DTYPE_I32] = {INT32_MIN, INT32_MAX},
    [DTYPE_I16] = {INT16_MIN, INT16_MAX}, [DTYPE_I8] = {INT8_MIN, INT8_MAX},
    [DTYPE_U8] = {0, UINT8_MAX},
};

int ref_precision(enum dtype t)
{
	return t == DTYPE_F64 ? 53 : format[t].precision;
}

double ref_largest(enum dtype t)
{
	return format[t].max;
}

double ref_smallest(enum dtype t)
{
	return ldexp(1, format[t].min_exponent);
}

double ref_quantum(enum dtype t)
{
	return ldexp(1, format[t].min_exponent - format[t].precision + 1);
}

double ref_beyond(enum dtype t)
{
	return isnan(format[t].beyond) ? format[t].max : INFINITY;
}

enum dtype ref_accumulator(enum dtype t)
{
	return t == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

double ref_round(enum dtype t, double x)
{
	if (!dtype_is_float(t))
		return (double)ref_truncate(t, x);
	const struct format *f = &format[t];
	if (t == DTYPE_F64 || x == 0 || isnan(x))
		return x;
	if (isinf(x))
		return copysign(f->beyond, x);
	int e = ilogb(x);
	int quantum = (e < f->min_exponent ? f->min_exponent : e) - f->precision + 1;
	double r = ldexp(nearbyint(ldexp(x, -quantum)), quantum);
	return fabs(r) > f->max ? copysign(f->beyond, x) : r;
}

int64_t ref_truncate(enum dtype t, double x)
{
	if (t == DTYPE_BOOL)
		return x != 0;
	if (isnan(x))
		return 0;
	if (x >= (double)range[t].max)
		return range[t].max;
	if (x <= (double)range[t].min)
		return range[t].min;
	return (int64_t)x;
}

int64_t ref_wrap(enum dtype t, int64_t x)
{
	switch (t) {
	case DTYPE_BOOL:
		return x != 0;
	case DTYPE_I32:
		return (int32_t)(uint32_t)x;
	case DTYPE_I16:
		return (int16_t)(uint16_t)x;
	case DTYPE_I8:
		return (int8_t)(uint8_t)x;
	case DTYPE_U8:
		return (uint8_t)x;
	default:
		return x;
	}
}

/* Rounds x to odd; a second rounding to fewer bits then gives the nearest. */
static double from_int(int64_t x)
{
	uint64_t magnitude = x < 0 ? -(uint64_t)x : (uint64_t)x;
	int drop = magnitude >> 53 ? 64 - __builtin_clzll(magnitude) - 53 : 0;
	uint64_t kept = magnitude >> drop;
	if (magnitude != kept << drop)
		kept |= 1;
	double d = ldexp((double)kept, drop);
	return x < 0 ? -d : d;
}

double ref_round_int(enum dtype t, int64_t x)
{
	return t == DTYPE_F64 ? (double)x : ref_round(t, from_int(x));
}

static uint64_t low_bits(unsigned n)
{
	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

uint64_t ref_bits(const struct ref_array *a, int64_t i)
{
	const struct format *f = &format[a->dtype];
	unsigned width = 8 * dtype_bytes(a->dtype), fraction = (unsigned)f->precision - 1;
	if (a->ints)
		return (uint64_t)a->ints[i] & low_bits(width);
	double x = a->data[i], size = fabs(x);
	uint64_t sign = (uint64_t)(signbit(x) != 0) << (width - 1);
	if (isnan(x))
		return sign | low_bits(width - 1);
	if (isinf(x))
		return sign | (low_bits(width - 1) & ~low_bits(fraction));
	int e = x == 0 || ilogb(x) < f->min_exponent ? f->min_exponent : ilogb(x);
	return sign |
	       (((uint64_t)(e - f->min_exponent) << fraction) + (uint64_t)ldexp(size, f->precision - 1 - e));
}

void ref_store_bits(struct ref_array *a, int64_t i, uint64_t bits)
{
	const struct format *f = &format[a->dtype];
	unsigned width = 8 * dtype_bytes(a->dtype), fraction = (unsigned)f->precision - 1;
	if (a->ints) {
		ref_store_int(a, i, (int64_t)bits);
		return;
	}
	uint64_t size = bits & low_bits(width - 1), part = size & low_bits(fraction);
	int e = (int)(size >> fraction);
	uint64_t whole = (uint64_t)(e > 0) << fraction;
	double x = ldexp((double)(whole + part), (e > 0 ? e - 1 : 0) + f->min_exponent - f->precision + 1);
	if (x > f->max) /* all ones of the exponent */
		x = part && f->beyond == INFINITY ? NAN : f->beyond;
	a->data[i] = bits >> (width - 1) & 1 ? -x : x;
}

double ref_grid(double x)
{
	if (x == 0 || !isfinite(x))
		return x == 0 ? INFINITY : 0;
	int e;
	uint64_t bits = (uint64_t)ldexp(fabs(frexp(x, &e)), 53);
	return ldexp(1, e - 53 + __builtin_ctzll(bits));
}

bool ref_sum_is_exact(int bits, double magnitude, double grid)
{
	return magnitude <= ldexp(grid, bits);
}
