/* elementary: functions of f32, computed in f64 and rounded once.
 *
 * No tables, calls or branches, so that loops over them become vector code, and no step whose rounding a
 * processor could choose: all give the same bits. Errors before the rounding are below 1e-10 of the value. */
#ifndef HIRC_RT_ELEMENTARY_H
#define HIRC_RT_ELEMENTARY_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* A call would end the vectors. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE double elementary_from_bits(uint64_t u)
{
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* e^x of x in -200 ... 200: 2^n * e^r, |r| <= ln(2) / 2, by the series. */
ALWAYS_INLINE double elementary_exp_near(double x)
{
	const double to_integer = 0x1.8p52; /* adding it rounds, and leaves n in the low bits */
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

/* 0 and infinity where f32 has nothing near. The last choice is by y: of x, compilers would make a branch. */
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

ALWAYS_INLINE float elementary_siluf(float x)
{
	return (float)(x / (1 + elementary_exp(-(double)x)));
}

ALWAYS_INLINE float elementary_tanhf(float x)
{
	double y = fabs((double)x), z = y * y;
	double far = 1 - 2 / (elementary_exp(2 * y) + 1);
	double near = -1382.0 / 155925; /* the series, below 1/16 */
	near = near * z + 62.0 / 2835;
	near = near * z - 17.0 / 315;
	near = near * z + 2.0 / 15;
	near = near * z - 1.0 / 3;
	near = y + y * z * near;
	return (float)copysign(y < 0.0625 ? near : far, (double)x);
}

/* x * P(N(0, 1) <= x). The tail of the distribution is half of erfc(y) = e^(-y^2) * h(1 / (1 + y/2)), of
 * which h is nearly a polynomial: Chebyshev's for y in 0 ... 14, where it ends in f32. */
ALWAYS_INLINE float elementary_geluf(float x)
{
	static const double h[] = {
	    0.0253305367532410401, -0.196319928098867736, 0.65616910648346548,     -1.20482279761430612,
	    1.25918076487376543,   -0.675042072612765191, 0.139715786295862408,    -0.0515856754592434261,
	    -0.034533253584812639, 0.0975937082840492239, 0.172779483224143516,    0.247398034176830974,
	    0.282038384302745752,  0.28209800250471275,   -7.95230740951790744e-8,
	};
	double y = fabs((double)x) * 0.70710678118654752440, u = 1 / (1 + 0.5 * y), p = h[0];
	for (int i = 1; i < (int)(sizeof h / sizeof *h); i++)
		p = p * u + h[i];
	double tail = 0.5 * p * elementary_exp(-y * y);
	return (float)(x * (x < 0 ? tail : 1 - tail));
}

#endif
