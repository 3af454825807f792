/* pointwise: operations on elements at the same index; the table is pointwise.def. */
#ifndef HIRC_BASE_POINTWISE_H
#define HIRC_BASE_POINTWISE_H
#include "base/dtype.h"

enum pointwise {
#define POINTWISE(id, ...) POINTWISE_##id,
#include "base/pointwise.def"
#undef POINTWISE
	POINTWISE_COUNT
};

enum pointwise_class { CLASS_ANY, CLASS_REAL, CLASS_COMPARE, CLASS_LOGICAL, CLASS_INTEGER, CLASS_WIDE };

const char *pointwise_name(enum pointwise op); /* add; "?": op is no operation */
int pointwise_operands(enum pointwise op);
enum pointwise_class pointwise_class(enum pointwise op);
/* Returns NULL if an operation takes operands of a dtype, else the dtypes that it takes: "integers". */
const char *pointwise_refuses(enum pointwise op, enum dtype t);
/* Computes an operation in f64. NAN: it is on integers alone, or chooses or combines conditions (x != 0), which the
 * caller does. */
double pointwise_value(enum pointwise op, const double *x);

#endif
