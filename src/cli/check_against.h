/* check_against: hirc check A --against B: proves that two programs compute the same function. */
#ifndef HIRC_CLI_CHECK_AGAINST_H
#define HIRC_CLI_CHECK_AGAINST_H
#include "check/check.h"
#include "cli/compile.h"
#include "values/values.h"

/* Compares the outputs of a program that `check` has proved with those of the program in a file, before all
 * passes. o: for the values of -D and np. Reports outputs that differ. *out is set if outputs were compared. */
enum status check_against(struct diag *d, struct module *m, const char *path, const struct compile_options *o,
                          const struct check_options *check, enum values_relation *out);

#endif
