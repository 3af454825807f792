/* compile_prove: hirc compile --prove: proves after each pass that the program computes the same function as the
 * source.
 *
 * Between two passes a program may be half-lowered: a set may still stand for Communications. Such a program is
 * compared, too (src/values/valuation_reshard.c). The last program is compared on all ranks. */
#ifndef HIRC_CLI_COMPILE_PROVE_H
#define HIRC_CLI_COMPILE_PROVE_H
#include "base/diag.h"
#include "ir/ir.h"

struct compile_prove {
	struct diag *d;
	struct module *source; /* a copy; NULL: there is nothing to compare with */
	bool strict;           /* --prove: the last program must compute the source, and be proved to */
};

/* Keeps a copy of the source. In debug builds large programs are not compared. */
void compile_prove_open(struct compile_prove *p, struct diag *d, struct module *m, bool strict);
void compile_prove_close(struct compile_prove *p);
/* Return false after reporting that a pass has changed the function. */
bool compile_prove_pass(struct compile_prove *p, struct module *m);
bool compile_prove_last(struct compile_prove *p, struct module *m);

#endif
