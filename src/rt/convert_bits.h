/* convert_bits: the conversions of convert.h for one element, to be inlined into loops over rows. */
#ifndef HIRC_RT_CONVERT_BITS_H
#define HIRC_RT_CONVERT_BITS_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float bits_to_f32(uint32_t u)
{
	float x;
	memcpy(&x, &u, sizeof x);
	return x;
}

static inline uint32_t bits_of_f32(float x)
{
	uint32_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

static inline float bits_bf16_to_f32(uint16_t b)
{
	return bits_to_f32((uint32_t)b << 16);
}

static inline float bits_f16_to_f32(uint16_t b)
{
	const uint32_t exponent = 0x7c00u << 13;
	uint32_t u = (uint32_t)(b & 0x7fff) << 13, e = u & exponent, sign = (uint32_t)(b & 0x8000) << 16;
	u += (127 - 15) << 23;
	if (e == exponent) /* inf or NaN */
		u += (128 - 16) << 23;
	else if (e == 0) /* zero or subnormal: the subtraction normalises it */
		u = bits_of_f32(bits_to_f32(u + (1 << 23)) - bits_to_f32(113u << 23));
	return bits_to_f32(u | sign);
}

static inline float bits_f8e5m2_to_f32(uint8_t b)
{
	return bits_f16_to_f32((uint16_t)(b << 8));
}

static inline float bits_f8e4m3_to_f32(uint8_t b)
{
	uint32_t magnitude = b & 0x7f, sign = (uint32_t)(b & 0x80) << 24;
	float x;
	if (magnitude == 0x7f)
		x = bits_to_f32(0x7fc00000);
	else if (magnitude < 8) /* subnormal: steps of 2^-9 */
		x = (float)magnitude * 0x1p-9f;
	else
		x = bits_to_f32(((magnitude >> 3) + 120) << 23 | (magnitude & 7) << 20);
	return bits_to_f32(bits_of_f32(x) | sign);
}

/* Rounds x to a sign, `ebits` of exponent and `mbits` of mantissa. with_inf: has the inf and NaN of
 * IEEE. Otherwise the all-ones pattern is the only NaN, and overflow gives it. */
static inline uint32_t bits_round(double x, int ebits, int mbits, bool with_inf)
{
	uint64_t u;
	memcpy(&u, &x, sizeof u);
	uint32_t sign = (uint32_t)(u >> 63) << (ebits + mbits), top = ((1u << ebits) - 1) << mbits;
	uint32_t nan = with_inf ? top | 1u << (mbits - 1) : top | ((1u << mbits) - 1);
	uint32_t overflow = with_inf ? top : nan;
	int exponent = (int)(u >> 52 & 0x7ff);
	uint64_t mantissa = u & (((uint64_t)1 << 52) - 1);
	if (exponent == 0x7ff)
		return sign | (mantissa ? nan : overflow);
	if (exponent == 0) /* zero, or a subnormal far below the smallest result */
		return sign;
	mantissa |= (uint64_t)1 << 52;
	int e = exponent - 1023 + (1 << (ebits - 1)) - 1, shift = 52 - mbits;
	if (e <= 0) {
		shift += 1 - e;
		e = 1;
		if (shift > 54)
			return sign;
	}
	uint64_t kept = mantissa >> shift, rest = mantissa & (((uint64_t)1 << shift) - 1);
	uint64_t half = (uint64_t)1 << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	/* the leading bit of kept, if there is one, adds 1 to the exponent field */
	uint32_t r = ((uint32_t)(e - 1) << mbits) + (uint32_t)kept;
	return sign | (r >= overflow ? overflow : r);
}

static inline uint16_t bits_f64_to_bf16(double x)
{
	return (uint16_t)bits_round(x, 8, 7, true);
}

static inline uint16_t bits_f32_to_bf16(float x)
{
	uint32_t u = bits_of_f32(x);
	if ((u & 0x7fffffff) > 0x7f800000) /* NaN must remain NaN, whatever its low bits are */
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline uint16_t bits_f64_to_f16(double x)
{
	return (uint16_t)bits_round(x, 5, 10, true);
}

static inline uint16_t bits_f32_to_f16(float x)
{
	const uint32_t least_normal = 113u << 23, infinite = 0x7c00;
	uint32_t u = bits_of_f32(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
	uint32_t r = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
	/* the last place of [0.5, 1) is that of a subnormal, so the addition rounds to it */
	uint32_t small = bits_of_f32(bits_to_f32(magnitude) + 0.5f) - bits_of_f32(0.5f);
	r = r > infinite ? infinite : r;
	r = magnitude > 0x7f800000 ? infinite | 0x200 : r;
	r = magnitude < least_normal ? small : r;
	return (uint16_t)(sign | r);
}

static inline uint8_t bits_f64_to_f8e4m3(double x)
{
	return (uint8_t)bits_round(x, 4, 3, false);
}

static inline uint8_t bits_f64_to_f8e5m2(double x)
{
	return (uint8_t)bits_round(x, 5, 2, true);
}

static inline uint8_t bits_f32_to_f8e4m3(float x)
{
	return bits_f64_to_f8e4m3(x);
}

static inline uint8_t bits_f32_to_f8e5m2(float x)
{
	return bits_f64_to_f8e5m2(x);
}

/* Rounds towards zero, clamped; NaN gives 0. */
static inline int64_t bits_f64_to_i64(double x)
{
	if (!(x > -0x1p63))
		return x != x ? 0 : INT64_MIN;
	return x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

static inline int64_t bits_clamp(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

/* Returns i as a double. If i has more bits than fit, the last bit of the result is odd, so that a later
 * rounding to fewer bits gives the same as rounding i itself. */
static inline double bits_i64_to_f64_odd(int64_t i)
{
	if (i >= -((int64_t)1 << 53) && i <= (int64_t)1 << 53)
		return (double)i;
	int64_t high = i >> 11;
	return (double)(high | ((i & 0x7ff) != 0)) * 2048.0;
}

#endif
