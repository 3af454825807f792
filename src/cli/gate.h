/* gate: refuses programs that `hirc run` refuses, by asking the plan.
 *
 * Every rank's plan is made where that is quick. Of programs with more ranks those are asked that
 * symmetries of the meshes make all others of, and the last rank, whose blocks may be smaller. */
#ifndef HIRC_CLI_GATE_H
#define HIRC_CLI_GATE_H
#include "check/check.h"
#include "ir/ir.h"

enum {
	GATE_STATEMENTS = 1 << 13, /* of all ranks; with more only some of the ranks are asked */
	GATE_WORK = 1 << 24,       /* instructions that are walked, of all ranks together */
};

/* Returns true if the plan of every rank is accepted; otherwise reports the first one that is not, with the
 * messages that `hirc run` has. Externs, for which it has no kernels, are accepted. streams: as of
 * check_options. */
bool gate_accepts(struct module *m, struct diag *d, int64_t ranks, int64_t streams);

/* The proof of `hirc check`, with the numbers of elements that the plan moves. o->work holds for the plan,
 * too. */
enum check_status gate_prove(struct module *m, struct diag *d, const struct check_options *o,
                             struct check_result *out);

/* The proof, then the gate: its errors are reported, as CHECK_WRONG, where the proof found none. A note tells
 * of externs. */
enum check_status gate_check(struct module *m, struct diag *d, const struct check_options *o,
                             struct check_result *out);

#endif
