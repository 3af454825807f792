/* elementary_f64: functions of f64.
 *
 * As in elementary.h, there are no tables, calls or branches, and all processors give the same bits.
 * Errors are at most 3 units in the last place; in the negative tail of gelu 7, and in that of gelu_tanh
 * 60. */
#ifndef HIRC_RT_ELEMENTARY_F64_H
#define HIRC_RT_ELEMENTARY_F64_H
#include "rt/elementary.h"

/* x + tail = n ln(2) + r, |r| <= ln(2) / 2. */
struct elementary_parts {
	uint64_t n;     /* low bits of n, in two's complement */
	double rest_m1; /* e^r - 1 */
};

/* Splits x; |x| < 2000, and tail is tiny. ln(2) is the sum of two numbers; n times the first is exact. */
ALWAYS_INLINE struct elementary_parts elementary_parts(double x, double tail)
{
	const double to_integer = 0x1.8p52;
	struct elementary_parts out;
	double shifted = x * 1.4426950408889634074 + to_integer, n = shifted - to_integer;
	double r = x - n * 0x1.62e42feep-1;
	r = r - (n * 0x1.a39ef35793c76p-33 - tail);
	memcpy(&out.n, &shifted, sizeof out.n);
	double p = 1.0 / 6227020800;
	p = p * r + 1.0 / 479001600;
	p = p * r + 1.0 / 39916800;
	p = p * r + 1.0 / 3628800;
	p = p * r + 1.0 / 362880;
	p = p * r + 1.0 / 40320;
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	out.rest_m1 = r + r * r * p;
	return out;
}

/* e^(x + tail); 0 and infinity if the result is not near any f64. 2^n is two factors, since one factor
 * may be too large or too small. */
ALWAYS_INLINE double elementary_exp_sum(double x, double tail)
{
	x = x < -746 ? -746 : x;
	x = x > 710 ? 710 : x;
	struct elementary_parts e = elementary_parts(x, tail);
	uint64_t n = (e.n + 2048) & 0xfff, half = n >> 1; /* 2048 + n */
	double y = (1 + e.rest_m1) * elementary_from_bits((half - 1) << 52);
	return y * elementary_from_bits((n - half - 1) << 52);
}

ALWAYS_INLINE double elementary_exp_f64(double x)
{
	return elementary_exp_sum(x, 0);
}

ALWAYS_INLINE double elementary_sigmoid_f64(double x)
{
	return 1 / (1 + elementary_exp_f64(-x));
}

ALWAYS_INLINE double elementary_silu_f64(double x)
{
	return elementary_bounded(x) / (1 + elementary_exp_f64(-x));
}

/* t / (t + 2) with t = e^(2|x|) - 1. */
ALWAYS_INLINE double elementary_tanh_f64(double x)
{
	double y = fabs(x);
	y = y > 24 ? 24 : y; /* the result is 1 from there on */
	struct elementary_parts e = elementary_parts(2 * y, 0);
	double scale = elementary_from_bits((e.n + 1023) << 52), t = scale * e.rest_m1 + (scale - 1);
	return copysign(t / (t + 2), x);
}

/* x * P(N(0, 1) <= x), see elementary_geluf: with y = |x| / sqrt(2) the tail is e^(-y^2) * u * g(u) / 2,
 * u = 1 / (1 + y/2), and g is Chebyshev's polynomial for u in 1/16 ... 1. */
ALWAYS_INLINE double elementary_gelu_f64(double x)
{
	static const double g[] = {
	    1.70831155653406784e-10,  -6.19934256451472155e-10, -3.76252770461979233e-10,
	    4.70488766142997225e-9,   -5.6976848309428969e-9,   -1.00122507599384616e-8,
	    3.88247498085776145e-8,   -3.72586671500256482e-8,  -7.41664555783999464e-8,
	    3.10872433248515436e-7,   -3.29573978941775198e-7,  -7.35822566789484193e-7,
	    3.00562737770454578e-6,   -2.15404536062551065e-6,  -0.0000112292071932829991,
	    0.0000305494113590063048, 0.0000133124822243869229, -0.000196479476963483058,
	    0.000160707425277560768,  0.00114880660753543655,   -0.00190486073253395935,
	    -0.00901783792740537053,  0.0127003225028025373,    0.125589445113214987,
	    0.338672001829502201,     0.532815249345052104,
	};
	double y = fabs(x);
	y = y > 40 ? 40 : y; /* beyond 40 the tail is 0 */
	double u = 1 / (1 + y * 0.35355339059327376220), v = (u - 0.53125) * (1 / 0.46875), v2 = v * v;
	double odd = g[0], even = g[1]; /* two sums side by side */
	for (int i = 2; i < (int)(sizeof g / sizeof *g); i += 2) {
		odd = odd * v2 + g[i];
		even = even * v2 + g[i + 1];
	}
	uint64_t bits; /* y^2 exactly, from the upper half of y and the rest */
	memcpy(&bits, &y, sizeof bits);
	double upper = elementary_from_bits(bits & 0xfffffffff8000000);
	double tail = 0.5 * u * (odd * v + even) *
	              elementary_exp_sum(-0.5 * upper * upper, -0.5 * (y - upper) * (y + upper));
	return elementary_bounded(x) * (x < 0 ? tail : 1 - tail);
}

/* See elementary_gelu_tanhf. */
ALWAYS_INLINE double elementary_gelu_tanh_f64(double x)
{
	double a = elementary_bounded(x);
	return a / (1 + elementary_exp_f64(-1.59576912160573071176 * (a + 0.044715 * a * a * a)));
}

#endif
