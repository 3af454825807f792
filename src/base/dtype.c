/* dtype: see dtype.h. */
#include "base/dtype.h"
#include <math.h>
#include <string.h>

enum dtype_class { FLOAT, NARROW_FLOAT, INTEGER, BOOL };

static const struct {
	const char *name, *nvfuser, *torch;
	int64_t least, most;
	uint8_t bytes, digits, class;
} dtypes[DTYPE_COUNT] = {
#define DTYPE(id, hir, nvfuser, class, storage, digits, least, most, numpy_kind, numpy_descr, numpy, torch)  \
	[DTYPE_##id] = {#hir, nvfuser, torch, least, most, sizeof(storage), digits, class},
#include "base/dtypes.def"
#undef DTYPE
};

const char *dtype_name(enum dtype t)
{
	return t < DTYPE_COUNT ? dtypes[t].name : "?";
}

const char *dtype_nvfuser_name(enum dtype t)
{
	return dtypes[t].nvfuser;
}

const char *dtype_torch_names(enum dtype t)
{
	return dtypes[t].torch;
}

unsigned dtype_bytes(enum dtype t)
{
	return dtypes[t].bytes;
}

bool dtype_is_integer(enum dtype t)
{
	return dtypes[t].class == INTEGER;
}

int64_t dtype_least(enum dtype t)
{
	return dtypes[t].least;
}

int64_t dtype_most(enum dtype t)
{
	return dtypes[t].most;
}

double dtype_largest(enum dtype t)
{
	return dtypes[t].most ? (double)dtypes[t].most : INFINITY;
}

int64_t dtype_exact(enum dtype t)
{
	return dtypes[t].digits ? (int64_t)1 << dtypes[t].digits : dtypes[t].most;
}

enum dtype dtype_of_parts(enum dtype t, bool divided)
{
	bool has_range = t == DTYPE_F64 || t == DTYPE_F32 || t == DTYPE_BF16 || !dtype_is_float(t);
	bool wide = divided ? t != DTYPE_BOOL : !has_range; /* a mean of bool divides nothing */
	return wide ? dtype_wide(t) : t;
}

bool dtype_parse(const char *s, enum dtype *out)
{
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (!strcmp(s, dtypes[t].name)) {
			*out = t;
			return true;
		}
	return false;
}

bool dtype_parse_nvfuser(const char *s, enum dtype *out)
{
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (!strcmp(s, dtypes[t].nvfuser)) {
			*out = t;
			return true;
		}
	return false;
}
