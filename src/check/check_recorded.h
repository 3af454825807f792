/* check_recorded: compares the communications of recorded graphs that differ from rank to rank.
 *
 * Statements of such a program are `extern`, so the walk of a rank sees no Communications in them. Their kinds, groups
 * and sizes are compared here, in the order in which ranks issue them; then the ranks are followed to a wait that
 * never ends. */
#ifndef HIRC_CHECK_CHECK_RECORDED_H
#define HIRC_CHECK_CHECK_RECORDED_H
#include "check/check.h"

/* Adds the communications to out. */
enum check_status check_recorded(struct module *m, struct diag *d, int64_t ranks, struct check_result *out);

#endif
