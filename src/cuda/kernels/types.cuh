/* types: numbers, their bits and their largest values; DEVICE functions and LOOP, an unrolled loop. First of
 * the prelude, see kernel_prelude.c. */

/* types and conversions */
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#ifdef HIRC_HOST
#define DEVICE static inline
#define LOOP(i, n) for (int i = 0; i < (n); i++)
/* what F(name) of base/pointwise.def may name */
f64 acos(f64), acosh(f64), asin(f64), asinh(f64), atan(f64), atanh(f64), cbrt(f64), ceil(f64), copysign(f64, f64), cos(f64), cosh(f64), erf(f64), erfc(f64);
f64 exp(f64), exp2(f64), expm1(f64), fabs(f64), floor(f64), lgamma(f64), log(f64), log10(f64), log1p(f64), log2(f64);
f64 rint(f64), sin(f64), sinh(f64), sqrt(f64), tan(f64), tanh(f64), trunc(f64);
f64 atan2(f64, f64), fma(f64, f64, f64), fmod(f64, f64), hypot(f64, f64), nextafter(f64, f64), pow(f64, f64);
f32 acosf(f32), acoshf(f32), asinf(f32), asinhf(f32), atanf(f32), atanhf(f32), cbrtf(f32), ceilf(f32), cosf(f32), coshf(f32), erff(f32), erfcf(f32);
f32 expf(f32), exp2f(f32), expm1f(f32), fabsf(f32), floorf(f32), lgammaf(f32), logf(f32), log10f(f32), log1pf(f32),
    log2f(f32);
f32 rintf(f32), sinf(f32), sinhf(f32), sqrtf(f32), tanf(f32), tanhf(f32), truncf(f32);
f32 atan2f(f32, f32), fmaf(f32, f32, f32), fmodf(f32, f32), hypotf(f32, f32), nextafterf(f32, f32), powf(f32, f32);
DEVICE u32 bits_f32(f32 x)
{
	u32 u;
	__builtin_memcpy(&u, &x, 4);
	return u;
}
DEVICE u64 bits_f64(f64 x)
{
	u64 u;
	__builtin_memcpy(&u, &x, 8);
	return u;
}
DEVICE f32 f32_of_bits(u32 u)
{
	f32 x;
	__builtin_memcpy(&x, &u, 4);
	return x;
}
DEVICE f64 f64_of_bits(u64 u)
{
	f64 x;
	__builtin_memcpy(&x, &u, 8);
	return x;
}
#else
#define DEVICE static __device__ __forceinline__
#define LOOP(i, n) _Pragma("unroll") for (int i = 0; i < (n); i++)
DEVICE u32 bits_f32(f32 x) { return __float_as_uint(x); }
DEVICE u64 bits_f64(f64 x) { return (u64)__double_as_longlong(x); }
DEVICE f32 f32_of_bits(u32 u) { return __uint_as_float(u); }
DEVICE f64 f64_of_bits(u64 u) { return __longlong_as_double((i64)u); }
#endif
#define I64_MIN (-9223372036854775807LL - 1)
#define I64_MAX 9223372036854775807LL
#define NAN_F32 f32_of_bits(0x7fc00000u)
#define NAN_F64 f64_of_bits(0x7ff8000000000000ull)
#define INF_F32 f32_of_bits(0x7f800000u)
#define INF_F64 f64_of_bits(0x7ff0000000000000ull)
