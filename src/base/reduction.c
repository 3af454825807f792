/* reduction: see reduction.h. */
#include "base/reduction.h"
#include <string.h>

enum identity { ZERO, ONE, MOST, LEAST };

static const struct {
	const char *name, *folds_by;
	enum identity identity;
} reductions[REDUCE_COUNT] = {
#define REDUCTION(id, hir, operation, folds_by, identity) [REDUCE_##id] = {#hir, #folds_by, identity},
#include "base/reductions.def"
#undef REDUCTION
};

const char *reduce_op_name(enum reduce_op op)
{
	return op < REDUCE_COUNT ? reductions[op].name : "?";
}

const char *reduce_op_folds_by(enum reduce_op op)
{
	return reductions[op].folds_by;
}

bool reduce_op_parse(const char *s, enum reduce_op *out)
{
	for (unsigned op = 0; op < REDUCE_COUNT; op++)
		if (!strcmp(s, reductions[op].name)) {
			*out = op;
			return true;
		}
	return false;
}

double reduce_identity_f64(enum reduce_op op, enum dtype t)
{
	const double of[] = {[ZERO] = 0, [ONE] = 1, [MOST] = dtype_largest(t), [LEAST] = -dtype_largest(t)};
	return of[reductions[op].identity];
}

int64_t reduce_identity_i64(enum reduce_op op, enum dtype t)
{
	const int64_t of[] = {[ZERO] = 0, [ONE] = 1, [MOST] = dtype_most(t), [LEAST] = dtype_least(t)};
	return of[reductions[op].identity];
}
