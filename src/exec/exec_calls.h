/* exec_calls: prints the calls of a rank to its GPU for a plan, see cuda/record.h. It needs no GPU. */
#ifndef HIRC_EXEC_EXEC_CALLS_H
#define HIRC_EXEC_EXEC_CALLS_H
#include "exec/exec.h"

struct exec_calls {
	const struct plan *const *plan; /* by rank; only that of `rank` unless exec_calls_need_all */
	int ranks, rank;
	const struct plan_labels *labels;
	const struct exec_options *how; /* device and transport, both of GPUs */
};

/* Returns true if a rank's calls depend on the plans of all ranks, and not only on its own. */
bool exec_calls_need_all(const struct exec_options *how);
/* Prints the calls of one run, from opening the transport to closing it. All ranks are on one host and
 * share a GPU. The other ranks come to each communication before this one. Returns STATUS_ABSENT after a
 * message if hirc was built without CUDA, and STATUS_STUCK after a message if a message or collective
 * has no other side. */
enum status exec_calls_print(const struct exec_calls *c, struct buf *out);

#endif
