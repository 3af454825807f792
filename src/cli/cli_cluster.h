/* cli_cluster: --cluster, the figures that statements are costed with. */
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

/* Loads the cluster that --cluster names: figures that come with hirc, or a file (`./cpu`: the file, `-`:
 * standard input). NULL with *status set after reporting; free it with cluster_free. */
struct cluster *cluster_load(struct diag *d, const char *name, enum status *status);

#endif
