/* guard: checks with `hirc check` after each pass that the program is still right.
 *
 * It is a part of --verify-each. The source is checked first. If it has errors of its own, passes are not
 * blamed for them and the guard is off. It is also off if
 *
 *     the source has stream loops     passes may run their iterations at the same time
 *     a branch moves data by a set    only Communications of the ranks are compared, and a pass makes one
 *     a param has no value
 *     a read was taken as written     a pass may make known which elements it reads (check_result) */
#ifndef HIRC_PASS_GUARD_H
#define HIRC_PASS_GUARD_H
#include "ir/ir.h"

enum {
	GUARD_MAX_WORK = 1 << 16
}; /* limit of statements, values and comparisons; larger programs are skipped */

/* Returns true if the guard is on. */
bool guard_starts(struct module *m);
/* Returns true if `hirc check --strict` finds no error; otherwise reports one to d. */
bool guard_check(struct module *m, struct diag *d);

#endif
