/* reduction: reduction operators; the table is reductions.def. */
#ifndef HIRC_BASE_REDUCTION_H
#define HIRC_BASE_REDUCTION_H
#include "base/dtype.h"

enum reduce_op {
#define REDUCTION(id, ...) REDUCE_##id,
#include "base/reductions.def"
#undef REDUCTION
	REDUCE_COUNT
};

const char *reduce_op_name(enum reduce_op op);     /* sum; "?": op is no operator */
const char *reduce_op_folds_by(enum reduce_op op); /* add: the pointwise operation that adds a term */
bool reduce_op_parse(const char *s, enum reduce_op *out);
/* Return the identity of an operator for dtype t: 0, 1, or the largest or smallest value of t (±inf if t has
 * it). _f64: for floats; _i64: for integers and bool. */
double reduce_identity_f64(enum reduce_op op, enum dtype t);
int64_t reduce_identity_i64(enum reduce_op op, enum dtype t);

#endif
