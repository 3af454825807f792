/* dtype: the table of dtype.h as functions. */
#include "ir/dtype.h"
#include <string.h>

static const struct {
	const char *name, *nvfuser;
	unsigned bytes;
	bool is_float;
} dtypes[DTYPE_COUNT] = {
#define DTYPE_ROW(id, concise, nvfuser, bytes, is_float) {concise, nvfuser, bytes, is_float},
    DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *dtype_name(enum dtype t)
{
	return dtypes[t].name;
}

const char *dtype_nvfuser_name(enum dtype t)
{
	return dtypes[t].nvfuser;
}

unsigned dtype_bytes(enum dtype t)
{
	return dtypes[t].bytes;
}

bool dtype_is_float(enum dtype t)
{
	return dtypes[t].is_float;
}

bool dtype_is_integer(enum dtype t)
{
	return !dtypes[t].is_float && t != DTYPE_BOOL;
}

enum dtype dtype_wide(enum dtype t)
{
	return t == DTYPE_F64 ? DTYPE_F64 : dtypes[t].is_float ? DTYPE_F32 : DTYPE_I64;
}

enum dtype dtype_of_parts(enum dtype t, bool divided)
{
	bool has_range = t == DTYPE_F64 || t == DTYPE_F32 || t == DTYPE_BF16 || !dtypes[t].is_float;
	bool wide = divided ? t != DTYPE_BOOL : !has_range; /* a mean of bool is no division */
	return wide ? dtype_wide(t) : t;
}

bool dtype_parse(const char *s, enum dtype *out)
{
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (!strcmp(s, dtypes[t].name)) {
			*out = (enum dtype)t;
			return true;
		}
	return false;
}

bool dtype_parse_nvfuser(const char *s, enum dtype *out)
{
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (!strcmp(s, dtypes[t].nvfuser)) {
			*out = (enum dtype)t;
			return true;
		}
	return false;
}
