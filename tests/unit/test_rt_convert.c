/* LABELS: tsan
 * Conversions against brute force: every small float against the nearest of all its kind. */
#include "check.h"
#include "rt/convert.h"
#include "rt/convert_bits.h"
#include <math.h>
#include <stdlib.h>

static double value(enum dtype t, uint32_t bits)
{
	uint16_t b16 = (uint16_t)bits;
	uint8_t b8 = (uint8_t)bits;
	return rt_load_f64(t, dtype_bytes(t) == 2 ? (void *)&b16 : (void *)&b8);
}

static uint32_t stored(enum dtype t, double x)
{
	uint16_t b16 = 0;
	uint8_t b8 = 0;
	rt_store_f64(t, dtype_bytes(t) == 2 ? (void *)&b16 : (void *)&b8, x);
	return dtype_bytes(t) == 2 ? b16 : b8;
}

struct format {
	enum dtype t;
	int sign_bit;
	uint32_t largest; /* bits of the largest finite value */
	uint32_t overflow, nan;
};

static const struct format formats[] = {
    {DTYPE_BF16, 15, 0x7f7f, 0x7f80, 0x7fc0},
    {DTYPE_F16, 15, 0x7bff, 0x7c00, 0x7e00},
    {DTYPE_F8E4M3, 7, 0x7e, 0x7f, 0x7f},
    {DTYPE_F8E5M2, 7, 0x7b, 0x7c, 0x7e},
};

/* Checks values between neighbours, and ties. */
static void check_rounding(const struct format *f)
{
	for (uint32_t b = 0; b < f->largest; b++) {
		double low = value(f->t, b), high = value(f->t, b + 1), middle = (low + high) / 2;
		CHECK(low < high);
		CHECK_EQ(stored(f->t, low), b);
		CHECK_EQ(stored(f->t, nextafter(middle, 0)), b);
		CHECK_EQ(stored(f->t, middle), b & 1 ? b + 1 : b);
		CHECK_EQ(stored(f->t, nextafter(middle, INFINITY)), b + 1);
		CHECK_EQ(stored(f->t, -middle), (b & 1 ? b + 1 : b) | 1u << f->sign_bit);
	}
	double top = value(f->t, f->largest), step = top - value(f->t, f->largest - 1);
	CHECK_EQ(stored(f->t, nextafter(top + step / 2, 0)), f->largest);
	CHECK_EQ(stored(f->t, nextafter(top + step / 2, INFINITY)), f->overflow);
	CHECK_EQ(stored(f->t, INFINITY), f->overflow);
	CHECK_EQ(stored(f->t, 1e300), f->overflow);
	CHECK_EQ(stored(f->t, NAN) & ~(1u << f->sign_bit), f->nan);
	CHECK(isnan(value(f->t, f->nan)));
	CHECK_EQ(stored(f->t, -0.0), 1u << f->sign_bit);
	CHECK_EQ(stored(f->t, 5e-324), 0);
}

static void check_from_f32(void)
{
	srand(1);
	for (int i = 0; i < 1000000; i++) {
		uint32_t u = (uint32_t)rand() << 16 ^ (uint32_t)rand();
		float x;
		memcpy(&x, &u, 4);
		if (isnan(x)) {
			CHECK(isnan(bits_bf16_to_f32(bits_f32_to_bf16(x))));
			continue;
		}
		if (bits_f32_to_bf16(x) != stored(DTYPE_BF16, x) ||
		    bits_f32_to_f16(x) != stored(DTYPE_F16, x))
			CHECK_EQ(bits_f32_to_bf16(x), stored(DTYPE_BF16, x));
	}
	CHECK(isnan(bits_bf16_to_f32(bits_f32_to_bf16(NAN))));
	uint32_t low_nan = 0x7f800001; /* must not become inf */
	float x;
	memcpy(&x, &low_nan, 4);
	CHECK(isnan(bits_bf16_to_f32(bits_f32_to_bf16(x))));
	CHECK(isinf(bits_bf16_to_f32(bits_f32_to_bf16(3.4e38f))));
	CHECK(bits_f16_to_f32(0x0001) == 0x1p-24f && bits_f16_to_f32(0x3c00) == 1 &&
	      isinf(bits_f16_to_f32(0xfc00)));
	CHECK(bits_f8e4m3_to_f32(0x7e) == 448 && bits_f8e5m2_to_f32(0x7b) == 57344 &&
	      bits_f8e4m3_to_f32(1) == 0x1p-9f);
}

static void check_integers(void)
{
	int8_t i8;
	uint8_t u8;
	int32_t i32;
	int64_t i64;
	uint16_t bf16;
	float f32;
	rt_store_f64(DTYPE_I8, &i8, -3.9);
	CHECK_EQ(i8, -3);
	rt_store_f64(DTYPE_I8, &i8, 1000);
	CHECK_EQ(i8, 127);
	rt_store_f64(DTYPE_U8, &u8, -1);
	CHECK_EQ(u8, 0);
	rt_store_f64(DTYPE_I32, &i32, -1e20);
	CHECK_EQ(i32, INT32_MIN);
	rt_store_f64(DTYPE_I64, &i64, NAN);
	CHECK_EQ(i64, 0);
	rt_store_f64(DTYPE_I64, &i64, 1e19);
	CHECK_EQ(i64, INT64_MAX);
	rt_store_f64(DTYPE_BOOL, &u8, NAN);
	CHECK_EQ(u8, 1);
	rt_store_i64(DTYPE_I8, &i8, 300);
	CHECK_EQ(i8, 44);
	rt_store_i64(DTYPE_BOOL, &u8, 256);
	CHECK_EQ(u8, 1);
	/* Rounded once: 2^62 + 2^54 + 1 is above the middle of two bf16; as f64 it would be the middle. */
	rt_store_i64(DTYPE_BF16, &bf16, ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1);
	CHECK(bits_bf16_to_f32(bf16) == 0x1p62f + 0x1p55f);
	rt_store_i64(DTYPE_BF16, &bf16, -(((int64_t)1 << 62) + ((int64_t)1 << 54)));
	CHECK(bits_bf16_to_f32(bf16) == -0x1p62f);
	rt_store_i64(DTYPE_F32, &f32, ((int64_t)1 << 24) + 1);
	CHECK(f32 == 0x1p24f);
	CHECK_EQ(rt_load_i64(DTYPE_F32, &f32), 1 << 24);
	/* f64 to bf16 directly: through f32 this would be a tie, and round down. */
	rt_store_f64(DTYPE_BF16, &bf16, 1 + 0x1p-8 + 0x1p-40);
	CHECK(bits_bf16_to_f32(bf16) == 1 + 0x1p-7f);
}

static void check_arrays(void)
{
	enum { N = 1000 };
	static double in[N], back[N];
	static uint64_t raw[N];
	for (int i = 0; i < N; i++)
		in[i] = i % 100;
	for (int t = 0; t < DTYPE_COUNT; t++) {
		rt_convert(t, raw, DTYPE_F64, in, N);
		rt_convert(DTYPE_F64, back, t, raw, N);
		for (int i = 0; i < N; i++) {
			double want = t == DTYPE_BOOL ? in[i] != 0 : in[i];
			double slack = t == DTYPE_F8E4M3 ? want / 16 : t == DTYPE_F8E5M2 ? want / 8 : 0;
			if (fabs(back[i] - want) > slack)
				CHECK(!"conversion of an array");
		}
	}
}

static void check_reductions(void)
{
	float a[3] = {1, NAN, -2}, b[3] = {2, 5, NAN}, out[3];
	const void *in[] = {a, b};
	rt_reduce_arrays(REDUCE_MAX, DTYPE_F32, out, in, 2, 3);
	CHECK(out[0] == 2 && isnan(out[1]) && isnan(out[2]));
	rt_reduce_arrays(REDUCE_MIN, DTYPE_F32, out, in, 2, 3);
	CHECK(out[0] == 1 && isnan(out[1]) && isnan(out[2]));
	/* 256 + 1 + 1: rounding each step to bf16 would stay at 256. */
	uint16_t x = bits_f32_to_bf16(256), y = bits_f32_to_bf16(1), z;
	const void *small[] = {&x, &y, &y};
	rt_reduce_arrays(REDUCE_SUM, DTYPE_BF16, &z, small, 3, 1);
	CHECK(bits_bf16_to_f32(z) == 258);
	int32_t i = -7, j = 2, k;
	const void *ints[] = {&i, &j};
	rt_reduce_arrays(REDUCE_AVG, DTYPE_I32, &k, ints, 2, 1);
	CHECK_EQ(k, -2);
	uint8_t t = 1, f = 0, r;
	const void *bools[] = {&t, &f};
	rt_reduce_arrays(REDUCE_SUM, DTYPE_BOOL, &r, bools, 2, 1);
	CHECK_EQ(r, 1);
	rt_reduce_arrays(REDUCE_MIN, DTYPE_BOOL, &r, bools, 2, 1);
	CHECK_EQ(r, 0);
}

/* Returns element i of array k: sums of floats depend on the order, those of integers wrap. */
static void term(enum dtype t, int k, int i, void *at)
{
	uint32_t x = (uint32_t)(k * 7919 + i + 1) * 2654435761u;
	if (t == DTYPE_F32)
		*(float *)at = (float)(x % 1000) * (k % 3 ? 1e-3f : 1e6f);
	else if (t == DTYPE_F64)
		*(double *)at = (double)(x % 1000) * (k % 3 ? 1e-12 : 1e6);
	else if (t == DTYPE_I32)
		*(int32_t *)at = (int32_t)x;
	else
		*(int64_t *)at = (int64_t)(x * 0x1234567898765ull);
}

static void add(enum dtype t, void *sum, const void *x)
{
	if (t == DTYPE_F32)
		*(float *)sum += *(const float *)x;
	else if (t == DTYPE_F64)
		*(double *)sum += *(const double *)x;
	else if (t == DTYPE_I32)
		*(uint32_t *)sum += *(const uint32_t *)x;
	else
		*(uint64_t *)sum += *(const uint64_t *)x;
}

/* Sums of 1 to 11 arrays in order, into each of them or into another array. */
static void check_sums(void)
{
	enum { MOST = 11, N = 5003 };
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64};
	static _Alignas(8) char array[MOST + 1][N * 8];
	for (size_t v = 0; v < sizeof types / sizeof *types; v++)
		for (int count = 1; count <= MOST; count++)
			for (int to = 0; to <= count; to++) {
				enum dtype t = types[v];
				size_t size = dtype_bytes(t);
				const void *in[MOST];
				int wrong = 0;
				for (int k = 0; k < count; k++) {
					in[k] = array[k];
					for (int i = 0; i < N; i++)
						term(t, k, i, array[k] + (size_t)i * size);
				}
				char *out = to < count ? array[to] : array[MOST];
				rt_reduce_arrays(REDUCE_SUM, t, out, in, count, N);
				for (int i = 0; i < N; i++) {
					char want[8], x[8];
					term(t, 0, i, want);
					for (int k = 1; k < count; k++) {
						term(t, k, i, x);
						add(t, want, x);
					}
					wrong += memcmp(out + (size_t)i * size, want, size) != 0;
				}
				CHECK_EQ(wrong, 0);
			}
}

int main(void)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		check_rounding(&formats[i]);
	check_from_f32();
	check_integers();
	check_arrays();
	check_reductions();
	check_sums();
	CHECK_STR(dtype_name(DTYPE_F8E4M3), "f8e4m3");
	return check_result();
}
