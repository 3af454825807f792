/* cli_cluster: --cluster, the figures from which the cost of statements is computed. */
#ifndef HIRC_CLI_CLI_CLUSTER_H
#define HIRC_CLI_CLI_CLUSTER_H
#include "base/status.h"
#include "cli/options.h"
#include "cost/cluster.h"

/* A row of options; the field is a const char *. */
#define CLUSTER_OPTION(type, field)                                                                          \
	{                                                                                                    \
		.name = "cluster", .kind = OPTION_TEXT, .at = offsetof(type, field), .init.text = "cpu",     \
		.value = "FILE or " CLUSTER_BUILTINS, .words = CLUSTER_BUILTIN_LIST("|"), .file = FILE_READ, \
		.help = "machine that times are predicted for"                                               \
	}

/* Loads the cluster that --cluster names: built-in figures, or a file (`./cpu` is always a file, `-` is
 * standard input). NULL with *status set after reporting; free it with cluster_free. */
struct cluster *cluster_load(struct diag *d, const char *name, enum status *status);

#endif
