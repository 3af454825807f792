/* extents: tests if the values of the params give every tensor a shape, and statements shapes that fit. */
#ifndef HIRC_ANALYSIS_EXTENTS_H
#define HIRC_ANALYSIS_EXTENTS_H
#include "ir/ir.h"

/* Evaluates the extents of all tensors. Reports, once a tensor, an extent that is negative, does not
 * divide where it must, divides by zero or overflows; extents that use a param without a value are
 * passed over. Returns true if nothing was reported. */
bool extents_check(struct module *m, struct diag *d);

/* Checks every statement's operands and results with the values of the params, as if these stood there as
 * numbers: reports shapes that the operation does not give, reshapes that change the number of elements,
 * slices outside of their axis. Extents that depend on a param without a value, an index or the rank are
 * passed over. Returns true if nothing was reported. */
bool types_check(struct module *m, struct diag *d);

#endif
