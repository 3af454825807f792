/* rows: see rows.h. One loop for each pair of storage type and wide type, made by the macros below. */
#include "rt/rows.h"
#include "rt/clones.h"
#include "rt/dtype_bits.h"
#include <string.h>

/* Two loops, so that the compiler can vectorize the dense one. */
#define LOOP(type, body)                                                                                     \
	do {                                                                                                 \
		type *p = at;                                                                                \
		if (stride == 1)                                                                             \
			for (size_t i = 0; i < n; i++) {                                                     \
				type *e = p + i;                                                             \
				body;                                                                        \
			}                                                                                    \
		else                                                                                         \
			for (size_t i = 0; i < n; i++) {                                                     \
				type *e = p + (int64_t)i * stride;                                           \
				body;                                                                        \
			}                                                                                    \
	} while (0);                                                                                         \
	break

#define DEFINE_LOAD_FLOAT(wide, name)                                                                        \
	RT_CLONES void rt_row_load_##name(enum rt_dtype t, const void *at, int64_t stride, wide *out,        \
	                                  size_t n)                                                          \
	{                                                                                                    \
		switch (t) {                                                                                 \
		case RT_F64:                                                                                 \
			LOOP(const double, out[i] = (wide)*e);                                               \
		case RT_F32:                                                                                 \
			LOOP(const float, out[i] = *e);                                                      \
		case RT_BF16:                                                                                \
			LOOP(const uint16_t, out[i] = bits_bf16_to_f32(*e));                                 \
		case RT_F16:                                                                                 \
			LOOP(const uint16_t, out[i] = bits_f16_to_f32(*e));                                  \
		case RT_F8E4M3:                                                                              \
			LOOP(const uint8_t, out[i] = bits_f8e4m3_to_f32(*e));                                \
		case RT_F8E5M2:                                                                              \
			LOOP(const uint8_t, out[i] = bits_f8e5m2_to_f32(*e));                                \
		case RT_I64:                                                                                 \
			LOOP(const int64_t, out[i] = (wide)*e);                                              \
		case RT_I32:                                                                                 \
			LOOP(const int32_t, out[i] = (wide)*e);                                              \
		case RT_I8:                                                                                  \
			LOOP(const int8_t, out[i] = *e);                                                     \
		case RT_U8:                                                                                  \
			LOOP(const uint8_t, out[i] = *e);                                                    \
		case RT_BOOL:                                                                                \
			LOOP(const uint8_t, out[i] = *e != 0);                                               \
		case RT_DTYPE_COUNT:                                                                         \
			break;                                                                               \
		}                                                                                            \
	}

DEFINE_LOAD_FLOAT(double, f64)
DEFINE_LOAD_FLOAT(float, f32)

RT_CLONES void rt_row_load_i64(enum rt_dtype t, const void *at, int64_t stride, int64_t *out, size_t n)
{
	switch (t) {
	case RT_F64:
		LOOP(const double, out[i] = bits_f64_to_i64(*e));
	case RT_F32:
		LOOP(const float, out[i] = bits_f64_to_i64(*e));
	case RT_BF16:
		LOOP(const uint16_t, out[i] = bits_f64_to_i64(bits_bf16_to_f32(*e)));
	case RT_F16:
		LOOP(const uint16_t, out[i] = bits_f64_to_i64(bits_f16_to_f32(*e)));
	case RT_F8E4M3:
		LOOP(const uint8_t, out[i] = bits_f64_to_i64(bits_f8e4m3_to_f32(*e)));
	case RT_F8E5M2:
		LOOP(const uint8_t, out[i] = bits_f64_to_i64(bits_f8e5m2_to_f32(*e)));
	case RT_I64:
		LOOP(const int64_t, out[i] = *e);
	case RT_I32:
		LOOP(const int32_t, out[i] = *e);
	case RT_I8:
		LOOP(const int8_t, out[i] = *e);
	case RT_U8:
		LOOP(const uint8_t, out[i] = *e);
	case RT_BOOL:
		LOOP(const uint8_t, out[i] = *e != 0);
	case RT_DTYPE_COUNT:
		break;
	}
}

#define DEFINE_STORE_FLOAT(wide, name)                                                                       \
	RT_CLONES void rt_row_store_##name(enum rt_dtype t, void *at, int64_t stride, const wide *in,        \
	                                   size_t n)                                                         \
	{                                                                                                    \
		switch (t) {                                                                                 \
		case RT_F64:                                                                                 \
			LOOP(double, *e = in[i]);                                                            \
		case RT_F32:                                                                                 \
			LOOP(float, *e = (float)in[i]);                                                      \
		case RT_BF16:                                                                                \
			LOOP(uint16_t, *e = bits_##name##_to_bf16(in[i]));                                   \
		case RT_F16:                                                                                 \
			LOOP(uint16_t, *e = bits_##name##_to_f16(in[i]));                                    \
		case RT_F8E4M3:                                                                              \
			LOOP(uint8_t, *e = bits_f64_to_f8e4m3(in[i]));                                       \
		case RT_F8E5M2:                                                                              \
			LOOP(uint8_t, *e = bits_f64_to_f8e5m2(in[i]));                                       \
		case RT_I64:                                                                                 \
			LOOP(int64_t, *e = bits_f64_to_i64(in[i]));                                          \
		case RT_I32:                                                                                 \
			LOOP(int32_t,                                                                        \
			     *e = (int32_t)bits_clamp(bits_f64_to_i64(in[i]), INT32_MIN, INT32_MAX));        \
		case RT_I8:                                                                                  \
			LOOP(int8_t, *e = (int8_t)bits_clamp(bits_f64_to_i64(in[i]), INT8_MIN, INT8_MAX));   \
		case RT_U8:                                                                                  \
			LOOP(uint8_t, *e = (uint8_t)bits_clamp(bits_f64_to_i64(in[i]), 0, UINT8_MAX));       \
		case RT_BOOL:                                                                                \
			LOOP(uint8_t, *e = in[i] != 0);                                                      \
		case RT_DTYPE_COUNT:                                                                         \
			break;                                                                               \
		}                                                                                            \
	}

DEFINE_STORE_FLOAT(double, f64)
DEFINE_STORE_FLOAT(float, f32)

RT_CLONES void rt_row_store_i64(enum rt_dtype t, void *at, int64_t stride, const int64_t *in, size_t n)
{
	switch (t) {
	case RT_F64:
		LOOP(double, *e = (double)in[i]);
	case RT_F32:
		LOOP(float, *e = (float)in[i]);
	case RT_BF16:
		LOOP(uint16_t, *e = bits_f64_to_bf16(bits_i64_to_f64_odd(in[i])));
	case RT_F16:
		LOOP(uint16_t, *e = bits_f64_to_f16(bits_i64_to_f64_odd(in[i])));
	case RT_F8E4M3:
		LOOP(uint8_t, *e = bits_f64_to_f8e4m3(bits_i64_to_f64_odd(in[i])));
	case RT_F8E5M2:
		LOOP(uint8_t, *e = bits_f64_to_f8e5m2(bits_i64_to_f64_odd(in[i])));
	case RT_I64:
		LOOP(int64_t, *e = in[i]);
	case RT_I32:
		LOOP(int32_t, *e = (int32_t)in[i]);
	case RT_I8:
		LOOP(int8_t, *e = (int8_t)in[i]);
	case RT_U8:
		LOOP(uint8_t, *e = (uint8_t)in[i]);
	case RT_BOOL:
		LOOP(uint8_t, *e = in[i] != 0);
	case RT_DTYPE_COUNT:
		break;
	}
}

#define COPY(type)                                                                                           \
	do {                                                                                                 \
		type *d = dst;                                                                               \
		const type *s = src;                                                                         \
		for (size_t i = 0; i < n; i++)                                                               \
			d[(int64_t)i * dst_stride] = s[(int64_t)i * src_stride];                             \
	} while (0);                                                                                         \
	break

void rt_row_copy(size_t size, void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n)
{
	if (dst_stride == 1 && src_stride == 1) {
		memmove(dst, src, n * size);
		return;
	}
	switch (size) {
	case 1:
		COPY(uint8_t);
	case 2:
		COPY(uint16_t);
	case 4:
		COPY(uint32_t);
	case 8:
		COPY(uint64_t);
	}
}
