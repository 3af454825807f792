/* conversions: bits of elements to values of the wide types and back, with the roundings of rt/convert.h. */

/* x in a sign, `ebits` of exponent and `mbits` of mantissa, to nearest, ties to even; full: there is
 * infinity, else the pattern of all ones is the only NaN and what overflow gives */
DEVICE u32 narrow_f64(f64 x, int ebits, int mbits, int full)
{
	u64 u = bits_f64(x);
	u32 sign = (u32)(u >> 63) << (ebits + mbits), top = ((1u << ebits) - 1) << mbits;
	u32 nan = full ? top | 1u << (mbits - 1) : top | ((1u << mbits) - 1), overflow = full ? top : nan;
	int exponent = (int)(u >> 52 & 0x7ff);
	u64 mantissa = u & 0xfffffffffffffull;
	if (exponent == 0x7ff)
		return sign | (mantissa ? nan : overflow);
	if (exponent == 0)
		return sign;
	mantissa |= 1ull << 52;
	int e = exponent - 1023 + (1 << (ebits - 1)) - 1, shift = 52 - mbits;
	if (e <= 0) {
		shift += 1 - e;
		e = 1;
		if (shift > 54)
			return sign;
	}
	u64 kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1), half = 1ull << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	u32 r = ((u32)(e - 1) << mbits) + (u32)kept;
	return sign | (r >= overflow ? overflow : r);
}
DEVICE u32 narrow_f32(f32 x, int ebits, int mbits, int full)
{
	u32 u = bits_f32(x);
	u32 sign = u >> 31 << (ebits + mbits), top = ((1u << ebits) - 1) << mbits;
	u32 nan = full ? top | 1u << (mbits - 1) : top | ((1u << mbits) - 1), overflow = full ? top : nan;
	int exponent = (int)(u >> 23 & 0xff);
	u32 mantissa = u & 0x7fffffu;
	if (exponent == 0xff)
		return sign | (mantissa ? nan : overflow);
	if (exponent == 0)
		return sign;
	mantissa |= 1u << 23;
	int e = exponent - 127 + (1 << (ebits - 1)) - 1, shift = 23 - mbits;
	if (e <= 0) {
		shift += 1 - e;
		e = 1;
		if (shift > 25)
			return sign;
	}
	u32 kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	u32 r = ((u32)(e - 1) << mbits) + kept;
	return sign | (r >= overflow ? overflow : r);
}
/* towards zero, clamped; NaN gives 0 */
DEVICE i64 whole_f64(f64 x)
{
	if (!(x > -9223372036854775808.0))
		return x != x ? 0 : I64_MIN;
	return x >= 9223372036854775808.0 ? I64_MAX : (i64)x;
}
DEVICE i64 clamp(i64 x, i64 low, i64 high) { return x < low ? low : x > high ? high : x; }
/* odd where i has more bits than fit: a rounding to fewer bits is then that of i itself */
DEVICE f64 f64_odd(i64 i)
{
	if (i >= -(1ll << 53) && i <= 1ll << 53)
		return (f64)i;
	return (f64)(i >> 11 | ((i & 0x7ff) != 0)) * 2048.0;
}
/* load_T_W: the bits of an element of type T as a value of the wide type W; store_T_W: back */
DEVICE f64 load_f64_f64(u64 u) { return f64_of_bits(u); }
DEVICE f32 load_f32_f32(u32 u) { return f32_of_bits(u); }
DEVICE f32 load_bf16_f32(u16 u) { return f32_of_bits((u32)u << 16); }
DEVICE f32 load_f16_f32(u16 u)
{
#ifdef __CUDA_ARCH__
	f32 x;
	asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(u));
	return x;
#else
	u32 r = (u32)(u & 0x7fff) << 13, e = r & 0x7c00u << 13;
	r += 112u << 23;
	if (e == 0x7c00u << 13)
		r += 112u << 23;
	else if (e == 0)
		r = bits_f32(f32_of_bits(r + (1u << 23)) - f32_of_bits(113u << 23));
	return f32_of_bits(r | (u32)(u & 0x8000) << 16);
#endif
}
DEVICE f32 load_f8e5m2_f32(u8 u) { return load_f16_f32((u16)(u << 8)); }
DEVICE f32 load_f8e4m3_f32(u8 u)
{
	u32 m = u & 0x7f, sign = (u32)(u & 0x80) << 24;
	f32 x = m == 0x7f ? NAN_F32
	        : m < 8   ? (f32)m * 0.001953125f
	                  : f32_of_bits(((m >> 3) + 120) << 23 | (m & 7) << 20);
	return f32_of_bits(bits_f32(x) | sign);
}
DEVICE i64 load_i64_i64(u64 u) { return (i64)u; }
DEVICE i64 load_i32_i64(u32 u) { return (i32)u; }
DEVICE i64 load_i16_i64(u16 u) { return (i16)u; }
DEVICE i64 load_i8_i64(u8 u) { return (i8)u; }
DEVICE i64 load_u8_i64(u8 u) { return u; }
DEVICE i64 load_bool_i64(u8 u) { return u != 0; }
#define LOAD_FROM(T, raw, W)                                                                                 \
	DEVICE f64 load_##T##_f64(raw u) { return (f64)load_##T##_##W(u); }                                  \
	DEVICE i64 load_##T##_i64(raw u) { return whole_f64(load_##T##_##W(u)); }
DEVICE i64 load_f64_i64(u64 u) { return whole_f64(f64_of_bits(u)); }
DEVICE f32 load_f64_f32(u64 u) { return (f32)f64_of_bits(u); }
LOAD_FROM(f32, u32, f32)
LOAD_FROM(bf16, u16, f32)
LOAD_FROM(f16, u16, f32)
LOAD_FROM(f8e4m3, u8, f32)
LOAD_FROM(f8e5m2, u8, f32)
#define LOAD_INTEGER(T, raw)                                                                                 \
	DEVICE f64 load_##T##_f64(raw u) { return (f64)load_##T##_i64(u); }                                  \
	DEVICE f32 load_##T##_f32(raw u) { return (f32)load_##T##_i64(u); }
LOAD_INTEGER(i64, u64)
LOAD_INTEGER(i32, u32)
LOAD_INTEGER(i16, u16)
LOAD_INTEGER(i8, u8)
LOAD_INTEGER(u8, u8)
LOAD_INTEGER(bool, u8)
DEVICE u64 store_f64_f64(f64 x) { return bits_f64(x); }
DEVICE u64 store_f64_f32(f32 x) { return bits_f64((f64)x); }
DEVICE u64 store_f64_i64(i64 x) { return bits_f64((f64)x); }
DEVICE u32 store_f32_f64(f64 x) { return bits_f32((f32)x); }
DEVICE u32 store_f32_f32(f32 x) { return bits_f32(x); }
DEVICE u32 store_f32_i64(i64 x) { return bits_f32((f32)x); }
DEVICE u16 store_bf16_f64(f64 x) { return (u16)narrow_f64(x, 8, 7, 1); }
DEVICE u16 store_bf16_f32(f32 x)
{
#ifdef __CUDA_ARCH__
	u16 r;
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
	return r;
#else
	u32 u = bits_f32(x);
	if ((u & 0x7fffffffu) > 0x7f800000u)
		return (u16)(u >> 16 | 0x40);
	return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
#endif
}
DEVICE u16 store_f16_f64(f64 x) { return (u16)narrow_f64(x, 5, 10, 1); }
DEVICE u16 store_f16_f32(f32 x)
{
#ifdef __CUDA_ARCH__
	u16 r;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
	return r;
#else
	return (u16)narrow_f32(x, 5, 10, 1);
#endif
}
DEVICE u8 store_f8e4m3_f64(f64 x) { return (u8)narrow_f64(x, 4, 3, 0); }
DEVICE u8 store_f8e4m3_f32(f32 x) { return (u8)narrow_f32(x, 4, 3, 0); }
DEVICE u8 store_f8e5m2_f64(f64 x) { return (u8)narrow_f64(x, 5, 2, 1); }
DEVICE u8 store_f8e5m2_f32(f32 x) { return (u8)narrow_f32(x, 5, 2, 1); }
DEVICE u16 store_bf16_i64(i64 x) { return store_bf16_f64(f64_odd(x)); }
DEVICE u16 store_f16_i64(i64 x) { return store_f16_f64(f64_odd(x)); }
DEVICE u8 store_f8e4m3_i64(i64 x) { return store_f8e4m3_f64(f64_odd(x)); }
DEVICE u8 store_f8e5m2_i64(i64 x) { return store_f8e5m2_f64(f64_odd(x)); }
#define STORE_INTEGER(T, raw, low, high)                                                                     \
	DEVICE raw store_##T##_f64(f64 x) { return (raw)clamp(whole_f64(x), low, high); }                    \
	DEVICE raw store_##T##_f32(f32 x) { return (raw)clamp(whole_f64(x), low, high); }                    \
	DEVICE raw store_##T##_i64(i64 x) { return (raw)x; }
STORE_INTEGER(i64, u64, I64_MIN, I64_MAX)
STORE_INTEGER(i32, u32, -2147483647 - 1, 2147483647)
STORE_INTEGER(i16, u16, -32768, 32767)
STORE_INTEGER(i8, u8, -128, 127)
STORE_INTEGER(u8, u8, 0, 255)
DEVICE u8 store_bool_f64(f64 x) { return x != 0; }
DEVICE u8 store_bool_f32(f32 x) { return x != 0; }
DEVICE u8 store_bool_i64(i64 x) { return x != 0; }
