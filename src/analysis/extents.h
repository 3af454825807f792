/* extents: checks that the values of the params give every tensor a valid shape, and that the shapes fit
 * the statements. */
#ifndef HIRC_ANALYSIS_EXTENTS_H
#define HIRC_ANALYSIS_EXTENTS_H
#include "ir/ir.h"

/* Evaluates the extents of all tensors. Reports, once a tensor, an extent that is negative, leaves a
 * remainder where it must divide, divides by zero or overflows. Skips extents that use a param without a
 * value. Returns true if nothing was reported. */
bool extents_check(struct module *m, struct diag *d);

/* Checks the operands and results of every statement as if the params were numbers. Reports shapes that
 * the operation does not produce, reshapes that change the number of elements, and slices outside of
 * their axis. Skips extents that depend on a param without a value, on an index or on the rank. Returns
 * true if nothing was reported. */
bool types_check(struct module *m, struct diag *d);

#endif
