/* dtype: element types, with their spellings in both surfaces. */
#ifndef HIRC_IR_DTYPE_H
#define HIRC_IR_DTYPE_H
#include <stdbool.h>

/* DTYPE(id, concise, nvFuser, bytes, is_float) */
#define DTYPE_LIST(DTYPE)                                                                                    \
	DTYPE(F64, "f64", "double", 8, true)                                                                 \
	DTYPE(F32, "f32", "float", 4, true)                                                                  \
	DTYPE(BF16, "bf16", "__bfloat", 2, true)                                                             \
	DTYPE(F16, "f16", "__half", 2, true)                                                                 \
	DTYPE(F8E4M3, "f8e4m3", "__e4m3", 1, true)                                                           \
	DTYPE(F8E5M2, "f8e5m2", "__e5m2", 1, true)                                                           \
	DTYPE(I64, "i64", "int64_t", 8, false)                                                               \
	DTYPE(I32, "i32", "int", 4, false)                                                                   \
	DTYPE(I8, "i8", "int8_t", 1, false)                                                                  \
	DTYPE(U8, "u8", "uint8_t", 1, false)                                                                 \
	DTYPE(BOOL, "bool", "bool", 1, false)

enum dtype {
#define DTYPE_ENUM(id, concise, nvfuser, bytes, is_float) DTYPE_##id,
	DTYPE_LIST(DTYPE_ENUM)
#undef DTYPE_ENUM
	    DTYPE_COUNT
};

const char *dtype_name(enum dtype t);         /* f32 */
const char *dtype_nvfuser_name(enum dtype t); /* float */
unsigned dtype_bytes(enum dtype t);
bool dtype_is_float(enum dtype t);
bool dtype_is_integer(enum dtype t); /* bool is none */
/* The dtype that arithmetic on t is done in: f64 for f64, f32 for the other floats, i64 for integers and
 * bool. */
enum dtype dtype_wide(enum dtype t);
/* The dtype in which ranks keep their parts of a sum or product of dtype t that none has whole: one that
 * does not overflow before the result does. divided: the sum is that of a mean. */
enum dtype dtype_of_parts(enum dtype t, bool divided);
bool dtype_parse(const char *s, enum dtype *out);         /* concise spelling */
bool dtype_parse_nvfuser(const char *s, enum dtype *out); /* nvFuser's spelling */

#endif
