/* functions: the pointwise operations of RT_POINTWISE_OPS by name and wide type. Last of the prelude. */

/* functions of the pointwise operations, each for the wide types that it has */
#ifdef HIRC_HOST
DEVICE f64 normal_f64(f64 x) { return 0.5 * erfc(x * -0.70710678118654752440); }
DEVICE f32 normal_f32(f32 x) { return (f32)normal_f64(x); }
#else
#define normal_f64(x) normcdf(x)
#define normal_f32(x) normcdff(x)
#endif
#define REALS(T, f)                                                                                          \
	DEVICE T add_##T(T a, T b) { return a + b; }                                                         \
	DEVICE T sub_##T(T a, T b) { return a - b; }                                                         \
	DEVICE T mul_##T(T a, T b) { return a * b; }                                                         \
	DEVICE T div_##T(T a, T b) { return a / b; }                                                         \
	DEVICE T mod_##T(T a, T b)                                                                           \
	{                                                                                                    \
		T m = fmod##f(a, b);                                                                         \
		return m != 0 && (m < 0) != (b < 0) ? m + b : m;                                             \
	}                                                                                                    \
	DEVICE T neg_##T(T a) { return -a; }                                                                 \
	DEVICE T abs_##T(T a) { return fabs##f(a); }                                                         \
	DEVICE T exp_##T(T a) { return exp##f(a); }                                                          \
	DEVICE T log_##T(T a) { return log##f(a); }                                                          \
	DEVICE T sqrt_##T(T a) { return sqrt##f(a); }                                                        \
	DEVICE T rsqrt_##T(T a) { return 1 / sqrt##f(a); }                                                   \
	DEVICE T sin_##T(T a) { return sin##f(a); }                                                          \
	DEVICE T cos_##T(T a) { return cos##f(a); }                                                          \
	DEVICE T tanh_##T(T a) { return tanh##f(a); }                                                        \
	DEVICE T relu_##T(T a) { return a > 0 || a != a ? a : 0; }                                           \
	/* x, and a large number for -inf: its product with 0 is -0, not NaN */                              \
	DEVICE T bounded_##T(T a) { return a < (T)-1e30 ? (T)-1e30 : a; }                                    \
	DEVICE T gelu_##T(T a) { return bounded_##T(a) * normal_##T(a); }                                    \
	DEVICE T gelu_tanh_##T(T a)                                                                          \
	{                                                                                                    \
		a = bounded_##T(a);                                                                          \
		return a / (1 + exp##f((T)-1.59576912160573071176 * (a + (T)0.044715 * a * a * a)));         \
	}                                                                                                    \
	DEVICE T silu_##T(T a) { return bounded_##T(a) / (1 + exp##f(-a)); }                                 \
	DEVICE T sigmoid_##T(T a) { return 1 / (1 + exp##f(-a)); }                                           \
	DEVICE T pow_##T(T a, T b) { return pow##f(a, b); }                                                  \
	DEVICE T maximum_##T(T a, T b) { return a > b || a != a ? a : b; }                                   \
	DEVICE T minimum_##T(T a, T b) { return a < b || a != a ? a : b; }
REALS(f32, f)
REALS(f64, )
DEVICE i64 add_i64(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
DEVICE i64 sub_i64(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
DEVICE i64 mul_i64(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
DEVICE i64 div_i64(const struct head *h, i64 a, i64 b)
{
	if (b == 0)
		fault(h, FAULT_DIVISION, a, 0);
	return b == 0 ? 0 : b == -1 ? (i64)(0 - (u64)a) : a / b;
}
DEVICE i64 mod_i64(const struct head *h, i64 a, i64 b)
{
	if (b == 0)
		fault(h, FAULT_DIVISION, a, 0);
	i64 m = b == 0 || b == -1 ? 0 : a % b;
	return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
DEVICE i64 neg_i64(i64 a) { return (i64)(0 - (u64)a); }
DEVICE i64 abs_i64(i64 a) { return a < 0 ? (i64)(0 - (u64)a) : a; }
DEVICE i64 relu_i64(i64 a) { return a > 0 ? a : 0; }
DEVICE i64 pow_i64(const struct head *h, i64 a, i64 b)
{
	u64 r = 1, p = (u64)a;
	if (b < 0) {
		if (a == 0)
			fault(h, FAULT_POWER, b, 0);
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	}
	for (; b > 0; b >>= 1, p *= p)
		if (b & 1)
			r *= p;
	return (i64)r;
}
DEVICE i64 maximum_i64(i64 a, i64 b) { return a > b ? a : b; }
DEVICE i64 minimum_i64(i64 a, i64 b) { return a < b ? a : b; }
DEVICE i64 bitwise_and_i64(i64 a, i64 b) { return a & b; }
DEVICE i64 bitwise_or_i64(i64 a, i64 b) { return a | b; }
DEVICE i64 bitwise_xor_i64(i64 a, i64 b) { return a ^ b; }
DEVICE i64 bitwise_not_i64(i64 a) { return ~a; }
DEVICE i64 bitwise_left_shift_i64(i64 a, i64 b) { return (u64)b < 64 ? (i64)((u64)a << b) : 0; }
DEVICE i64 bitwise_right_shift_i64(i64 a, i64 b) { return a >> ((u64)b < 64 ? b : 63); }
