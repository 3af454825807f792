/* exec_calls: the calls of a rank to its GPU for a plan, as text: see cuda/record.h. No GPU is needed. */
#ifndef HIRC_EXEC_EXEC_CALLS_H
#define HIRC_EXEC_EXEC_CALLS_H
#include "exec/exec.h"

struct exec_calls {
	const struct plan *const *plan; /* by rank; others than that of `rank` only if exec_calls_need_all */
	int ranks, rank;
	const struct plan_labels *labels;
	const struct exec_options *how; /* it computes and communicates; transport: of GPUs */
};

/* Returns true if a rank's calls follow from the plans of all ranks, not from its own alone. */
bool exec_calls_need_all(const struct exec_options *how);
/* Prints the calls of one run, from opening the transport to closing it. All ranks are on one host and share
 * a GPU, and the others come to each communication before this rank does. STATUS_ABSENT after a message where
 * hirc was built without CUDA, STATUS_STUCK after one if messages or collectives have no other side. */
enum status exec_calls_print(const struct exec_calls *c, struct buf *out);

#endif
