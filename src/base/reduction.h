/* reduction: reduction operators; the rows are reductions.def's. */
#ifndef HIRC_BASE_REDUCTION_H
#define HIRC_BASE_REDUCTION_H
#include "base/dtype.h"

enum reduce_op {
#define REDUCTION(id, ...) REDUCE_##id,
#include "base/reductions.def"
#undef REDUCTION
	REDUCE_COUNT
};

const char *reduce_op_name(enum reduce_op op);     /* sum; of a number that is no operator "?" */
const char *reduce_op_folds_by(enum reduce_op op); /* the pointwise operation of one more term: add */
bool reduce_op_parse(const char *s, enum reduce_op *out);
/* The reduction of no terms of dtype t, which changes nothing when it is reduced with others: 0, 1, or the
 * largest or smallest value of t (±inf where t has it). _f64: of floats; _i64: of integers and bool. */
double reduce_identity_f64(enum reduce_op op, enum dtype t);
int64_t reduce_identity_i64(enum reduce_op op, enum dtype t);

#endif
