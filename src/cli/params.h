/* params: whether a program can be carried out with the values that its params have. */
#ifndef HIRC_CLI_PARAMS_H
#define HIRC_CLI_PARAMS_H
#include "ir/ir.h"

/* Returns true if every param has a value. */
bool params_have_values(const struct module *m);

/* Every scalar has a value, these values give every tensor a shape, and what passes took for granted
 * holds; reports what does not. */
bool params_check(struct module *m, struct diag *d);

#endif
