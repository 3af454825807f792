/* params: tests if a program can be carried out with the values of its params. */
#ifndef HIRC_CLI_PARAMS_H
#define HIRC_CLI_PARAMS_H
#include "ir/ir.h"

/* Returns true if every param has a value. */
bool params_have_values(const struct module *m);

/* Tests that every scalar has a value, that these values give every tensor a shape, and that the assumptions
 * of passes hold; reports the others. */
bool params_check(struct module *m, struct diag *d);

#endif
