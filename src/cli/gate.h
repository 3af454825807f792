/* gate: refuses programs that `hirc run` refuses, by asking the plan.
 *
 * If that is quick, the plan of every rank is made. Otherwise one rank is asked for each class of ranks that
 * symmetries of the meshes map to each other, and also the last rank, whose blocks may be smaller. */
#ifndef HIRC_CLI_GATE_H
#define HIRC_CLI_GATE_H
#include "check/check.h"
#include "ir/ir.h"

enum {
	GATE_STATEMENTS = 1 << 13, /* of all ranks; with more statements only some ranks are asked */
	GATE_WORK = 1 << 24,       /* most instructions to walk, of all ranks together */
	GATE_CONTENTS = 4, /* gate_prove: a step of the proof of contents takes as long as so many others */
};

/* Returns true if the plan of every rank is accepted; otherwise reports the first refused one with the
 * messages of `hirc run`. Externs are accepted, although `hirc run` has no kernels for them. streams: as in
 * check_options. */
bool gate_accepts(struct module *m, struct diag *d, int64_t ranks, int64_t streams);

/* Proves as `hirc check` does, with the numbers of elements that the plan moves; o->work also limits the plan and the
 * proof of contents. Returns CHECK_WRONG if errors were reported, even if the proof did not end. */
enum check_status gate_prove(struct module *m, struct diag *d, const struct check_options *o,
                             struct check_result *out);

/* Proves, then asks the gate: if the proof finds no error, errors of the gate are reported, and give
 * CHECK_WRONG. A note names an extern. */
enum check_status gate_check(struct module *m, struct diag *d, const struct check_options *o,
                             struct check_result *out);

#endif
