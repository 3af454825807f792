/* dtype: element types, with their spellings in both surfaces; the rows are dtypes.def's. */
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

const char *dtype_name(enum dtype t);         /* f32; of a number that is no dtype "?" */
const char *dtype_nvfuser_name(enum dtype t); /* float */
const char *dtype_torch_names(enum dtype t);  /* in traces, a blank between them; within one, | is a blank */
unsigned dtype_bytes(enum dtype t);
static inline bool dtype_is_float(enum dtype t)
{
	return DTYPE_FLOATS >> t & 1;
}
bool dtype_is_integer(enum dtype t); /* bool is none */
/* Range of an integer dtype, or of bool. */
int64_t dtype_least(enum dtype t);
int64_t dtype_most(enum dtype t);
/* The largest value of a float dtype: infinity where it has that. */
double dtype_largest(enum dtype t);
/* Every integer from 0 to this one is a value of the dtype. */
int64_t dtype_exact(enum dtype t);
/* Returns the dtype that arithmetic on a and b together is done in: f64 if one of them is f64, else f32 if
 * one is a float, else i64. */
static inline enum dtype dtype_common(enum dtype a, enum dtype b)
{
	bool is_f64 = a == DTYPE_F64 || b == DTYPE_F64;
	return is_f64 ? DTYPE_F64 : dtype_is_float(a) || dtype_is_float(b) ? DTYPE_F32 : DTYPE_I64;
}
/* The same of t alone. */
static inline enum dtype dtype_wide(enum dtype t)
{
	return dtype_common(t, t);
}
/* The dtype in which ranks keep their parts of a sum or product of dtype t that none has whole: one that
 * does not overflow before the result does. divided: the sum is that of a mean. */
enum dtype dtype_of_parts(enum dtype t, bool divided);
bool dtype_parse(const char *s, enum dtype *out);         /* concise spelling */
bool dtype_parse_nvfuser(const char *s, enum dtype *out); /* nvFuser's spelling */

#endif
