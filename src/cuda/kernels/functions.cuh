/* functions: the functions that float expressions of base/pointwise.def call. F(name) is CUDA's function for
 * the type, OF(name) one of these. After them come the functions of that table's rows, once for each type. */

/* Functions named _near compute in f32 for a result of 16 bits or fewer: with errors below 2^-16 of the value, and in
 * a third of the instructions. */

#define exp_of_f32(a) expf(a)
#define exp_of_f64(a) exp(a)
#define quotient_f32(a, b) ((a) / (b))
#define quotient_f64(a, b) ((a) / (b))
#ifdef HIRC_HOST
#define inverse_erf_f32(a) ((f32)inverse_erf(a))
#define inverse_erf_f64(a) inverse_erf(a)
#define inverse_erfc_f32(a) ((f32)inverse_erfc(a))
#define inverse_erfc_f64(a) inverse_erfc(a)
#define exp_of_near(a) expf(a)
#define quotient_near(a, b) ((a) / (b))
DEVICE f64 normal_f64(f64 x) { return 0.5 * erfc(x * -0.70710678118654752440); }
DEVICE f32 normal_f32(f32 x) { return (f32)normal_f64(x); }
#else
#define inverse_erf_f32(a) erfinvf(a)
#define inverse_erf_f64(a) erfinv(a)
#define inverse_erfc_f32(a) erfcinvf(a)
#define inverse_erfc_f64(a) erfcinv(a)
#define exp_of_near(a) __expf(a)
#define quotient_near(a, b) __fdividef(a, b) /* 0 for b above 2^126 */
#define normal_f64(x) normcdf(x)
#define normal_f32(x) normcdff(x)
#endif
#define inverse_erf_near(a) inverse_erf_f32(a)
#define inverse_erfc_near(a) inverse_erfc_f32(a)
/* Phi(-|x|) = exp(-x * x / 2) * p(t), t = 1 / (1 + 0.3075 * |x|). The polynomial p is fitted to the least relative
 * error, 4.2e-6. */
DEVICE f32 normal_near(f32 x)
{
	f32 t = quotient_near(1.0f, fmaf(0.3075f, fabsf(x), 1.0f));
	f32 p = fmaf(-0.07553673769f, t, 0.1911864882f);
	p = fmaf(p, t, 0.005904965626f);
	p = fmaf(p, t, 0.1369358570f);
	p = fmaf(p, t, 0.1185782730f);
	p = fmaf(p, t, 0.1229306421f);
	p = p * t * exp_of_near(x * x * -0.5f);
	return x > 0 ? 1 - p : p;
}
#define HELPERS(N, T, f)                                                                                     \
	/* gives the remainder m of a division by b the sign of b */                                         \
	DEVICE T modulo_##N(T m, T b) { return m != 0 && (m < 0) != (b < 0) ? m + b : m; }                   \
	/* x, and a large number for -inf: its product with 0 is -0, not NaN */                              \
	DEVICE T bounded_##N(T a) { return a < (T)-1e30 ? (T)-1e30 : a; }                                    \
	/* x * sigmoid(a). Half of a, since exp(-|a|) may be too small where the result is not */            \
	DEVICE T weighted_##N(T x, T a)                                                                      \
	{                                                                                                    \
		T e = exp_of_##N((T)-0.5 * fabs##f(a));                                                      \
		return quotient_##N((a < 0 ? x * e * e : x), (1 + e * e));                                   \
	}                                                                                                    \
	DEVICE T tanh_gelu_##N(T a)                                                                          \
	{                                                                                                    \
		a = bounded_##N(a);                                                                          \
		return weighted_##N(a, (T)1.59576912160573071176 * (a + (T)0.044715 * a * a * a));           \
	}
HELPERS(f32, f32, f)
HELPERS(f64, f64, )
HELPERS(near, f32, f)
#define MOD(a, b) OF(modulo)(F(fmod)(a, b), b)
#define POW(a, b) F(pow)(a, b)
#define EXP(a) OF(exp_of)(a)
#define LOG(a) F(log)(a)
#define SIN(a) F(sin)(a)
#define COS(a) F(cos)(a)
#define TANH(a) F(tanh)(a)
#define ERFINV(a) OF(inverse_erf)(a)
#define ERFCINV(a) OF(inverse_erfc)(a)
#define LGAMMA(a) F(lgamma)(a)
#define GELU(a) (OF(bounded)(a) * OF(normal)(a))
#define GELU_TANH(a) OF(tanh_gelu)(a)
#define SILU(a) OF(weighted)(OF(bounded)(a), a)
#define SIGMOID(a) OF(weighted)(1, a)
