/* rows: see rows.h. The macros below make one loop for each pair of storage type and wide type. */
#include "rt/rows.h"
#include "rt/clones.h"
#include "rt/convert_bits.h"
#include <string.h>

/* two loops, so that the compiler can vectorise the dense one */
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

typedef double f64;
typedef float f32;

/* The loop of one dtype, by its class (dtypes.def). WIDE: type of the values, f32 or f64. */
#define LOAD_FLOAT(storage, ...) LOOP(const storage, out[i] = (WIDE)*e)
#define LOAD_NARROW_FLOAT(storage, name, ...) LOOP(const storage, out[i] = bits_##name##_to_f32(*e))
#define LOAD_INTEGER(storage, ...) LOOP(const storage, out[i] = (WIDE)*e)
#define LOAD_BOOL(storage, ...) LOOP(const storage, out[i] = *e != 0)

#define LOAD_I64_FLOAT(storage, ...) LOOP(const storage, out[i] = bits_f64_to_i64(*e))
#define LOAD_I64_NARROW_FLOAT(storage, name, ...)                                                            \
	LOOP(const storage, out[i] = bits_f64_to_i64(bits_##name##_to_f32(*e)))
#define LOAD_I64_INTEGER(storage, ...) LOOP(const storage, out[i] = *e)
#define LOAD_I64_BOOL(storage, ...) LOOP(const storage, out[i] = *e != 0)

#define ROUND(wide, name, x) ROUND_(wide, name, x)
#define ROUND_(wide, name, x) bits_##wide##_to_##name(x)
#define STORE_FLOAT(storage, ...) LOOP(storage, *e = (storage)in[i])
#define STORE_NARROW_FLOAT(storage, name, ...) LOOP(storage, *e = ROUND(WIDE, name, in[i]))
#define STORE_INTEGER(storage, name, least, most)                                                            \
	LOOP(storage, *e = (storage)bits_clamp(bits_f64_to_i64(in[i]), least, most))
#define STORE_BOOL(storage, ...) LOOP(storage, *e = in[i] != 0)

#define STORE_I64_FLOAT(storage, ...) LOOP(storage, *e = (storage)in[i])
#define STORE_I64_NARROW_FLOAT(storage, name, ...)                                                           \
	LOOP(storage, *e = bits_f64_to_##name(bits_i64_to_f64_odd(in[i])))
#define STORE_I64_INTEGER(storage, ...) LOOP(storage, *e = (storage)in[i])
#define STORE_I64_BOOL(storage, ...) LOOP(storage, *e = in[i] != 0)

RT_CLONES void rt_row_load_f64(enum dtype t, const void *at, int64_t stride, double *out, size_t n)
{
	switch (t) {
#define WIDE f64
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, ...)                                    \
	case DTYPE_##id:                                                                                     \
		LOAD_##class(storage, hir, least, most);
#include "base/dtypes.def"
#undef DTYPE
#undef WIDE
	case DTYPE_COUNT:
		break;
	}
}

RT_CLONES void rt_row_load_f32(enum dtype t, const void *at, int64_t stride, float *out, size_t n)
{
	switch (t) {
#define WIDE f32
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, ...)                                    \
	case DTYPE_##id:                                                                                     \
		LOAD_##class(storage, hir, least, most);
#include "base/dtypes.def"
#undef DTYPE
#undef WIDE
	case DTYPE_COUNT:
		break;
	}
}

RT_CLONES void rt_row_load_i64(enum dtype t, const void *at, int64_t stride, int64_t *out, size_t n)
{
	switch (t) {
#define WIDE i64
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, ...)                                    \
	case DTYPE_##id:                                                                                     \
		LOAD_I64_##class(storage, hir, least, most);
#include "base/dtypes.def"
#undef DTYPE
#undef WIDE
	case DTYPE_COUNT:
		break;
	}
}

RT_CLONES void rt_row_store_f64(enum dtype t, void *at, int64_t stride, const double *in, size_t n)
{
	switch (t) {
#define WIDE f64
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, ...)                                    \
	case DTYPE_##id:                                                                                     \
		STORE_##class(storage, hir, least, most);
#include "base/dtypes.def"
#undef DTYPE
#undef WIDE
	case DTYPE_COUNT:
		break;
	}
}

RT_CLONES void rt_row_store_f32(enum dtype t, void *at, int64_t stride, const float *in, size_t n)
{
	switch (t) {
#define WIDE f32
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, ...)                                    \
	case DTYPE_##id:                                                                                     \
		STORE_##class(storage, hir, least, most);
#include "base/dtypes.def"
#undef DTYPE
#undef WIDE
	case DTYPE_COUNT:
		break;
	}
}

RT_CLONES void rt_row_store_i64(enum dtype t, void *at, int64_t stride, const int64_t *in, size_t n)
{
	switch (t) {
#define WIDE i64
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, ...)                                    \
	case DTYPE_##id:                                                                                     \
		STORE_I64_##class(storage, hir, least, most);
#include "base/dtypes.def"
#undef DTYPE
#undef WIDE
	case DTYPE_COUNT:
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
