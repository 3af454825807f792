/* elementary: functions of f32, computed in f64 and rounded once.
 *
 * There are no tables, calls or branches, so that compilers can vectorise loops over the functions. No
 * step has a rounding that depends on the processor: all processors give the same bits. Errors before
 * the rounding are below 1e-10 of the value. */
#ifndef HIRC_RT_ELEMENTARY_H
#define HIRC_RT_ELEMENTARY_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* A call would prevent vectorisation. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE double elementary_from_bits(uint64_t u)
{
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* e^x for x in -200 ... 200: 2^n * e^r, |r| <= ln(2) / 2, e^r by its series. */
ALWAYS_INLINE double elementary_exp_near(double x)
{
	const double to_integer = 0x1.8p52; /* adding it rounds to an integer n in the low bits */
	double shifted = x * 1.4426950408889634074 + to_integer,
	       r = x - (shifted - to_integer) * 0.6931471805599453094;
	uint64_t n;
	memcpy(&n, &shifted, sizeof n);
	double p = 1.0 / 3628800;
	p = p * r + 1.0 / 362880;
	p = p * r + 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1;
	p = p * r + 1;
	return p * elementary_from_bits((n + 1023) << 52);
}

/* e^x for any x; 0 and infinity if the result is not near any f32. The last choice is by y, since
 * compilers would make a branch of a choice by x. */
ALWAYS_INLINE double elementary_exp(double x)
{
	x = x < -160 ? -160 : x;
	x = x > 160 ? 160 : x;
	double y = elementary_exp_near(x);
	y = y < 4e-70 ? 0 : y;
	return y > 3e69 ? (double)INFINITY : y;
}

ALWAYS_INLINE float elementary_expf(float x)
{
	return (float)elementary_exp(x);
}

ALWAYS_INLINE float elementary_sigmoidf(float x)
{
	return (float)(1 / (1 + elementary_exp(-(double)x)));
}

/* Returns x, or a large negative number for -inf: its product with 0 is -0, the limit, and not NaN. */
ALWAYS_INLINE double elementary_bounded(double x)
{
	return x < -0x1p200 ? -0x1p200 : x;
}

ALWAYS_INLINE float elementary_siluf(float x)
{
	return (float)(elementary_bounded(x) / (1 + elementary_exp(-(double)x)));
}

ALWAYS_INLINE float elementary_tanhf(float x)
{
	double y = fabs((double)x), z = y * y;
	double far = 1 - 2 / (elementary_exp(2 * y) + 1);
	double near = -1382.0 / 155925; /* by the series, below 1/16 */
	near = near * z + 62.0 / 2835;
	near = near * z - 17.0 / 315;
	near = near * z + 2.0 / 15;
	near = near * z - 1.0 / 3;
	near = y + y * z * near;
	return (float)copysign(y < 0.0625 ? near : far, (double)x);
}

/* x * P(N(0, 1) <= x). The tail of the distribution is half of erfc(y) = e^(-y^2) * h(1 / (1 + y/2)). h
 * is nearly a polynomial: Chebyshev's for y in 0 ... 14; at 14 the tail is below all of f32. */
ALWAYS_INLINE float elementary_geluf(float x)
{
	static const double h[] = {
	    0.0253305367532410401, -0.196319928098867736, 0.65616910648346548,     -1.20482279761430612,
	    1.25918076487376543,   -0.675042072612765191, 0.139715786295862408,    -0.0515856754592434261,
	    -0.034533253584812639, 0.0975937082840492239, 0.172779483224143516,    0.247398034176830974,
	    0.282038384302745752,  0.28209800250471275,   -7.95230740951790744e-8,
	};
	double y = fabs((double)x) * 0.70710678118654752440;
	y = y > 14 ? 14 : y; /* beyond 14 the tail is 0 */
	double u = 1 / (1 + 0.5 * y), p = h[0];
	for (int i = 1; i < (int)(sizeof h / sizeof *h); i++)
		p = p * u + h[i];
	double tail = 0.5 * p * elementary_exp(-y * y);
	return (float)(elementary_bounded(x) * (x < 0 ? tail : 1 - tail));
}

/* x * sigmoid(2 y), which is x / 2 * (1 + tanh(y)), with y = sqrt(2 / pi) * (x + 0.044715 * x^3). */
ALWAYS_INLINE float elementary_gelu_tanhf(float x)
{
	double a = elementary_bounded(x);
	return (float)(a / (1 + elementary_exp(-1.59576912160573071176 * (a + 0.044715 * a * a * a))));
}

/* ln(x) for normal and subnormal values of f32: x = m * 2^e with m in 0.707 ... 1.414, and ln(m) = 2
 * atanh(s) by its series, with s = (m - 1) / (m + 1). Errors are below 1e-15 of the value. */
ALWAYS_INLINE double elementary_log_near(double x)
{
	const uint64_t half_root = 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
	uint64_t bits, e;
	memcpy(&bits, &x, sizeof bits);
	e = (bits - half_root + ((uint64_t)1023 << 52)) >> 52; /* 1023 + e */
	double m = elementary_from_bits(bits - ((e - 1023) << 52)), s = (m - 1) / (m + 1), z = s * s;
	double exponent = elementary_from_bits(0x4330000000000000 | e) - 0x1p52 - 1023;
	double p = 1.0 / 19;
	p = p * z + 1.0 / 17;
	p = p * z + 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z + 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z + 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z + 1.0 / 3;
	return exponent * 0.6931471805599453094 + (2 * s + 2 * s * z * p);
}

/* ln(x) for x >= 0 or NaN. */
ALWAYS_INLINE double elementary_log(double x)
{
	double y = elementary_log_near(x);
	y = x > 0 ? y : -(double)INFINITY;
	return x < (double)INFINITY ? y : x;
}

ALWAYS_INLINE float elementary_logf(float x)
{
	double y = elementary_log(x);
	return (float)(x < 0 ? (double)NAN : y);
}

/* e^(b ln |a|), with the sign of a if b is odd. */
ALWAYS_INLINE float elementary_powf(float a, float b)
{
	const double to_integer = 0x1.8p52,
	             even = 0x1p25; /* even: from here on all numbers of f32 are even */
	double base = fabs((double)a), e = b, small = fabs(e) < even ? e : even, shifted = small + to_integer;
	double rest = small - (shifted - to_integer), l = elementary_log(base), product = e * l;
	uint64_t bits;
	memcpy(&bits, &shifted, sizeof bits);
	double y = elementary_exp(l == 0 ? 0 : product); /* 1 to an infinite power is 1 */
	double whole = (bits & 1) != 0 ? -y : y;
	double broken = base > 0 && base < (double)INFINITY ? (double)NAN : y;
	double negative = rest != 0 ? broken : whole;
	y = copysign(1, (double)a) < 0 ? negative : y;
	y = e == e ? y : e;
	y = e == 0 ? 1 : y;
	return (float)(a == 1 ? 1 : y);
}

/* The largest angle for which elementary_sinf and elementary_cosf are correct. */
#define ELEMENTARY_MOST_ANGLE 0x1p20f

/* sin(x + quarters * pi / 2), by the series around the nearest multiple n * pi / 2. pi / 2 is the sum of
 * three numbers; the products of n and the first two are exact. */
ALWAYS_INLINE double elementary_sine(double x, uint64_t quarters)
{
	const double to_integer = 0x1.8p52;
	double shifted = x * 0.63661977236758134308 + to_integer, n = shifted - to_integer;
	double r = x - n * 0x1.921fb544p+0;
	r = r - n * 0x1.0b4611a6p-34;
	r = r - n * 0x1.3198a2e037073p-69;
	uint64_t quarter, sign, bits;
	memcpy(&quarter, &shifted, sizeof quarter);
	quarter += quarters;
	double z = r * r, sine = -1.0 / 39916800, cosine = 1.0 / 479001600;
	sine = sine * z + 1.0 / 362880;
	sine = sine * z - 1.0 / 5040;
	sine = sine * z + 1.0 / 120;
	sine = sine * z - 1.0 / 6;
	sine = r * (1 + z * sine);
	cosine = cosine * z - 1.0 / 3628800;
	cosine = cosine * z + 1.0 / 40320;
	cosine = cosine * z - 1.0 / 720;
	cosine = cosine * z + 1.0 / 24;
	cosine = cosine * z - 0.5;
	cosine = 1 + z * cosine;
	double y = (quarter & 1) != 0 ? cosine : sine;
	sign = (quarter & 2) << 62;
	memcpy(&bits, &y, sizeof bits);
	return elementary_from_bits(bits ^ sign);
}

ALWAYS_INLINE float elementary_sinf(float x)
{
	return (float)elementary_sine(x, 0);
}

ALWAYS_INLINE float elementary_cosf(float x)
{
	return (float)elementary_sine(x, 1);
}

#endif
