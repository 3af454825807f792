/* Rounding to float formats, compared with the compiler's where it has the format, and at the edges. */
#include "check.h"
#include "ref/ref_internal.h"
#include <math.h>

static double bf16(double x) /* from the bits of f32: exact for the values used here */
{
	float f = (float)x;
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	u += 0x7fff + (u >> 16 & 1);
	u &= 0xffff0000;
	memcpy(&f, &u, sizeof f);
	return f;
}

int main(void)
{
	unsigned bad = 0;
	uint64_t state = 1;
	for (int i = 0; i < 200000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		double x = ldexp((double)(int64_t)state, (int)(state >> 20 & 63) - 100);
		bad += ref_round(DTYPE_F32, x) != (double)(float)x;
		double narrow = (double)(float)x; /* the second rounding must start from f32 */
		bad += ref_round(DTYPE_BF16, narrow) != bf16(narrow);
#ifdef __FLT16_MAX__
		bad += ref_round(DTYPE_F16, x) != (double)(_Float16)x;
#endif
	}
	CHECK_EQ(bad, 0);
	CHECK(ref_round(DTYPE_F32, 0x1p-149 * 0.5) == 0);
	CHECK(ref_round(DTYPE_F32, 0x1p-149 * 0.75) == 0x1p-149);
	CHECK(ref_round(DTYPE_F16, 65519) == 65504);
	CHECK(isinf(ref_round(DTYPE_F16, 65520)));
	CHECK(ref_round(DTYPE_F8E4M3, 464) == 448);
	CHECK(isnan(ref_round(DTYPE_F8E4M3, 465)));
	CHECK(isnan(ref_round(DTYPE_F8E4M3, INFINITY)));
	CHECK(ref_round(DTYPE_F8E4M3, 0x1p-10) == 0);
	CHECK(ref_round(DTYPE_F8E4M3, 3 * 0x1p-10) == 0x1p-8);
	CHECK(ref_round(DTYPE_F8E5M2, 61439) == 57344);
	CHECK(isinf(ref_round(DTYPE_F8E5M2, -61440)));
	CHECK(ref_round(DTYPE_I8, 300) == 127);
	CHECK(ref_round(DTYPE_U8, -3) == 0);
	CHECK(ref_round(DTYPE_I32, -2.9) == -2);
	CHECK(ref_round(DTYPE_BOOL, 0.5) == 1);
	CHECK_EQ(ref_wrap(DTYPE_I8, 200), -56);
	CHECK_EQ(ref_wrap(DTYPE_U8, -1), 255);
	CHECK_EQ(ref_truncate(DTYPE_I64, 1e30), INT64_MAX);
	/* 2^53 + 1 and 2^54 - 1 are between doubles; rounding twice would give a wrong f32 */
	CHECK(ref_round_int(DTYPE_F32, (INT64_C(1) << 53) + 1) == 0x1p53);
	CHECK(ref_round_int(DTYPE_F32, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1) == 0x1p60 + 0x1p37);
	CHECK(ref_round_int(DTYPE_F64, (INT64_C(1) << 53) + 1) == 0x1p53);
	CHECK(ref_round_int(DTYPE_F64, (INT64_C(1) << 53) + 3) == 0x1p53 + 4);
	CHECK(ref_round_int(DTYPE_F64, INT64_MIN) == -0x1p63);
	CHECK(ref_round_int(DTYPE_F64, -5) == -5);
	/* sums */
	CHECK(ref_grid(0.5) == 0.5);
	CHECK(ref_grid(-3) == 1);
	CHECK(ref_grid(6) == 2);
	CHECK(ref_grid(0x1p-1074) == 0x1p-1074);
	CHECK(isinf(ref_grid(0)));
	CHECK(ref_grid(NAN) == 0);
	CHECK(ref_sum_is_exact(8, 128, 0.5));
	CHECK(!ref_sum_is_exact(8, 129, 0.5));
	return check_result();
}
