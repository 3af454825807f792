/* guard: tests that passes keep a program free of races, by `hirc check` after each of them.
 *
 * Part of --verify-each. Faults of the source are not held against the passes: it is checked first,
 * and not guarded when something is found, when it reads memory of which only a larger part is known to be
 * written (a pass may make that known), or when it has stream loops of its own, whose iterations
 * a pass may run beside each other. Programs with params that have no value are not checked. */
#ifndef HIRC_PASS_GUARD_H
#define HIRC_PASS_GUARD_H
#include "ir/ir.h"

enum { GUARD_MAX_WORK = 1 << 16 }; /* statements, values and comparisons of a check; longer ones are left */

/* Returns true if passes can be held to `hirc check --strict`: the program, as read, passes it and has no
 * stream loops. */
bool guard_starts(struct module *m);
/* Returns true if `hirc check --strict` finds no error; reports one to d where it does. */
bool guard_check(struct module *m, struct diag *d);

#endif
