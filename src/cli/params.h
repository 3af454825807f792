/* params: checks that a program can run with the values of its params. */
#ifndef HIRC_CLI_PARAMS_H
#define HIRC_CLI_PARAMS_H
#include "ir/ir.h"

/* Returns true if every param has a value. */
bool params_have_values(const struct module *m);

/* Returns true if every scalar has a value, these values give every tensor a shape, and the assumptions of
 * passes hold. False after reporting. */
bool params_check(struct module *m, struct diag *d);

#endif
