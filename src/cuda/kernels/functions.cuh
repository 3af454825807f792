/* functions: the functions that float expressions of base/pointwise.def call. F(name) is CUDA's function for
 * the type, OF(name) one of these. After them come the functions of that table's rows, once for each type. */

#ifdef HIRC_HOST
DEVICE f64 normal_f64(f64 x) { return 0.5 * erfc(x * -0.70710678118654752440); }
DEVICE f32 normal_f32(f32 x) { return (f32)normal_f64(x); }
#else
#define normal_f64(x) normcdf(x)
#define normal_f32(x) normcdff(x)
#endif
#define HELPERS(T, f)                                                                                        \
	/* gives the remainder m of a division by b the sign of b */                                         \
	DEVICE T modulo_##T(T m, T b) { return m != 0 && (m < 0) != (b < 0) ? m + b : m; }                   \
	/* x, and a large number for -inf: its product with 0 is -0, not NaN */                              \
	DEVICE T bounded_##T(T a) { return a < (T)-1e30 ? (T)-1e30 : a; }                                    \
	/* x * sigmoid(a). Half of a, since exp(-|a|) may be too small where the result is not */            \
	DEVICE T weighted_##T(T x, T a)                                                                      \
	{                                                                                                    \
		T e = exp##f((T)-0.5 * fabs##f(a));                                                          \
		return (a < 0 ? x * e * e : x) / (1 + e * e);                                                \
	}                                                                                                    \
	DEVICE T near_gelu_##T(T a)                                                                          \
	{                                                                                                    \
		a = bounded_##T(a);                                                                          \
		return weighted_##T(a, (T)1.59576912160573071176 * (a + (T)0.044715 * a * a * a));           \
	}
HELPERS(f32, f)
HELPERS(f64, )
#define MOD(a, b) OF(modulo)(F(fmod)(a, b), b)
#define POW(a, b) F(pow)(a, b)
#define EXP(a) F(exp)(a)
#define LOG(a) F(log)(a)
#define SIN(a) F(sin)(a)
#define COS(a) F(cos)(a)
#define TANH(a) F(tanh)(a)
#define GELU(a) (OF(bounded)(a) * OF(normal)(a))
#define GELU_TANH(a) OF(near_gelu)(a)
#define SILU(a) OF(weighted)(OF(bounded)(a), a)
#define SIGMOID(a) OF(weighted)(1, a)
