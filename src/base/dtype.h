/* dtype: element types, with their names in both surfaces; the table is dtypes.def. */
#ifndef HIRC_BASE_DTYPE_H
#define HIRC_BASE_DTYPE_H
#include <stdbool.h>
#include <stdint.h>

enum dtype {
#define DTYPE(id, ...) DTYPE_##id,
#include "base/dtypes.def"
#undef DTYPE
	DTYPE_COUNT
};

enum {
	DTYPE_FLOATS = 0 /* a bit for each dtype that is a float */
#define DTYPE(id, hir, nvfuser, class, storage, digits, ...) | (digits > 0) << DTYPE_##id
#include "base/dtypes.def"
#undef DTYPE
};

const char *dtype_name(enum dtype t);         /* f32; "?": t is no dtype */
const char *dtype_nvfuser_name(enum dtype t); /* float */
const char *dtype_torch_names(enum dtype t);  /* blanks between names; in a name, | stands for a blank */
unsigned dtype_bytes(enum dtype t);
static inline bool dtype_is_float(enum dtype t)
{
	return DTYPE_FLOATS >> t & 1;
}
bool dtype_is_integer(enum dtype t); /* false for bool */
/* Return the range of an integer dtype, or of bool. */
int64_t dtype_least(enum dtype t);
int64_t dtype_most(enum dtype t);
/* Returns the largest value of a float dtype: infinity, if the dtype has one. */
double dtype_largest(enum dtype t);
/* Returns the largest n for which the dtype can represent every integer from 0 to n. */
int64_t dtype_exact(enum dtype t);
/* Returns the dtype in which arithmetic on a and b is done: f64 if one of them is f64, else f32 if one of
 * them is a float, else i64. */
static inline enum dtype dtype_common(enum dtype a, enum dtype b)
{
	bool is_f64 = a == DTYPE_F64 || b == DTYPE_F64;
	return is_f64 ? DTYPE_F64 : dtype_is_float(a) || dtype_is_float(b) ? DTYPE_F32 : DTYPE_I64;
}
/* Returns the dtype in which arithmetic on t alone is done. */
static inline enum dtype dtype_wide(enum dtype t)
{
	return dtype_common(t, t);
}
/* Returns the dtype in which ranks keep their partial sums or products of a result of dtype t: a partial
 * value must not overflow before the result does. divided: the sum is divided for a mean. */
enum dtype dtype_of_parts(enum dtype t, bool divided);
bool dtype_parse(const char *s, enum dtype *out);         /* the name in the concise surface */
bool dtype_parse_nvfuser(const char *s, enum dtype *out); /* nvFuser's name */

#endif
